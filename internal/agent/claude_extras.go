package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Names of claude's extra files.
const (
	claudeMCP      = "mcp.json"
	claudeSystem   = "system.txt"
	claudeSettings = "settings.json"
	claudeHooks    = "hooks" // its text is an argument
)

// extras are files, because MCP servers and settings may hold secrets, which a
// command line would show. claude that takes its prompt as an argument stands in a
// sandbox that has none of our files: it gets all of them as arguments.
//
// The servers of mcp-config win over those of the user's files that have the same
// name. A .mcp.json of the repository is not read (seen: 2.1.329), because
// --setting-sources user leaves no way to approve it. claude itself puts variables
// of its environment for ${NAME}.
func (claude) extras(o Options) ([]extra, error) {
	if o.Exact {
		return nil, nil
	}
	args := slices.Concat(behind(o, "claude"), o.Args)
	if o.System != "" && has(args, "--append-system-prompt", "--append-system-prompt-file") {
		return nil, errors.New("append-system-prompt: agent-args have an --append-system-prompt of their own, and claude takes one; leave one of them out")
	}
	if o.Argument && o.Settings != "" && has(args, "--settings") {
		return nil, errors.New("agent-settings: agent-args have --settings of their own; where the prompt is an argument leave one of them out")
	}
	files, err := claudeFiles(o)
	if err = errors.Join(err,
		oneOf("effort", o.Effort, "low", "medium", "high", "xhigh", "max"),
		oneOf("provider", o.Provider, catalog.Of("claude").ProviderNames()...)); err != nil {
		return nil, err
	}
	var inline []extra
	if hooks, err := hookSettings(o); err != nil {
		return nil, err
	} else if hooks != "" {
		inline = []extra{{name: claudeHooks, text: hooks, inline: true}}
	}
	if !o.Argument {
		return append(files, inline...), nil
	}
	for _, f := range files {
		if len(f.text) > maxArgument {
			return nil, fmt.Errorf("%s: its %d bytes are too long for an argument (%d), and where the prompt is an argument there are no files", optionOf(f.name), len(f.text), maxArgument)
		}
	}
	return inline, nil
}

// claudeFiles are the extras with their text.
func claudeFiles(o Options) ([]extra, error) {
	var files []extra
	if o.MCP != "" {
		if _, err := mcpMembers(o); err != nil {
			return nil, err
		}
		files = append(files, extra{name: claudeMCP, text: o.MCP})
	}
	if o.System != "" {
		files = append(files, extra{name: claudeSystem, text: o.System})
	}
	if o.Settings != "" {
		all, err := allSettings(o)
		if err != nil {
			return nil, err
		}
		files = append(files, extra{name: claudeSettings, text: all})
	}
	return files, nil
}

func optionOf(file string) string {
	switch file {
	case claudeMCP:
		return "mcp-config"
	case claudeSystem:
		return "append-system-prompt"
	}
	return "agent-settings"
}

// claudeExtras are the arguments for the extras. --mcp-config takes a list, so
// its value is joined to it: what stands behind is not one more.
func claudeExtras(o Options) []string {
	var args []string
	if hooks := o.extra[claudeHooks]; hooks != "" {
		args = append(args, "--settings", hooks)
	}
	value := o.path
	system := "--append-system-prompt-file"
	if o.Argument {
		files, _ := claudeFiles(o) // New has seen the error
		value = func(name string) string {
			i := slices.IndexFunc(files, func(f extra) bool { return f.name == name })
			return files[i].text
		}
		system = "--append-system-prompt"
	}
	if o.MCP != "" {
		args = append(args, "--mcp-config="+value(claudeMCP))
	}
	if o.System != "" {
		args = append(args, system, value(claudeSystem))
	}
	if o.Settings != "" {
		args = append(args, "--settings", value(claudeSettings))
	}
	return args
}
