// Package rundir keeps ralph's own files in the workspace's .ralph directory:
// the report, the logs, the lock. The agent can write to that directory too, so
// every path goes through os.Root, nothing planted is followed, and what was
// deleted is made again.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Name is the directory below the workspace.
const Name = ".ralph"

// ErrPlanted says that something other than what ralph creates stands in its
// place: a symbolic link, a file, a device.
var ErrPlanted = errors.New("not created by ralph")

// Owner is who the created files belong to; -1 leaves an id as it is.
type Owner struct{ UID, GID int }

// Dir is the run directory of one workspace. Its methods may be used by many
// goroutines.
type Dir struct {
	root      *os.Root // the workspace
	workspace string
	owner     Owner
}

// RunFiles are the patterns, as gitignore and path.Match read them, of the
// files that are state of a run and must never be committed. Settings that
// people keep in .ralph are not among them.
func RunFiles() []string {
	return []string{
		"guardrail_*.log", "handover", "lock", "prompt_*.txt", "report.html", "report.json",
		"session-*.log", "summary.md", "tmp-*",
	}
}

// Open makes sure that the run directory exists and can be written to. Its
// errors are made for the user.
func Open(workspace string, owner Owner) (*Dir, error) {
	info, err := os.Stat(workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("workspace %s does not exist", workspace)
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("workspace %s is not a directory", workspace)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", workspace, reason(err))
	}
	d := &Dir{root: root, workspace: workspace, owner: owner}
	if err := d.probe(); err != nil {
		_ = root.Close()
		return nil, err
	}
	return d, nil
}

// Close gives the workspace back. Close the writers of Append before.
func (d *Dir) Close() error { return d.root.Close() }

// Path is where a file of the run directory stands, relative to the workspace.
func (d *Dir) Path(name string) string { return Name + "/" + name }

// probe finds out before the run that nothing can be written, instead of after.
func (d *Dir) probe() error {
	dir, err := d.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, name, err := d.temp(dir, "probe")
	if err != nil {
		return d.unwritable(err)
	}
	return errors.Join(f.Close(), dir.Remove(name))
}

// open opens the run directory, and makes it when it is missing.
func (d *Dir) open() (*os.Root, error) {
	made := true
	if err := d.root.Mkdir(Name, 0o755); errors.Is(err, fs.ErrExist) {
		made = false
	} else if err != nil {
		return nil, d.unwritable(err)
	}
	before, err := d.root.Lstat(Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, reason(err))
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s in the workspace is %s: %w; remove it, ralph keeps its own directory there", Name, kind(before.Mode()), ErrPlanted)
	}
	dir, err := d.root.OpenRoot(Name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", Name, reason(err))
	}
	// os.Root follows links that stay inside the workspace: .ralph -> .git
	// would make us write there.
	if after, err := dir.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = dir.Close()
		return nil, fmt.Errorf("%s in the workspace was replaced while it was opened: %w", Name, ErrPlanted)
	}
	if made {
		if err := d.root.Lchown(Name, d.owner.UID, d.owner.GID); err != nil {
			_ = dir.Close()
			return nil, fmt.Errorf("give %s to its owner: %w", Name, reason(err))
		}
	}
	if err := d.ignore(dir); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// ignore writes .gitignore unless there is one, so that the agent's own git
// add -A leaves run state out.
func (d *Dir) ignore(dir *os.Root) error {
	const name = ".gitignore"
	if _, err := dir.Lstat(name); err == nil {
		return nil
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return d.unwritable(err)
	}
	text := "# Written by ralph: the state of a run is not committed.\n/" + strings.Join(append([]string{name}, RunFiles()...), "\n/") + "\n"
	w := &file{f: f, name: name}
	_, err = w.Write([]byte(text))
	return errors.Join(err, d.chown(f), w.Close())
}

func (d *Dir) chown(f *os.File) error {
	if d.owner.UID < 0 && d.owner.GID < 0 {
		return nil
	}
	if err := f.Chown(d.owner.UID, d.owner.GID); err != nil {
		return fmt.Errorf("give %s to its owner: %w", f.Name(), reason(err))
	}
	return nil
}

// unwritable says what a user can do about a workspace that takes no files.
func (d *Dir) unwritable(err error) error {
	denied := []error{fs.ErrPermission, syscall.EROFS}
	if slices.ContainsFunc(denied, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("workspace %s cannot be written to (%w): ralph keeps its report and logs in %s/; mount the workspace read-write, or run as the user who owns it", d.workspace, reason(err), Name)
	}
	return fmt.Errorf("write to %s in workspace %s: %w", Name, d.workspace, reason(err))
}

// reason strips the operation and the path, which our own text names better.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a special file"
	}
}
