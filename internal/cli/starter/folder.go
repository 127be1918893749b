package starter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/run/rundir"
)

// Where things are, below the project.
const (
	dirName      = ".ralph"
	SettingsPath = dirName + "/settings.json"
	SchemaPath   = dirName + "/settings.schema.json"
	localPath    = dirName + "/settings.local.json"
)

// maxSettings bounds a settings file that is shown, in bytes.
const maxSettings = 64 << 10

// ErrExists says that a file is there which may not be overwritten.
var ErrExists = errors.New("exists already")

// Folder is a project to set up. Whatever in it was planted to lead elsewhere
// is refused: nothing is read or written through a symbolic link.
type Folder struct {
	root *os.Root
	dir  string
}

// owner is who gets what we make: the project's, who works on without being root.
func (f *Folder) owner() rundir.Owner { return rundir.OwnerOf(f.dir) }

// OpenFolder opens a project. Its errors, and those of the methods, are made
// for the user.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, atomicfile.Reason(err))
	}
	return &Folder{root: root, dir: dir}, nil
}

// Close gives the project back.
func (f *Folder) Close() error { return f.root.Close() }

// FS is the project's files, for [Propose].
func (f *Folder) FS() fs.FS { return f.root.FS() }

// Existing is what settings there are.
type Existing struct {
	Found    bool     // settings.json exists
	Problems []string // what could not be read, with line and column
	// Text is the merged settings as indented JSON, with what looks like a
	// secret hidden; "" when settings.json cannot be read. It may hold
	// characters that a terminal obeys.
	Text  string
	Local bool // settings.local.json is in Text
}

// Existing reads the settings and merges them. An error says that something
// stands in the place of settings.json that is no file.
func (f *Folder) Existing() (Existing, error) {
	if err := f.free(SettingsPath); errors.Is(err, ErrExists) {
		return f.merged(), nil
	} else if err != nil {
		return Existing{}, err
	}
	return Existing{}, nil
}

func (f *Folder) merged() Existing {
	e := Existing{Found: true}
	settings, err := f.load(SettingsPath)
	if err != nil {
		e.Problems = append(e.Problems, err.Error())
		return e
	}
	if err := f.free(localPath); err != nil {
		local, err := f.load(localPath)
		if err != nil {
			e.Problems = append(e.Problems, err.Error())
		} else {
			settings, e.Local = merge(settings, local), true
		}
	}
	masked, _ := mask(settings).(document)
	e.Text = pretty(masked)
	return e
}

func (f *Folder) load(name string) (document, error) {
	if err := f.free(name); !errors.Is(err, ErrExists) {
		return nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, atomicfile.Reason(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSettings+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, atomicfile.Reason(err))
	case len(data) > maxSettings:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxSettings)
	}
	return parse(name, data)
}

// free says that nothing has the name, or [ErrExists] when a regular file of
// the project has it, or what else stands in the way. Every folder above the
// file is looked at, too.
func (f *Folder) free(name string) error {
	for dir := range parents(name) {
		info, err := f.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", dir, atomicfile.Reason(err))
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is %s: remove it, ralph keeps a folder of its own there", dir, atomicfile.Kind(info.Mode()))
		}
	}
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", name, atomicfile.Reason(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s: remove it, ralph keeps a file of its own there", name, atomicfile.Kind(info.Mode()))
	}
	return fmt.Errorf("%s %w", name, ErrExists)
}

// WriteSettings writes settings.json whole, or leaves it as it was, and beside it
// the schema that it names. The error wraps [ErrExists] when there are settings that
// may not be overwritten.
func (f *Folder) WriteSettings(s Settings, overwrite bool) error {
	data, err := s.JSON()
	if err != nil {
		return fmt.Errorf("write %s: %w", SettingsPath, err)
	}
	if err := f.free(SettingsPath); err != nil && (!overwrite || !errors.Is(err, ErrExists)) {
		return err
	}
	if err := f.write(SchemaPath, schema, overwrite || f.ourSchema()); err != nil {
		return err
	}
	return f.write(SettingsPath, data, overwrite)
}

// ourSchema reports whether the schema that lies there is an earlier one of ralph's.
func (f *Folder) ourSchema() bool {
	text, ok := manifest(f.root.FS(), SchemaPath)
	return ok && bytes.Contains(text, []byte("/ralph-action/")) && bytes.Contains(text, []byte("settings.schema.json"))
}

// write makes the folders above the file, and removes them again when the file
// cannot be written.
func (f *Folder) write(name string, data []byte, overwrite bool) (err error) {
	if err := f.free(name); err != nil && (!overwrite || !errors.Is(err, ErrExists)) {
		return err
	}
	var made []string
	defer func() {
		for i := len(made) - 1; i >= 0 && err != nil; i-- {
			_ = f.root.Remove(made[i])
		}
	}()
	for dir := range parents(name) {
		switch err := f.root.Mkdir(dir, 0o755); {
		case err == nil:
			made = append(made, dir)
			owner := f.owner()
			_ = f.root.Lchown(dir, owner.UID, owner.GID) // where that is refused, it stays ours
		case !errors.Is(err, fs.ErrExist):
			return f.unwritable(dir, err)
		}
	}
	dir, err := f.enter(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f.replace(dir, name, data)
}

// enter opens a folder, and not one that a link leads to.
func (f *Folder) enter(name string) (*os.Root, error) {
	before, err := f.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, atomicfile.Reason(err))
	}
	dir, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, atomicfile.Reason(err))
	}
	if after, err := dir.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = dir.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", name)
	}
	return dir, nil
}

// replace puts a whole file in the place of the old one. A crash leaves a file
// tmp-…, which ralph's own .gitignore covers.
func (f *Folder) replace(dir *os.Root, name string, data []byte) error {
	opts := atomicfile.Options{Mode: 0o644, Sync: true, Finish: func(file *os.File) error {
		owner := f.owner()
		_ = file.Chown(owner.UID, owner.GID)
		return nil
	}}
	if err := atomicfile.Write(dir, path.Base(name), bytes.NewReader(data), opts); err != nil {
		return f.unwritable(name, err)
	}
	return nil
}

// unwritable says what a user can do about it.
func (f *Folder) unwritable(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("write %s: %w: run as a user who may write to %s", name, atomicfile.Reason(err), f.dir)
	}
	return fmt.Errorf("write %s: %w", name, atomicfile.Reason(err))
}

// parents yields the folders above a file, the topmost first.
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}
