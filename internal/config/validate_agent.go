package config

import (
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// validateAgentOptions checks what belongs to some agents only.
func (l *loader) validateAgentOptions(values map[string]value) {
	ofTheirOwn := catalog.Of(l.c.Agent.Name).Own()
	useless := func(name, why string) {
		switch v := values[name]; {
		case !v.given() || l.refused(v):
		case v.from == fromFile && values["agent"].from > fromFile: // the file serves its own agent
			l.warn(v.Where, "it has no effect: "+why)
		default:
			l.Report(v.Where, "it has no effect: %s", why)
		}
	}
	if l.c.Agent.Name == "custom" {
		if command := values["agent-command"]; len(l.c.Agent.Command) == 0 && !l.refused(command) {
			l.Report(values["agent"].Where, "custom needs agent-command: the program that is the agent")
		}
		if filters := values["agent-filters"]; len(l.c.Agent.Filters) == 0 && !l.refused(filters) && l.c.Output.ResponseFilter == "" {
			l.Report(values["agent"].Where, "custom needs agent-filters: at least what finds its words, such as text: select(.type==\"text\") | .text")
		}
	} else {
		useless("agent-prompt", "it belongs to agent custom")
		useless("agent-filters", "it belongs to agent custom")
	}
	if key := values["api-key"]; key.given() && l.holdsToken(key.Text) {
		l.Report(key.Where, "it is the forge's token, which no agent gets: give the key of the agent's provider")
	}
	for name, text := range map[string]string{"mcp-config": l.c.Agent.MCP, "agent-settings": l.c.Agent.Settings, "append-system-prompt": l.c.Agent.System} {
		if l.holdsToken(text) {
			l.Report(values[name].Where, "%s holds the forge's token, which no agent gets: give it a token of its own, with the rights it needs", name)
		}
	}
	switch {
	case ofTheirOwn:
		for _, name := range []string{"effort", "provider", "base-url", "mcp-config", "agent-settings"} {
			useless(name, "write it into agent-command")
		}
		useless("agent-version", "the program of agent-command is yours")
		useless("api-key", "name the agent's variable in pass-env, and set it in env")
	case len(l.c.Agent.Command) > 0:
		useless("agent-version", "agent-command names the program")
	case l.c.Agent.Version != "" && !l.c.Agent.Install && l.c.Agent.Version == "latest":
		l.Report(values["agent-version"].Where, "latest is not looked for with %s", l.option("agent-install", "never"))
	}
	l.validateFallback(values)
}

func (l *loader) validateFallback(values map[string]value) {
	name, model := values["fallback-agent"], values["fallback-model"]
	switch {
	case l.c.Agent.Fallback == "" && l.c.Agent.FallbackModel == "":
	case l.c.Agent.Fallback == "" && !slices.Contains(catalog.CLIs(), l.c.Agent.Name):
		l.Report(model.Where, "it needs fallback-agent: %s is no agent that takes a model", l.c.Agent.Name)
	case (l.c.Agent.Fallback == "" || l.c.Agent.Fallback == l.c.Agent.Name) && l.c.Agent.FallbackModel == l.c.Agent.Model && len(l.c.Agent.Command) == 0:
		if !l.refused(name) && !l.refused(model) {
			where := name.Where
			if l.c.Agent.Fallback == "" {
				where = model.Where
			}
			l.Report(where, "it is the same as what it would take over from: give another agent or another model")
		}
	}
}
