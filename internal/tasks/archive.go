package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const archiveName = "ralph-archive"

// ArchiveOptions are the name of an archive and what the next directory begins with.
type ArchiveOptions struct {
	Label string // "": the list's branch
	At    time.Time
	Rules Rules // for the summary
}

// Archived is what [Folder.Archive] did, with paths in the project.
type Archived struct {
	Path    string   // of the archive's directory
	Changed []string // that directory, and the files that begin anew or are gone
	Figures Figures
}

// Archive moves prd.md, tasks.json, progress.txt and notes beside it into a new directory
// ralph-archive/<date>-<label>, writes summary.md beside them, and begins anew
// with the templates. prompt.md stays. When it fails, what was moved is put
// back.
func (f *Folder) Archive(o ArchiveOptions) (Archived, error) {
	data, err := f.Tasks()
	if err != nil {
		return Archived{}, err
	}
	list, err := Read(data)
	if err != nil {
		return Archived{}, fmt.Errorf("%s cannot be summed up: %w", f.Path(TasksName), err)
	}
	label := FileName(o.Label)
	if label == "" && o.Label != "" {
		return Archived{}, fmt.Errorf("label %s has nothing that can stand in the name of a folder: give letters or digits", Quote(o.Label))
	}
	path, names, err := f.archive(list, cmp.Or(label, FileName(list.BranchName), "tasks"), o)
	if err != nil {
		return Archived{}, err
	}
	changed := []string{path, f.Path(PRDName), f.Path(TasksName), f.Path(ProgressName)}
	for _, name := range names {
		if moved := f.Path(name); !slices.Contains(changed, moved) {
			changed = append(changed, moved)
		}
	}
	return Archived{Path: path, Changed: changed, Figures: list.Figures(o.Rules)}, nil
}

func (f *Folder) archive(list *List, label string, o ArchiveOptions) (path string, names []string, err error) {
	fresh, err := f.fresh(InitOptions{At: o.At})
	if err != nil {
		return "", nil, err
	}
	from, err := f.enter()
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	if names, err = f.movable(from); err != nil {
		return "", nil, err
	}
	progress, err := f.read(ProgressName, maxText)
	if err != nil {
		progress = nil // missing or huge: the summary does without its date
	}
	if path, err = f.archiveFolder(o.At.Format(time.DateOnly) + "-" + label); err != nil {
		return "", nil, err
	}
	into, err := f.project.OpenRoot(path)
	if err != nil {
		return "", nil, fmt.Errorf("open %s: %w", path, atomicfile.Reason(err))
	}
	defer into.Close()
	var moved []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range moved {
			err = errors.Join(err, f.project.Rename(path+"/"+name, f.Path(name)))
		}
		err = errors.Join(err, f.project.RemoveAll(path))
		path = ""
	}()
	if err = f.replace(into, "summary.md", list.summary(o, started(progress))); err != nil {
		return path, names, err
	}
	for _, name := range names {
		if err = f.project.Rename(f.Path(name), path+"/"+name); err != nil {
			return path, names, fmt.Errorf("move %s: %w", f.Path(name), atomicfile.Reason(err))
		}
		moved = append(moved, name)
	}
	for _, name := range []string{PRDName, TasksName, ProgressName} {
		if err = f.replace(from, name, fresh[name]); err != nil {
			return path, names, err
		}
	}
	return path, names, nil
}

// movable is the files to move; something else with their name is not moved.
func (f *Folder) movable(dir *os.Root) (names []string, err error) {
	notes, err := fs.Glob(dir.FS(), NotesPattern)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{PRDName, TasksName, ProgressName}, notes...) {
		info, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", f.Path(name), atomicfile.Reason(err))
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is %s: it has to be a file of its own", f.Path(name), atomicfile.Kind(info.Mode()))
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// archiveFolder makes a directory that was not there before.
func (f *Folder) archiveFolder(name string) (path string, err error) {
	switch err := f.project.Mkdir(archiveName, 0o755); {
	case err == nil:
		f.give(f.project, archiveName)
	case !errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("make folder %s: %w", archiveName, atomicfile.Reason(err))
	}
	if info, err := f.project.Lstat(archiveName); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s has to be a folder of the project", archiveName)
	}
	for n := 1; n < 1000; n++ {
		path = archiveName + "/" + name
		if n > 1 {
			path += "-" + strconv.Itoa(n)
		}
		err = f.project.Mkdir(path, 0o755)
		if err == nil {
			f.give(f.project, path)
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return "", fmt.Errorf("make folder %s: %w", path, atomicfile.Reason(err))
}

// started is the date after "Started:" in progress.txt; "" when there is none.
func started(progress []byte) string {
	for line := range strings.Lines(string(progress)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Started:")
		if !ok {
			continue
		}
		if at, err := time.Parse(time.DateOnly, strings.TrimSpace(rest)); err == nil {
			return at.Format(time.DateOnly)
		}
	}
	return ""
}
