package run

import (
	"context"

	"github.com/org/ralph-action/internal/run/rundir"
)

// watchCancel ends the run when 'ralph cancel' asks for it. What it is a part of does so itself.
func (w *workspace) watchCancel(ctx context.Context, cancel context.CancelFunc) {
	if !w.local() || w.Before.Locked {
		return
	}
	w.undo.atEnd(rundir.WatchRequest(ctx, w.locked(), func() {
		w.Interrupted(SignalText)
		cancel()
	}))
}
