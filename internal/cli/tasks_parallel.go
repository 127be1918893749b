package cli

import (
	"github.com/org/ralph-action/internal/cli/parallel"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run"
)

// runInParallel works a task list off in several lanes at a time.
func (a *app) runInParallel(in *run.Input, d localRun, done *exit) error {
	ctx, stop := a.signals(in.Interrupted)
	defer stop()
	code, err := parallel.Local(ctx, parallel.Command{
		Input: in, Flags: d.flags, Verbose: d.verbose, Getenv: a.getenv,
		Integration: func(flags map[string]string) (*run.Input, error) {
			return a.load(localRun{mode: config.ModeIntegrate, dir: d.dir, flags: flags, part: true, verbose: d.verbose})
		},
	})
	*done = exit(code)
	return err
}
