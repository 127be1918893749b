package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
)

// validateTask checks that there is one task, and that it says how to end.
func (l *loader) validateTask(values map[string]value) {
	if templated(l.mode) {
		l.declare()
	}
	text, hasText := values["prompt"]
	file, hasFile := values["prompt-file"]
	switch {
	case hasText && hasFile:
		l.Report(text.Where, "there are two prompts, %s is the other: give only one of them", file.Where)
		return
	case hasText || hasFile || (l.mode == ModePlan || l.mode == ModeBuild) && l.template():
	case l.mode == ModeSupervise && (l.c.Agent.Name == "text" || l.c.Agent.Exact):
		// The command knows its task.
	case l.o.Event && takesEvent(l.mode) && l.c.Trigger.Use != EventNever:
		// The event is the task.
	case l.mode == ModeTasks, l.mode == ModeIntegrate:
		// prompt.md is the folder's.
	case l.o.EventName != "" && takesEvent(l.mode):
		l.Report("prompt", "the event %s has no task text: set prompt or prompt-file", printable.Visible(l.o.EventName))
	default:
		how := "prompt or as prompt-file"
		switch {
		case !l.o.Local:
		case l.mode == ModeRun, l.mode == ModeSupervise:
			how = "--prompt or as --prompt-file"
		case l.mode == ModeSession:
			how = "a word: ralph session \"Make the tests pass\", or with --prompt-file"
		}
		l.Report("prompt", "there is nothing to do: give the task as %s", how)
	}
	l.checkMarker(values)
}

// takesEvent reports whether the event that started a run may be the task of a mode.
func takesEvent(mode string) bool { return mode == ModeRun || mode == ModeSession }

// template takes the prompt of a mode from its file, or the built-in one. It is
// false when there is neither.
func (l *loader) template() bool {
	name := path.Join(l.c.Prompt.Home, "prompts", l.mode+".md")
	if l.files.Missing(name, false) {
		// It asks for the usual marker; another one may be wanted.
		usual := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}
		l.c.Prompt.Text = strings.ReplaceAll(l.o.Prompts[l.mode], usual.Marker(), l.c.Loop.Completion.Marker())
		l.c.Prompt.Builtin = l.c.Prompt.Text != ""
		return l.c.Prompt.Builtin
	}
	l.c.Prompt.File = name
	switch data, wrong := l.files.Read(name, false, maxPrompt); {
	case wrong != "":
		l.Report(printable.Visible(name), "%s %s", l.Quote(name), wrong)
	case strings.TrimSpace(string(data)) == "":
		l.Report(printable.Visible(name), "it is empty: say what is to be done, or remove the file for the built-in prompt")
	default:
		l.c.Prompt.Text = string(data)
	}
	return true
}

// checkMarker looks whether a prompt tells the agent how to end the loop, where
// we do not.
func (l *loader) checkMarker(values map[string]value) {
	if l.c.Prompt.Text == "" || l.c.Loop.CompletionRule || l.mode == ModeSupervise || l.mode == ModeTasks || l.mode == ModeRun && !l.o.Local || l.c.Loop.Completion.Token == "" {
		return
	}
	marker := l.c.Loop.Completion.String()
	if l.c.Loop.Completion.Kind == ralph.CompletionDoneFile || l.c.Loop.Completion.NamedIn(l.c.Prompt.Text) != "" {
		return
	}
	what := "the prompt"
	switch {
	case l.c.Prompt.Builtin:
		what = "the built-in prompt of mode " + l.mode
	case l.c.Prompt.File != "":
		what = "prompt file " + l.Quote(l.c.Prompt.File)
	}
	cure := ": tell the agent in it to print that when everything is done, or set " + l.option("completion-rule", "true")
	if l.mode == ModePrompt {
		l.c.Prompt.Invalid = printable.Visible(l.Scrub(what + " does not contain " + marker + ", so the loop could never end" + cure))
		return
	}
	where := "mode " + l.mode
	for _, name := range []string{"prompt", "prompt-file"} {
		if v, ok := values[name]; ok {
			where = v.Where
		}
	}
	l.warn(where, what+" does not contain "+marker+", so the agent does not know how to end the loop"+cure)
}

// declare sets what a template may name.
func (l *loader) declare() {
	if l.c.Git.WorkingDirectory != "." && l.c.Git.WorkingDirectory != "" && l.mode != ModePrompt {
		l.Report("working-directory", "mode %s works at the top of the workspace, where its plan and its specifications are: leave it out", l.mode)
	}
	l.c.Prompt.PlanFile = path.Join(l.c.Prompt.Home, "implementation_plan.md")
	l.c.Prompt.Variables = maps.Clone(l.variables)
	if l.c.Prompt.Variables == nil {
		l.c.Prompt.Variables = map[string]string{}
	}
	for _, own := range [][2]string{{"MODE", l.mode}, {"PLAN_FILE", l.c.Prompt.PlanFile}} {
		if _, taken := l.variables[own[0]]; taken {
			l.warn(own[0], "its value in the configuration file has no effect: it is "+own[1]+" here")
		}
		l.c.Prompt.Variables[own[0]] = own[1]
	}
	l.c.Prompt.SpecsDir = cmp.Or(strings.TrimSpace(l.variables["SPECS_DIR"]), "specs")
	l.c.Prompt.Variables["SPECS_DIR"] = l.c.Prompt.SpecsDir
	if l.mode != ModePrompt {
		l.specs()
	}
}

// specs checks that the folder with the specifications is there.
func (l *loader) specs() {
	name, inside := l.files.Local(l.c.Prompt.SpecsDir)
	stat := l.files.Root.Stat
	switch {
	case inside:
	case l.o.Local:
		stat, name = os.Stat, l.files.Abs(l.c.Prompt.SpecsDir)
	default:
		l.Report("SPECS_DIR", "%s is outside the workspace: give a folder relative to it", l.Quote(l.c.Prompt.SpecsDir))
		return
	}
	if st, err := stat(name); errors.Is(err, fs.ErrNotExist) {
		l.Report("SPECS_DIR", "the folder %s does not exist: make it, set SPECS_DIR, or begin with ralph init --preset ralph-loop", l.Quote(l.c.Prompt.SpecsDir))
	} else {
		l.isFolder("SPECS_DIR", l.c.Prompt.SpecsDir, st, err)
	}
}
