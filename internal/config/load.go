package config

import (
	"cmp"
	"os"
	"path"
	"slices"

	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/config/textfile"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	maxFile   = 1 << 20  // of the configuration file
	maxPrompt = 16 << 20 // of the task
)

// LoadOptions are the sources of a configuration. Where several give a value,
// flags win over inputs, inputs over files, files over defaults; see [Load].
type LoadOptions struct {
	// Dir is the workspace. Paths that come from inputs or the configuration
	// file cannot leave it, not even through a symbolic link; a path given as
	// a flag may, because whoever types it can read the file anyway.
	Dir string
	// Mode fixes the mode for a local command; empty: the mode input decides,
	// as in the action.
	Mode string
	// Local reports whether this is a local command, which has other defaults, see
	// [Defaults], and reads other files.
	Local bool
	// Home is where the files of the modes plan, build and prompt lie (config,
	// prompts/, implementation_plan.md, logs/), relative to Dir,
	// slash-separated; empty: ".ralph".
	Home string
	// Prompts are the built-in prompts by mode, used when there is no template.
	Prompts map[string]string
	// Infer names the agent that a command line starts, "text" for one it does
	// not know. nil: the program's base name decides.
	Infer func(command []string) string
	// Inputs are the action's inputs by their names in action.yml. An empty
	// value is an input that was not given.
	Inputs map[string]string
	// Flags are the flags of the command line by their names, see [Flags].
	Flags map[string]string
	// Words are flags that were given as words of the command line, and what
	// people call them.
	Words map[string]string
	// Defaults replace defaults for a command that differs, those of [Defaults]
	// included.
	Defaults map[string]string
	// Event says that the event that started the run brings a task, so that no
	// prompt is needed.
	Event bool
	// EventName is that event, for the message when it brings none; empty: none.
	EventName string
	// Instead are files of the workspace, by their clean names with slashes, whose
	// content is taken from here and not from Dir; nil: there is none of that name.
	// For runs on a branch whose configuration is not to be followed.
	Instead map[string][]byte
	// Seen, unless it is nil, takes up the files of the workspace that were read or looked
	// for, as Instead takes them.
	Seen map[string][]byte
	// Environment is where the token is looked for (GITHUB_TOKEN, then
	// GH_TOKEN) when it is not an input, and what pass-env is checked against.
	Environment map[string]string
	// Warnings are said before the configuration's own.
	Warnings []string
}

// Load reads and validates everything. Its error is a [*problem.Problems] that lists
// all that is wrong; the Config beside it then holds what could be read, with
// zero values where something could not.
//
// The files, in rising priority: in the action .ralph/settings.json (mode run)
// or Home/config (modes plan, build and prompt), then .github/ralph.yml; at a
// locally .github/ralph.yml, .ralph/settings.json and .ralph/settings.local.json
// (mode run), or Home/config (plan, build and prompt). The input or flag config
// names a file in the place of the usual ones of its kind, in every mode.
func Load(o LoadOptions) (Config, error) {
	l := &loader{o: o, rows: table(), tokens: forgeTokens(o), List: problem.NewList(append(forgeTokens(o), o.Inputs["api-key"]))}
	l.c.Sources, l.c.Warnings = map[string]string{}, slices.Clone(o.Warnings)
	l.c.Prompt.Home = path.Clean(cmp.Or(o.Home, ".ralph"))
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		l.Report("workspace", "%s cannot be opened: %s", l.Quote(o.Dir), textfile.Cause(err))
		return l.c, l.Err()
	}
	defer root.Close()
	l.files = textfile.Workspace{Dir: o.Dir, Root: root, Instead: o.Instead, Seen: o.Seen}

	values := l.values()
	l.inferAgent(values)
	for _, r := range l.rows {
		v, ok := values[r.Name]
		if !ok {
			continue
		}
		v.in = r.Input
		l.c.Sources[r.Name] = v.source()
		if v.Node == nil && l.tooLong(v) {
			continue
		}
		r.set(l, v)
	}
	l.validate(values)
	for _, r := range l.rows {
		if v, ok := values[r.Name]; ok && (v.given() || !l.pointless(r.Input)) {
			v.in = r.Input
			l.c.shown = append(l.c.shown, show(v))
		}
	}
	return l.c, l.Err()
}

// pointless reports whether an input means nothing for this run, so that nobody wants
// to hear of its default.
func (l *loader) pointless(in Input) bool {
	ours := l.c.Git.Commit == CommitEach || l.c.Git.Commit == CommitAtEnd
	switch {
	case ofAnother(l.mode, in.Name):
		return true
	case in.Group == groupSupervision:
		return l.c.Loop.Completion.Kind != ralph.CompletionDoneFile
	case !l.o.Local:
		return false
	case in.Group == GroupTrigger:
		return true
	case in.Group == groupSandbox:
		return l.c.Sandbox.Isolation == IsolationOff && in.Name != "isolation"
	case in.Group == groupPublishing:
		return !ours && in.Name != "commit"
	}
	return !ours && (in.Group == groupContent || in.Group == groupPull)
}

// layer is where a value came from, in rising priority.
type layer int

const (
	fromDefault layer = iota
	fromEnvironment
	fromFile
	fromInput
	fromFlag
)

// value is one setting as it was given.
type value struct {
	file.Value // Where may be "input branch", too; Key what the user called it; empty: in.Name
	in         Input
	from       layer
	rank       int // of the layer it came in, to compare
}

// given says that somebody gave the value.
func (v value) given() bool { return v.from > fromDefault }

// called is the name the user knows the setting by.
func (v value) called() string { return cmp.Or(v.Key, v.in.Name) }

func (v value) source() string {
	if v.from == fromDefault {
		return defaultSource
	}
	return v.Where
}

// loader collects values and problems while a Config is being read.
type loader struct {
	*problem.List
	o      LoadOptions
	rows   []row
	files  textfile.Workspace
	tokens []string // those of the forge
	c      Config
	mode   string // one of modes, also when the input is wrong
	// variables are those of the shell-style file.
	variables map[string]string
	restarted int // max-restarts
}

// forgeTokens are the tokens that no agent may see.
func forgeTokens(o LoadOptions) []string {
	return problem.Parts([]string{
		o.Inputs["github-token"], o.Flags["github-token"], o.Inputs["ci-token"], o.Inputs["branch-token"],
		o.Environment["GITHUB_TOKEN"], o.Environment["GH_TOKEN"],
	})
}
