package config

import (
	"strings"

	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
)

// validate checks what involves more than one input, and fills in what depends
// on another.
func (l *loader) validate(values map[string]value) {
	if l.c.Loop.Completion.Token == "" && values["completion-token"].Text == "" {
		l.c.Loop.Completion.Token = map[ralph.CompletionKind]string{
			ralph.CompletionPromise:  ralph.UsualPromise,
			ralph.CompletionTasks:    ralph.UsualPromise,
			ralph.CompletionResponse: ralph.UsualResponse,
		}[l.c.Loop.Completion.Kind]
	}
	l.c.Loop.Completion.Either = l.mode == ModeRun && !values["completion"].given() && !values["completion-token"].given()
	if l.mode == ModeSupervise && l.c.Agent.Name == "text" && !values["completion-rule"].given() {
		l.c.Loop.CompletionRule = false // what a command reads on stdin need not be a prompt
	}
	l.validateTask(values)
	l.validateAgent(values)
	l.validateAgentOptions(values)
	l.validateOutput(values)
	l.validateSupervision(values)
	l.validateTasks(values)
	l.validateSession(values)
	l.validateIsolation(values)
	l.validateSCM(values)
	l.validatePublishing(values)
	for i := range l.c.Checks.Guardrails {
		switch g := &l.c.Checks.Guardrails[i]; g.Timeout {
		case unlimited:
			g.Timeout = 0
		case 0:
			g.Timeout = l.c.Limits.Guardrail
		}
	}
}

// warn notes what is accepted although it is not right.
func (l *loader) warn(where, text string) {
	l.c.Warnings = append(l.c.Warnings, printable.Visible(l.Scrub(where+": "+text)))
}

// option is how an input is given here, for a sentence.
func (l *loader) option(name, value string) string {
	return ralph.Option(l.o.Local, name, value)
}

func (l *loader) validateAgent(values map[string]value) {
	command, has := values["agent-command"]
	if has && len(l.c.Agent.Command) > 0 && strings.TrimSpace(l.c.Agent.Command[0]) == "" {
		l.refuse(command, "its first word is the program and cannot be empty")
	}
	if l.c.Agent.Name == "text" && len(l.c.Agent.Command) == 0 && !l.refused(command) {
		switch {
		case templated(l.mode), values["agent"].Kind == file.Shell:
			l.c.Agent.Name, l.c.Output.Format = "cline", "text"
			if !l.c.Agent.Exact {
				l.c.Agent.Args = append([]string{"--yolo", "--verbose"}, l.c.Agent.Args...)
			}
		case l.mode == ModeSupervise:
			where, give := "agent-command", "name the command, which"
			if l.o.Local {
				where, give = "the command", "give it after --, as in ralph supervise --task-dir DIR -- COMMAND: it"
			}
			l.Report(where, "it is missing: %s is started, and started again until the task is done", give)
		default:
			l.Report(values["agent"].Where, "text needs agent-command: the program that reads the prompt on stdin and prints its answer")
		}
	}
	if l.c.Agent.Name == "text" && l.c.Output.Format == "json" && l.c.Output.ResponseFilter == "" {
		l.Report(values["output-format"].Where, "json of an agent that is not known needs %s: the jq expression that picks its words", nameLike("response-filter", values["output-format"]))
	}
	if !l.c.Agent.Exact {
		return
	}
	exact := values["agent-exact-args"]
	for _, name := range []string{"agent-args", "model", "effort", "append-system-prompt", "mcp-config", "agent-settings", "provider", "base-url"} {
		if v, ok := values[name]; ok && v.given() && v.rank >= exact.rank {
			l.Report(v.Where, "it has no effect: %s has all of the agent's arguments", exact.Where)
		}
	}
	l.c.Agent.Args, l.c.Agent.Model, l.c.Agent.Effort, l.c.Agent.System, l.c.Agent.MCP, l.c.Agent.Settings, l.c.Provider.Name, l.c.Provider.BaseURL = nil, "", "", "", "", "", "", ""
}

// validateOutput checks that what is limited is reported.
func (l *loader) validateOutput(values map[string]value) {
	cause := values["output-format"]
	if stream, ok := values["stream-agent-output"]; ok && !l.c.Output.Stream && !l.refused(stream) && !cause.given() {
		l.c.Output.Format = "text"
		cause = stream
	}
	if l.c.Output.Format != "text" || l.c.Agent.Name == "text" && l.c.Output.Stream {
		return
	}
	for _, name := range []string{"max-cost-usd", "max-tokens"} {
		if values[name].given() {
			l.Report(values[name].Where, "it cannot be kept: in the agent's text mode (%s) nothing tells cost or tokens; use max-iterations or max-duration, or add %s",
				cause.Where, l.option("output-format", "json"))
		}
	}
}

// validateSupervision checks what belongs to a task folder.
func (l *loader) validateSupervision(values map[string]value) {
	byFile := l.c.Loop.Completion.Kind == ralph.CompletionDoneFile
	dir, restarts, iterations := values["task-dir"], values["max-restarts"], values["max-iterations"]
	switch {
	case l.c.Tasks.Dir != "" || l.refused(dir):
	case l.mode == ModeSupervise:
		l.Report("task-dir", "it is missing: name the folder of the task, into which the agent puts the file DONE")
	case byFile:
		l.Report(values["completion"].Where, "done-file needs task-dir: the folder that the agent puts the file DONE into")
	}
	if l.mode != ModeSupervise && !byFile {
		for _, v := range []value{dir, restarts} {
			if v.given() && !l.refused(v) {
				l.Report(v.Where, "it has no effect here: it belongs to mode supervise, or to completion: done-file")
			}
		}
		return
	}
	switch {
	case restarts.given() && iterations.given() && restarts.rank == iterations.rank:
		l.Report(restarts.Where, "it means the same as %s here: give only one of them", iterations.Where)
	case restarts.given() && (!iterations.given() || restarts.rank > iterations.rank),
		l.mode == ModeSupervise && !iterations.given():
		l.c.Loop.MaxIterations = l.restarted
		l.c.Sources["max-iterations"] = restarts.source()
	}
}

// nameLike is what an input is called where v was given.
func nameLike(input string, v value) string {
	switch {
	case v.from == fromFlag:
		return "--" + input
	case v.Kind == file.Shell:
		return file.ShellKey(input)
	case v.Kind == file.Settings:
		return file.SettingsKey(input)
	}
	return input
}
