package tasks

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks/document"
)

//go:embed templates
var templates embed.FS

const ignoreName = ".gitignore"

// InitOptions are what the templates are filled with.
type InitOptions struct {
	Name string // of the feature; the branch is ralph/<name>. "": the project's directory is its name, the branch is left to be chosen
	At   time.Time
}

// Initialized is what [Folder.Init] did, as paths in the project.
type Initialized struct {
	Created []string
	Kept    []string // were there already, and were left as they are
}

// Init makes the directory with prd.md, tasks.json, progress.txt and prompt.md, and
// has git ignore the marker. Nothing that exists is overwritten.
func (f *Folder) Init(o InitOptions) (Initialized, error) {
	files, err := f.fresh(o)
	if err != nil {
		return Initialized{}, err
	}
	dir, err := f.make()
	if err != nil {
		return Initialized{}, err
	}
	defer dir.Close()
	var done Initialized
	for _, name := range []string{PRDName, TasksName, ProgressName, PromptName} {
		if _, err := dir.Lstat(name); err == nil {
			done.Kept = append(done.Kept, f.Path(name))
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return done, fmt.Errorf("%s: %w", f.Path(name), atomicfile.Reason(err))
		}
		if err := f.replace(dir, name, files[name]); err != nil {
			return done, err
		}
		done.Created = append(done.Created, f.Path(name))
	}
	added, err := f.ignore()
	if err != nil {
		return done, err
	}
	if added {
		done.Created = append(done.Created, ignoreName)
	} else {
		done.Kept = append(done.Kept, ignoreName)
	}
	return done, nil
}

// fresh is the files as they begin.
func (f *Folder) fresh(o InitOptions) (map[string][]byte, error) {
	project := o.Name
	if project == "" {
		project = filepath.Base(f.path)
	}
	files := map[string][]byte{}
	for _, name := range []string{PRDName, TasksName, ProgressName, PromptName} {
		data, err := templates.ReadFile("templates/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	fill := strings.NewReplacer("{{DATE}}", o.At.Format(time.DateOnly), "{{PROJECT_NAME}}", Visible(project))
	files[ProgressName] = []byte(fill.Replace(string(files[ProgressName])))
	if o.Name == "" {
		return files, nil
	}
	branch := "ralph/" + o.Name
	if err := ralph.CheckBranch(branch); err != nil {
		return nil, fmt.Errorf("name %s makes no branch: %w", Quote(o.Name), err)
	}
	doc, bad := parse(files[TasksName], maxBytes)
	if bad != nil {
		return nil, fmt.Errorf("template of %s: %s", TasksName, bad)
	}
	doc.Root.Set("branchName", document.Node{Kind: document.Text, Raw: document.Quoted(branch)})
	files[TasksName] = doc.Bytes()
	return files, nil
}

// ignore has git ignore the marker, and says whether it did not before.
func (f *Folder) ignore() (added bool, err error) {
	data, err := f.readIn(f.project, ignoreName, ignoreName, maxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == MarkerName || line == "/"+MarkerName {
			return false, nil
		}
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	return true, f.replace(f.project, ignoreName, append(data, MarkerName+"\n"...))
}
