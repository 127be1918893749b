package agent

import (
	"context"
	"os"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// leaver is a printer whose children leave a file behind where
// --usage-output-file says, which has to be there already.
type leaver struct {
	printer
	left [][]byte
}

func (p *leaver) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	path := driver.Value(c.Argv, "--usage-output-file")
	if _, err := os.Stat(path); err != nil {
		return proc.Exit{}, err
	}
	if err := os.WriteFile(path, p.left[len(p.Argv)], 0o600); err != nil {
		return proc.Exit{}, err
	}
	return p.printer.Run(ctx, c)
}
