package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/org/ralph-action/internal/run/rundir"
)

// cancelName is the file in .ralph with which 'ralph cancel' asks a run of the
// project to end.
const cancelName = "cancel"

// watchCancel ends the run when 'ralph cancel' asks for it. A request from before
// the run is none.
func (w *workspace) watchCancel(ctx context.Context, cancel context.CancelFunc) {
	if !w.local() {
		return
	}
	request := filepath.Join(w.Workspace, rundir.Name, cancelName)
	_ = os.Remove(request)
	const interval = 200 * time.Millisecond
	watching, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-tick.C:
			}
			if _, err := os.Lstat(request); !errors.Is(err, fs.ErrNotExist) {
				w.Interrupted(SignalText)
				cancel()
				return
			}
		}
	}()
	w.undo.atEnd(func() {
		stop()
		<-over
		_ = os.Remove(request)
	})
}
