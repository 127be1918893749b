package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/lib/printable"
)

// DefaultDir is the directory in a project.
const DefaultDir = "ralph"

// Names of the files in the directory.
const (
	PRDName      = "prd.md"
	TasksName    = "tasks.json"
	ProgressName = "progress.txt"
	PromptName   = "prompt.md"
	NotesPattern = "progress-*.txt" // notes of stories
)

// maxText bounds the other files, in bytes.
const maxText = 1 << 20

// Folder is a project's directory with its task list. The agent can write to all of
// it: nothing planted is followed, no open blocks, and what is read is bounded.
// Its errors are made for the user.
type Folder struct {
	project *os.Root
	path    string // of the project
	dir     string // of the directory, in the project
}

// OpenFolder opens a project. dir is the directory, relative to the project or
// absolute, and has to lie in the project; "" is [DefaultDir]. It may be
// missing, until something is read.
func OpenFolder(project, dir string) (*Folder, error) {
	full, err := filepath.Abs(project)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, fmt.Errorf("project folder %s: %w", project, atomicfile.Reason(err))
	}
	if dir == "" {
		dir = DefaultDir
	}
	rel := filepath.Clean(dir)
	if filepath.IsAbs(rel) {
		if real, err := filepath.EvalSymlinks(rel); err == nil {
			rel = real
		}
		if rel, err = filepath.Rel(full, rel); err != nil {
			rel = ".."
		}
	}
	if rel == "." || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("folder %s does not lie in the project %s: give one below it", dir, project)
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return nil, fmt.Errorf("open project folder %s: %w", project, atomicfile.Reason(err))
	}
	return &Folder{project: root, path: full, dir: filepath.ToSlash(rel)}, nil
}

// Close gives the project back.
func (f *Folder) Close() error { return f.project.Close() }

// Dir is where the directory is, in the project.
func (f *Folder) Dir() string { return f.dir }

// Path is where a file of the directory is, in the project.
func (f *Folder) Path(name string) string { return f.dir + "/" + name }

// Tasks is tasks.json as it is.
func (f *Folder) Tasks() ([]byte, error) { return f.read(TasksName, maxBytes) }

// Read is one of the other files as it is.
func (f *Folder) Read(name string) (string, error) {
	data, err := f.read(name, maxText)
	return string(data), err
}

// NotesName is the file for the notes of a story that has a branch of its own, beside
// progress.txt, to which every branch would append.
func NotesName(story string) string { return strings.Replace(NotesPattern, "*", FileName(story), 1) }

// Write puts a whole file in the place of whatever has its name, and makes the
// directory again when it is gone or something else has its name.
func (f *Folder) Write(name string, data []byte) error {
	dir, err := f.make()
	if err != nil {
		return err
	}
	defer dir.Close()
	return f.replace(dir, name, data)
}

func (f *Folder) read(name string, most int) ([]byte, error) {
	dir, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return f.readIn(dir, name, f.Path(name), most)
}

// readIn reads a regular file; errors call it shown.
func (f *Folder) readIn(dir *os.Root, name, shown string, most int) ([]byte, error) {
	before, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missing{shown}
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", shown, atomicfile.Reason(err))
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s: it has to be a file of its own", shown, atomicfile.Kind(before.Mode()))
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", shown, atomicfile.Reason(err))
	}
	defer file.Close()
	if !sameFile(file, before) {
		return nil, fmt.Errorf("%s was replaced while it was opened", shown)
	}
	data, err := bounded(file, most)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", shown, atomicfile.Reason(err))
	}
	return data, nil
}

func bounded(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}

// enter opens the directory, and not one that a link leads to.
func (f *Folder) enter() (*os.Root, error) {
	for part := range ancestors(f.dir) {
		info, err := f.project.Lstat(part)
		if errors.Is(err, fs.ErrNotExist) {
			how := "ralph tasks init"
			if f.dir != DefaultDir {
				how += " --ralph-dir " + f.dir
			}
			return nil, fmt.Errorf("folder %s is missing; make it with: %s", f.dir, how)
		} else if err != nil {
			return nil, fmt.Errorf("folder %s: %w", f.dir, atomicfile.Reason(err))
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is %s: it has to be a folder of the project", part, atomicfile.Kind(info.Mode()))
		}
	}
	before, err := f.project.Lstat(f.dir)
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", f.dir, atomicfile.Reason(err))
	}
	dir, err := f.project.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", f.dir, atomicfile.Reason(err))
	}
	if now, err := dir.Stat("."); err != nil || !os.SameFile(before, now) {
		_ = dir.Close()
		return nil, fmt.Errorf("folder %s was replaced while it was opened", f.dir)
	}
	return dir, nil
}

// make opens the directory, and makes it where it is missing or a link has its
// name.
func (f *Folder) make() (*os.Root, error) {
	for part := range ancestors(f.dir) {
		if info, err := f.project.Lstat(part); err == nil && !info.IsDir() {
			if err := f.setAside(part, info.Mode()); err != nil {
				return nil, err
			}
		} else if err == nil && info.Mode().Perm()&0o700 != 0o700 {
			_ = f.project.Chmod(part, info.Mode().Perm()|0o700) // whose it is not, finds out below
		}
		switch err := f.project.Mkdir(part, 0o755); {
		case err == nil:
			f.give(f.project, part)
		case !errors.Is(err, fs.ErrExist):
			return nil, fmt.Errorf("make folder %s: %w", part, atomicfile.Reason(err))
		}
	}
	return f.enter()
}

// setAside makes room for a directory of the path: a link is removed, anything else
// keeps its content under another name.
func (f *Folder) setAside(part string, mode fs.FileMode) error {
	if mode&fs.ModeSymlink != 0 {
		if err := f.project.Remove(part); err != nil {
			return fmt.Errorf("remove the symbolic link %s: %w", part, atomicfile.Reason(err))
		}
		return nil
	}
	if err := f.project.Rename(part, part+".replaced"); err != nil {
		return fmt.Errorf("%s is %s, and cannot be moved to %s.replaced: %w", part, atomicfile.Kind(mode), part, atomicfile.Reason(err))
	}
	return nil
}

// replace puts a whole file in the place of whatever has the name, or leaves
// everything as it was.
func (f *Folder) replace(dir *os.Root, name string, data []byte) error {
	opts := atomicfile.Options{Mode: 0o644, Sync: true, Finish: f.giveFile, ReplaceDir: true}
	if err := atomicfile.Write(dir, name, bytes.NewReader(data), opts); err != nil {
		return fmt.Errorf("write %s: %w", name, atomicfile.Reason(err))
	}
	return nil
}

// give hands what root made to the owner of the project, who works on without
// being root. Where that is refused, it stays root's.
func (f *Folder) give(dir *os.Root, name string) {
	if owner := f.owner(); owner != nil {
		_ = dir.Lchown(name, int(owner.Uid), int(owner.Gid))
	}
}

// giveFile does so with a file that is open.
func (f *Folder) giveFile(file *os.File) error {
	if owner := f.owner(); owner != nil {
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// owner returns nil if we are not root, or nobody knows.
func (f *Folder) owner() *syscall.Stat_t {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := f.project.Stat(".")
	if err != nil {
		return nil
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	return owner
}

// ancestors yields a path's directories and then itself, the topmost first.
func ancestors(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(path) {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
		yield(path)
	}
}

// FileName is text as part of a file name: letters, digits, dots, _ and -.
func FileName(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '.' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, printable.Cut(s, 100))
	return strings.Trim(clean, "-.")
}

// missing says that a file of the directory is not there; it is an fs.ErrNotExist.
type missing struct{ shown string }

func (m *missing) Error() string { return m.shown + " is missing" }

func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }

// Marker is what .ralph-active says now; an fs.ErrNotExist when there is none.
func (f *Folder) Marker() ([]byte, error) {
	return f.readIn(f.project, MarkerName, MarkerName, maxMarker)
}
