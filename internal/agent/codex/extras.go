package codex

import (
	"errors"
	"fmt"

	"github.com/org/ralph-action/internal/agent/driver"
)

// Extras are the scripts that start MCP servers. The other options go into the
// command line, as overrides of the configuration.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if o.Exact {
		return nil, nil
	}
	if _, err := overridesOf(o); err != nil {
		return nil, err
	}
	m, err := serversOf(o)
	return m.files, err
}

// overridesOf are the values of -c for the options, the user's settings last:
// of two for the same key codex takes the later. They do not touch the user's
// own config.toml, and go before it. developer_instructions are a message behind
// codex's own system prompt; those of config.toml give way.
func overridesOf(o driver.Options) ([]string, error) {
	var all []string
	if o.Effort != "" {
		// 0.169 passes every word on; what the model does not know is refused late, or
		// taken for medium.
		if err := driver.OneOf("effort", o.Effort, "none", "minimal", "low", "medium", "high", "xhigh"); err != nil {
			return nil, err
		}
		all = append(all, "model_reasoning_effort="+tomlString(o.Effort))
	}
	if o.System != "" {
		all = append(all, "developer_instructions="+tomlString(o.System))
	}
	provider, err := providerOverrides(o)
	if err != nil {
		return nil, err
	}
	servers, err := serversOf(o)
	if err != nil {
		return nil, err
	}
	all = append(append(all, provider...), servers.overrides...)
	if o.Settings != "" {
		settings, err := driver.JSONObject("agent-settings", o.Settings)
		if err != nil {
			return nil, err
		}
		if settings["developer_instructions"] != nil && o.System != "" {
			return nil, errors.New("agent-settings: developer_instructions are what append-system-prompt is to codex; leave one of them out")
		}
		paths, err := tomlPaths("", settings)
		if err != nil {
			return nil, fmt.Errorf("agent-settings: %w", err)
		}
		all = append(all, paths...)
	}
	for _, value := range all {
		if len(value) > driver.MaxArgument {
			return nil, fmt.Errorf("codex takes %q as an argument, and %d bytes are too long for one (%d)", driver.Clip(value, 40), len(value), driver.MaxArgument)
		}
	}
	return all, nil
}
