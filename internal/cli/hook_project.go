package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/tasks"
)

// maxMarker bounds what is read of .ralph-active, in bytes: ten thousand stories
// make a megabyte.
const maxMarker = 16 << 20

// project is what an agent works in, as its hooks find it.
type project struct {
	dir    string   // the folder with the marker, else the top of the repository, else where the search began
	above  []string // from where the search began up to the top, dir among them
	active bool     // .ralph-active is there
}

// top is the uppermost folder of the project: git names paths from there.
func (p project) top() string { return p.above[len(p.above)-1] }

// startFolders are the places to look for a project from, the best first. The
// CLI says CLAUDE_PROJECT_DIR to its hooks and not to the agent's commands; an
// agent may have changed the folder it is in.
func (a *app) startFolders(cwd string) []string {
	here, _ := os.Getwd()
	return []string{a.getenv("CLAUDE_PROJECT_DIR"), cwd, here}
}

// findProject goes up from the first of the folders that exists, to the top of
// the repository, until it meets a marker.
func findProject(starts []string) project {
	var p project
	for _, start := range starts {
		if info, err := os.Stat(start); start != "" && err == nil && info.IsDir() {
			if start, err = filepath.Abs(start); err == nil {
				p.dir = start
				break
			}
		}
	}
	if p.dir == "" {
		return p
	}
	top := ""
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		p.above = append(p.above, dir)
		if !p.active && ours(dir, tasks.MarkerName) {
			p.active, p.dir = true, dir
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			top = dir
		}
		if top != "" || dir == filepath.Dir(dir) {
			break
		}
	}
	switch {
	case top == "": // no repository: what lies above is somebody else's, but for a marker
		p.above = p.above[:1]
		if p.active && p.dir != p.above[0] {
			p.above = append(p.above, p.dir)
		}
	case !p.active:
		p.dir = top
	}
	return p
}

// loops says that a loop keeps the agent at work: one of ours started it, a task
// list is worked through, or its session has a loop.
func (a *app) loops(p project, session string) bool {
	if p.active || a.getenv("RALPH_HOOKS") != "" {
		return true
	}
	if hook.CheckSessionID(session) != nil {
		return false
	}
	for _, dir := range p.above {
		if info, err := os.Lstat(filepath.Join(dir, rundir.Name, sessionsFolder, session+stateSuffix)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// ours says that something has the name in a folder, and that it was put there
// by us, root or the folder's owner: in /tmp everybody can.
func ours(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	there, ok := info.Sys().(*syscall.Stat_t)
	if !ok || there.Uid == 0 || int(there.Uid) == os.Geteuid() {
		return true
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return false
	}
	owner, ok := folder.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == there.Uid
}

// openPlain opens a file that is one: no link, and nothing that blocks.
func openPlain(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link: it has to be a file", filepath.Base(path))
	} else if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, cmp.Or(err, error(&fs.PathError{Op: "read", Path: path, Err: errors.New("it has to be a file")}))
	}
	return f, nil
}

// readPlain reads a whole file that openPlain opens.
func readPlain(path string, most int64) ([]byte, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpen(f, most)
}

func readOpen(f *os.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > most:
		return nil, fmt.Errorf("%s is larger than %d MiB", filepath.Base(f.Name()), most>>20)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it became shorter
		err = nil
	}
	return data[:n], err
}
