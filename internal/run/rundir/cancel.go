package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// cancelName is the file with which a run is asked to end: by a file, and not by the number
// of a process that an agent could have written.
const cancelName = "cancel"

// AskToEnd asks the run of a project to end, and reports whether there is one.
func AskToEnd(project string) (asked bool, err error) {
	if info, err := os.Lstat(filepath.Join(project, Name)); err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // nothing has run there
	}
	d, err := Open(project, Owner{UID: -1, GID: -1})
	if err != nil {
		return false, err
	}
	defer func() { _ = d.Close() }()
	release, err := d.Lock()
	if err == nil {
		release()
		return false, nil
	}
	if !errors.Is(err, ErrLocked) {
		return false, err
	}
	return true, d.WriteFile(cancelName, []byte("ralph cancel\n"))
}

// WatchRequest calls asked, once, when the run of a project is asked to end. A request from
// before is none. stop ends the watch and removes the request.
func WatchRequest(ctx context.Context, project string, asked func()) (stop func()) {
	request := filepath.Join(project, Name, cancelName)
	_ = os.Remove(request)
	const interval = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := os.Lstat(request); !errors.Is(err, fs.ErrNotExist) {
				asked()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
		_ = os.Remove(request)
	}
}
