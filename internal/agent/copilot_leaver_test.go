package agent

import (
	"context"
	"os"

	"github.com/org/ralph-action/internal/proc"
)

// leaver is a printer whose children leave a file behind where
// --usage-output-file says, which has to be there already.
type leaver struct {
	printer
	left [][]byte
}

func (p *leaver) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	path := value(c.Argv, "--usage-output-file")
	if _, err := os.Stat(path); err != nil {
		return proc.Exit{}, err
	}
	if err := os.WriteFile(path, p.left[len(p.argv)], 0o600); err != nil {
		return proc.Exit{}, err
	}
	return p.printer.Run(ctx, c)
}
