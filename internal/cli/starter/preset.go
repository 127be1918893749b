package starter

import (
	"embed"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

//go:embed prompts
var prompts embed.FS

// Prompt is the prompt of a mode, plan or build, as the preset writes it. The
// variables ${SPECS_DIR}, ${PLAN_FILE} and ${MODE} stand in it.
func Prompt(mode string) (string, bool) {
	if mode != "plan" && mode != "build" {
		return "", false
	}
	data, err := prompts.ReadFile("prompts/" + mode + ".md")
	return string(data), err == nil
}

// PresetName is the one preset there is.
const PresetName = "ralph-loop"

// PresetAgents are the values of AGENT_TYPE: those of the agents that are CLIs, and
// text.
func PresetAgents() []string { return append(Agents(), "text") }

// specsDir is the folder of specifications that the preset names.
const specsDir = "specs"

// Written is what became of the preset's files, in order.
type Written struct {
	Files []string
	Kept  []string // they were there already
}

// WritePreset writes what `ralph plan` and `ralph build` start from. agent is
// one of [PresetAgents]. A file that is there is kept unless overwrite is set;
// specifications always are. Whatever stands in the way of one file is found
// before the first is written.
func (f *Folder) WritePreset(agent string, overwrite bool) (Written, error) {
	var w Written
	files, err := f.preset(agent)
	if err != nil {
		return w, err
	}
	var todo []file
	for _, file := range files {
		switch err := f.free(file.name); {
		case err == nil, overwrite && errors.Is(err, ErrExists):
			todo = append(todo, file)
		case errors.Is(err, ErrExists):
			w.Kept = append(w.Kept, file.name)
		default:
			return w, err
		}
	}
	for _, file := range todo {
		if err := f.write(file.name, []byte(file.text), overwrite); err != nil {
			return w, err
		}
		w.Files = append(w.Files, file.name)
	}
	return w, nil
}

type file struct{ name, text string }

func (f *Folder) preset(agent string) ([]file, error) {
	if !slices.Contains(PresetAgents(), agent) {
		return nil, errors.New("the preset's agent is one of " + strings.Join(PresetAgents(), ", "))
	}
	var files []file
	for _, from := range []struct{ name, source string }{
		{dirName + "/config", "config"}, {dirName + "/prompts/plan.md", "plan.md"}, {dirName + "/prompts/build.md", "build.md"}, {specsDir + "/README.md", "specs.md"},
	} {
		if strings.HasPrefix(from.name, specsDir+"/") {
			if _, err := f.root.Lstat(specsDir); !errors.Is(err, fs.ErrNotExist) {
				continue // theirs, whatever it is
			}
		}
		data, err := prompts.ReadFile("prompts/" + from.source)
		if err != nil {
			return nil, err
		}
		files = append(files, file{from.name, strings.NewReplacer("{{agent}}", agent, "{{agents}}", strings.Join(Agents(), ", ")).Replace(string(data))})
	}
	return files, nil
}

// Prompts are the built-in templates by mode.
func Prompts() map[string]string {
	texts := map[string]string{}
	for _, mode := range []string{"plan", "build"} {
		if text, ok := Prompt(mode); ok {
			texts[mode] = text
		}
	}
	return texts
}
