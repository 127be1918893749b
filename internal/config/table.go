package config

import (
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// DefaultFile is where the configuration file is looked for.
const DefaultFile = ".github/ralph.yml"

const (
	millisecond = int64(time.Millisecond)
	second      = int64(time.Second)
	hour        = int64(time.Hour)
	dollar      = int64(ralph.USD)
)

// table is the single list of inputs: what they are called, what they accept,
// what they default to and where they end up.
func table() []row {
	var all []row
	for _, g := range []struct {
		title string
		rows  []row
	}{
		{"Task", taskRows()},
		{"Agent", agentRows()},
		{"Loop", loopRows()},
		{groupSupervision, superviseRows()},
		{GroupTasks, tasksRows()},
		{"Limits", limitRows()},
		{"Machine", placeRows()},
		{groupSandbox, sandboxRows()},
		{groupContent, contentRows()},
		{groupPublishing, publishRows()},
		{groupPull, pullRows()},
		{GroupTrigger, triggerRows()},
		{"Display", displayRows()},
	} {
		for _, r := range g.rows {
			r.Group = g.title
			all = append(all, r)
		}
	}
	return all
}

// Groups of inputs that mean something only in some runs.
const (
	groupSupervision = "Supervision"
	GroupTasks       = "Task list"
	groupSandbox     = "Sandbox"
	groupContent     = "Content"
	groupPublishing  = "Publishing"
	groupPull        = "Pull request"
	GroupTrigger     = "Trigger"
)

func taskRows() []row {
	return []row{
		{Input{Name: "prompt", Core: true, Short: 'p', Kind: Text, Max: maxPrompt, Placeholder: "TEXT",
			Help: "The task, as text. Give this or `prompt-file`; in mode `tasks` either replaces prompt.md."},
			func(l *loader, v value) { l.c.Prompt.Text = l.prompt(v) }},
		{Input{Name: "prompt-file", Core: true, Short: 'f', Kind: Path, Placeholder: "FILE",
			Help: "A file with the task."},
			func(l *loader, v value) { l.c.Prompt.File, l.c.Prompt.Text = l.promptFile(v) }},
		{Input{Name: "mode", Core: true, Kind: Choice, Enum: modes(), Default: ModeRun, NoFlag: true,
			Help: "The kind of loop: `run`, `plan`, `build`, `prompt`, `supervise`, `tasks` or `session`."},
			func(l *loader, v value) { l.c.Mode = l.choice(v) }},
		{Input{Name: "config", Kind: Path, DefaultDoc: "the files of the mode", NoFile: true, Placeholder: "FILE",
			Help: "A configuration file in place of the default one: YAML (`.yml`, `.yaml`), settings (`.json`), or lines of KEY=VALUE (any other name)."},
			func(*loader, value) {}},
	}
}

func agentRows() []row {
	return []row{
		{Input{Name: "agent", Core: true, Kind: Choice, Enum: catalog.Names(), Default: "claude", Placeholder: "AGENT",
			Help: "The coding agent: `" + strings.Join(catalog.Names(), "`, `") + "`."},
			func(l *loader, v value) { l.c.Agent.Name = l.choice(v) }},
		{Input{Name: "agent-command", Kind: Words, DefaultDoc: "the agent's own program", Placeholder: "COMMAND",
			Help: "The agent's program and its first arguments. Required by `text` and `custom`."},
			func(l *loader, v value) { l.c.Agent.Command = l.words(v) }},
		{Input{Name: "agent-args", Kind: Words, Placeholder: "ARGS",
			Help: "More arguments for the agent."},
			func(l *loader, v value) { l.c.Agent.Args = l.words(v) }},
		{Input{Name: "agent-exact-args", Kind: Words, DefaultDoc: "the agent's own arguments", NoAction: true, Placeholder: "ARGS",
			Help: "All of the agent's arguments; nothing is added."},
			func(l *loader, v value) { l.c.Agent.Exact, l.c.Agent.ExactArgs = true, l.words(v) }},
		{Input{Name: "model", Core: true, Kind: Line, Max: 200, DefaultDoc: "the agent's own default", Placeholder: "NAME",
			Help: "The agent's model."},
			func(l *loader, v value) { l.c.Agent.Model = l.model(v) }},
		{Input{Name: "effort", Kind: Line, Max: 40, DefaultDoc: "the agent's own default", NoAction: true, Placeholder: "LEVEL",
			Help: "The model's effort, in the agent's own words, such as `high`."},
			func(l *loader, v value) { l.c.Agent.Effort = l.word(v) }},
		{Input{Name: "fallback-agent", Kind: Choice, Enum: catalog.CLIs(), DefaultDoc: "none", NoAction: true, Placeholder: "AGENT",
			Help: "The agent that takes over after a usage limit or repeated failure."},
			func(l *loader, v value) { l.c.Agent.Fallback = l.choice(v) }},
		{Input{Name: "fallback-model", Kind: Line, Max: 200, DefaultDoc: "the fallback agent's own default", NoAction: true, Placeholder: "NAME",
			Help: "The model of the fallback agent; alone, another model of `agent`."},
			func(l *loader, v value) { l.c.Agent.FallbackModel = l.model(v) }},
		{Input{Name: "agent-version", Kind: Line, Max: 64, DefaultDoc: "the installed, else the tested one", NoAction: true, Placeholder: "VERSION",
			Help: "Version of the agent's CLI, such as `2.1.329`, or `latest`."},
			func(l *loader, v value) { l.c.Agent.Version = l.version(v) }},
		{Input{Name: "agent-install", Kind: Choice, Enum: []string{"auto", "never"}, Default: "auto", NoAction: true, Placeholder: "WHEN",
			Help: "Install a missing agent from npm: `auto` or `never`."},
			func(l *loader, v value) { l.c.Agent.Install = l.choice(v) == "auto" }},
		{Input{Name: "provider", Kind: Line, Max: 40, DefaultDoc: "the agent's own", Placeholder: "NAME",
			Help: "The provider of the model, such as `bedrock`, `vertex` or `azure`."},
			func(l *loader, v value) { l.c.Provider.Name = l.word(v) }},
		{Input{Name: "base-url", Kind: Line, Max: 2000, DefaultDoc: "the provider's own", Guarded: true, Placeholder: "URL",
			Help: "The address of the provider's API."},
			func(l *loader, v value) { l.c.Provider.BaseURL = l.address(v) }},
		{Input{Name: "api-key", Kind: Secret, DefaultDoc: "the agent's own variable", NoFlag: true, NoFile: true,
			Help: "The key of the agent's provider."},
			func(l *loader, v value) { l.c.Provider.APIKey = l.secret(v) }},
		{Input{Name: "append-system-prompt", Kind: Text, Max: 64 << 10, NoAction: true, Placeholder: "TEXT",
			Help: "Text for the agent's system prompt, or `@FILE`."},
			func(l *loader, v value) { l.c.Agent.System = l.inlineOrFile(v, "@") }},
		{Input{Name: "mcp-config", Kind: Text, Max: 256 << 10, Placeholder: "JSON",
			Help: "MCP servers for the agent: JSON with `mcpServers`, or a file with it."},
			func(l *loader, v value) { l.c.Agent.MCP = l.object(v) }},
		{Input{Name: "agent-settings", Kind: Text, Max: 256 << 10, Placeholder: "JSON",
			Help: "Settings for the agent in its own format: JSON, or a file with it."},
			func(l *loader, v value) { l.c.Agent.Settings = l.object(v) }},
		{Input{Name: "agent-prompt", Kind: Choice, Enum: []string{"stdin", "argument", "file"}, Default: "stdin", NoAction: true, Placeholder: "WAY",
			Help: "How a `custom` agent gets its prompt: `stdin`, `argument` (the last one) or `file`."},
			func(l *loader, v value) { l.c.Agent.Prompt = l.choice(v) }},
		{Input{Name: "agent-filters", Kind: Lines, Max: 20, NoAction: true, Placeholder: "NAME: JQ",
			Help: "Meaning of a `custom` agent's JSON lines: one `NAME: JQ` per line."},
			func(l *loader, v value) { l.c.Agent.Filters = l.filters(v) }},
		{Input{Name: "output-format", Kind: Choice, Enum: []string{"json", "text"}, DefaultDoc: "the agent's own", NoAction: true, Placeholder: "FORMAT",
			Help: "What the agent prints: `json` (events) or `text` (its answer only)."},
			func(l *loader, v value) { l.c.Output.Format = l.choice(v) }},
		{Input{Name: "response-filter", Kind: Line, Max: 10_000, DefaultDoc: "the agent's own", NoAction: true, Placeholder: "JQ",
			Help: "A jq expression for the agent's own words in its JSON output."},
			func(l *loader, v value) { l.c.Output.ResponseFilter = l.line(v) }},
		{Input{Name: "display-filter", Kind: Line, Max: 10_000, DefaultDoc: "a built-in display", NoAction: true, Placeholder: "COMMAND",
			Help: "A shell command that formats the agent's raw output."},
			func(l *loader, v value) { l.c.Output.DisplayFilter = l.line(v) }},
		{Input{Name: "text-scan", Kind: Choice, Enum: []string{"own", "full"}, Default: "own", NoAction: true, Placeholder: "WHAT",
			Help: "Where plain text is searched for the completion tag: the agent's `own` words (no copy of the prompt) or the `full` output."},
			func(l *loader, v value) { l.c.Output.TextScanFull = l.choice(v) == "full" }},
		{Input{Name: "stream-agent-output", Kind: Bool, Default: "true", NoAction: true,
			Help: "Show what the agent does. `false` runs it in text mode and hides its output."},
			func(l *loader, v value) { l.c.Output.Stream = l.boolean(v) }},
	}
}

func displayRows() []row {
	return []row{
		{Input{Name: "emoji", Kind: Bool, Default: "true", NoAction: true,
			Help: "Use emoji; `false` uses marks such as [OK]."},
			func(l *loader, v value) { l.c.Output.Display.Emoji = l.boolean(v) }},
		{Input{Name: "color", Kind: Choice, Enum: []string{"auto", "always", "never"}, Default: "auto", NoAction: true, Placeholder: "WHEN",
			Help: "Colored output: `auto` (on a terminal), `always` or `never`."},
			func(l *loader, v value) { l.c.Output.Display.Color = l.choice(v) }},
		{Input{Name: "timestamps", Kind: Bool, Default: "true", NoAction: true,
			Help: "Start the agent's lines with the time."},
			func(l *loader, v value) { l.c.Output.Display.Timestamps = l.boolean(v) }},
		{Input{Name: "max-output-lines", Kind: Count, Default: "40", Max: 1_000_000, Zero: "all", NoAction: true, Placeholder: "N",
			Help: "Lines of a tool's output that are shown."},
			func(l *loader, v value) { l.c.Output.Display.MaxLines = int(l.count(v)) }},
		{Input{Name: "max-output-chars", Kind: Count, Default: "4000", Max: 1_000_000_000, Zero: "all", NoAction: true, Placeholder: "N",
			Help: "Characters of a tool's output that are shown."},
			func(l *loader, v value) { l.c.Output.Display.MaxChars = int(l.count(v)) }},
	}
}
