// Package rundir keeps ralph's own files in a folder of the workspace, as a
// rule .ralph: the report, the logs, the lock. The agent can write to that
// folder too, so every path goes through os.Root, nothing planted is followed,
// and what was deleted is made again.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// Name is the folder below the workspace where everything stands that has no
// folder of its own.
const Name = ".ralph"

// ErrPlanted says that something other than what ralph creates stands in its
// place: a symbolic link, a file, a device.
var ErrPlanted = errors.New("not created by ralph")

// Handover is where an unfinished hand-over is remembered: where git does
// not look.
func Handover(workspace string) string {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err == nil && info.IsDir() {
		return filepath.Join(git, "ralph-handover")
	}
	return filepath.Join(workspace, Name, "handover")
}

// Owner is who the created files belong to; -1 leaves an id as it is.
type Owner struct{ UID, GID int }

// OwnerOf is whose a directory is, where we are root and can give away what we create; else
// everything stays ours.
func OwnerOf(dir string) Owner {
	if info, err := os.Stat(dir); err == nil && os.Geteuid() == 0 {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return Owner{UID: int(st.Uid), GID: int(st.Gid)}
		}
	}
	return Owner{UID: -1, GID: -1}
}

// Dir is one folder of a workspace. Its methods may be used by many goroutines.
type Dir struct {
	root      *os.Root // the workspace
	workspace string
	folder    string // below it, with slashes
	ignore    []string
	owner     Owner
}

// RunFiles are the patterns, as gitignore and path.Match read them, of the
// files and folders in .ralph that are state of a run and must never be
// committed. Settings and prompts that people keep there are not among them.
// None has a slash: git takes no exclusion that leads through a folder which the
// agent has made a symbolic link.
func RunFiles() []string {
	return []string{
		"cancel", "guardrail_*.log", "handover", "lane", "lock", "logs", "prompt_*.txt", "report.html", "report.json",
		"session-*.log", "sessions", "summary.md", "tmp-*", "unpublished.patch",
	}
}

// personal is what one person keeps in .ralph for themselves.
const personal = "settings.local.json"

// Open opens .ralph; see OpenFolder. Its .gitignore lists RunFiles and the
// settings that are one person's own.
func Open(workspace string, owner Owner) (*Dir, error) {
	return OpenFolder(workspace, Name, append(RunFiles(), personal), owner)
}

// OpenFolder makes sure that a folder of the workspace exists, such as logs or
// .ralph/logs, and can be written to. Where it has no .gitignore it gets one
// with the patterns of ignore, each below the folder, and with itself; without
// patterns it gets none. Errors are made for the user.
func OpenFolder(workspace, folder string, ignore []string, owner Owner) (*Dir, error) {
	if !fs.ValidPath(folder) || folder == "." || !filepath.IsLocal(folder) || strings.Contains(folder, `\`) {
		return nil, fmt.Errorf("%q is not a directory below the workspace", folder)
	}
	info, err := os.Stat(workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("workspace %s does not exist", workspace)
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("workspace %s is not a directory", workspace)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", workspace, atomicfile.Reason(err))
	}
	d := &Dir{root: root, workspace: workspace, folder: folder, ignore: ignore, owner: owner}
	if err := d.probe(); err != nil {
		_ = root.Close()
		return nil, err
	}
	return d, nil
}

// Close gives the workspace back. Close the writers of Append before.
func (d *Dir) Close() error { return d.root.Close() }

// Path is where a file of the folder stands, relative to the workspace and with
// slashes.
func (d *Dir) Path(name string) string { return d.folder + "/" + name }

// FullPath is where a file of the folder stands.
func (d *Dir) FullPath(name string) string {
	return filepath.Join(d.workspace, filepath.FromSlash(d.Path(name)))
}

// probe finds out before the run that nothing can be written, instead of after.
func (d *Dir) probe() error {
	dir, err := d.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := atomicfile.Probe(dir); err != nil {
		return d.unwritable(err)
	}
	return nil
}

// open opens the folder, and makes what is missing of the way to it.
func (d *Dir) open() (*os.Root, error) {
	at, dir := "", d.root
	for name := range strings.SplitSeq(d.folder, "/") {
		at = path.Join(at, name)
		next, err := d.enterFolder(dir, name, at)
		if dir != d.root {
			_ = dir.Close()
		}
		if err != nil {
			return nil, err
		}
		dir = next
	}
	if err := d.writeIgnore(dir); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// enterFolder opens one folder of the way, which people know as at.
func (d *Dir) enterFolder(in *os.Root, name, at string) (*os.Root, error) {
	made := true
	if err := in.Mkdir(name, 0o755); errors.Is(err, fs.ErrExist) {
		made = false
	} else if err != nil {
		return nil, d.unwritable(err)
	}
	before, err := in.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, atomicfile.Reason(err))
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s in the workspace is %s: %w; remove it, ralph keeps its own files there", at, atomicfile.Kind(before.Mode()), ErrPlanted)
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", at, atomicfile.Reason(err))
	}
	// os.Root follows links that stay inside the workspace: .ralph -> .git
	// would make us write there.
	if after, err := dir.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = dir.Close()
		return nil, fmt.Errorf("%s in the workspace was replaced while it was opened: %w", at, ErrPlanted)
	}
	if made {
		if err := dir.Lchown(".", d.owner.UID, d.owner.GID); err != nil {
			_ = dir.Close()
			return nil, fmt.Errorf("give %s to its owner: %w", at, atomicfile.Reason(err))
		}
	}
	return dir, nil
}

// writeIgnore writes .gitignore unless there is one, so that the agent's own
// git add -A leaves run state out.
func (d *Dir) writeIgnore(dir *os.Root) error {
	const name = ".gitignore"
	if len(d.ignore) == 0 {
		return nil
	}
	if _, err := dir.Lstat(name); err == nil {
		return nil
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return d.unwritable(err)
	}
	text := "# Written by ralph: the state of a run is not committed.\n/" + strings.Join(append([]string{name}, d.ignore...), "\n/") + "\n"
	w := &file{f: f, path: d.Path(name)}
	_, err = w.Write([]byte(text))
	return errors.Join(err, d.chown(f), w.Close())
}

func (d *Dir) chown(f *os.File) error {
	if d.owner.UID < 0 && d.owner.GID < 0 {
		return nil
	}
	if err := f.Chown(d.owner.UID, d.owner.GID); err != nil {
		return fmt.Errorf("give %s to its owner: %w", f.Name(), atomicfile.Reason(err))
	}
	return nil
}

// unwritable says what a user can do about a workspace that takes no files.
func (d *Dir) unwritable(err error) error {
	if isDenied(err) {
		return fmt.Errorf("workspace %s cannot be written to (%w): ralph keeps its report and logs in %s/; mount the workspace read-write, or run as the user who owns it", d.workspace, atomicfile.Reason(err), d.folder)
	}
	return fmt.Errorf("write to %s in workspace %s: %w", d.folder, d.workspace, atomicfile.Reason(err))
}

func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
