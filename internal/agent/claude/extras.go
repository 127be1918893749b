package claude

import (
	"errors"
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// Names of claude's extra files.
const (
	mcpFile      = "mcp.json"
	systemFile   = "system.txt"
	settingsFile = "settings.json"
	hooksExtra   = "hooks" // its text is an argument
)

// Extras are files, because MCP servers and settings may hold secrets, which a
// command line would show. claude that takes its prompt as an argument stands in a
// sandbox that has none of our files: it gets all of them as arguments.
//
// The servers of mcp-config win over those of the user's files that have the same
// name. A .mcp.json of the repository is not read (seen: 2.1.329), because
// --setting-sources user leaves no way to approve it. claude itself puts variables
// of its environment for ${NAME}.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if o.Exact {
		return nil, nil
	}
	args := driver.Given(o, "claude")
	if o.System != "" && driver.Has(args, "--append-system-prompt", "--append-system-prompt-file") {
		return nil, errors.New("append-system-prompt: agent-args have an --append-system-prompt of their own, and claude takes one; leave one of them out")
	}
	if o.Argument && o.Settings != "" && driver.Has(args, "--settings") {
		return nil, errors.New("agent-settings: agent-args have --settings of their own; where the prompt is an argument leave one of them out")
	}
	files, err := extraFiles(o)
	if err = errors.Join(err,
		driver.OneOf("effort", o.Effort, "low", "medium", "high", "xhigh", "max"),
		driver.OneOf("provider", o.Provider, catalog.Of("claude").ProviderNames()...)); err != nil {
		return nil, err
	}
	var inline []driver.Extra
	if hooks, err := hookSettings(o); err != nil {
		return nil, err
	} else if hooks != "" {
		inline = []driver.Extra{{Name: hooksExtra, Text: hooks, Inline: true}}
	}
	if !o.Argument {
		return append(files, inline...), nil
	}
	for _, f := range files {
		if len(f.Text) > driver.MaxArgument {
			return nil, fmt.Errorf("%s: its %d bytes are too long for an argument (%d), and where the prompt is an argument there are no files", optionOf(f.Name), len(f.Text), driver.MaxArgument)
		}
	}
	return inline, nil
}

// extraFiles are the extras with their text.
func extraFiles(o driver.Options) ([]driver.Extra, error) {
	var files []driver.Extra
	if o.MCP != "" {
		if _, err := driver.MCPMembers(o); err != nil {
			return nil, err
		}
		files = append(files, driver.Extra{Name: mcpFile, Text: o.MCP})
	}
	if o.System != "" {
		files = append(files, driver.Extra{Name: systemFile, Text: o.System})
	}
	if o.Settings != "" {
		all, err := allSettings(o)
		if err != nil {
			return nil, err
		}
		files = append(files, driver.Extra{Name: settingsFile, Text: all})
	}
	return files, nil
}

func optionOf(file string) string {
	switch file {
	case mcpFile:
		return "mcp-config"
	case systemFile:
		return "append-system-prompt"
	}
	return "agent-settings"
}

// extraArgs are the arguments for the extras. --mcp-config takes a list, so
// its value is joined to it: what stands behind is not one more.
func extraArgs(o driver.Options) []string {
	var args []string
	if hooks := o.Turn.Files[hooksExtra]; hooks != "" {
		args = append(args, "--settings", hooks)
	}
	value := o.Path
	system := "--append-system-prompt-file"
	if o.Argument {
		files, _ := extraFiles(o) // New has seen the error
		value = func(name string) string {
			i := slices.IndexFunc(files, func(f driver.Extra) bool { return f.Name == name })
			return files[i].Text
		}
		system = "--append-system-prompt"
	}
	if o.MCP != "" {
		args = append(args, "--mcp-config="+value(mcpFile))
	}
	if o.System != "" {
		args = append(args, system, value(systemFile))
	}
	if o.Settings != "" {
		args = append(args, "--settings", value(settingsFile))
	}
	return args
}
