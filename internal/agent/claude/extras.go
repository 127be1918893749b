package claude

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// hookMatcher is which tools an event's hook is for; ok says whether the event
// is one we install a hook for.
func hookMatcher(event string) (matcher string, ok bool) {
	switch event {
	case "PreToolUse":
		return "Bash", true
	case "PostToolUse":
		return ".*", true
	case "SessionStart", "Stop":
		return "", true
	}
	return "", false
}

// hookGroup is an entry of an event in claude's settings.
type hookGroup struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// hookSettings is the value of claude's --settings: the hooks, and what the
// user's own --settings hold. With agent-settings all of it stands in a file, see
// [Driver.Extras], and without hooks the value is empty.
func hookSettings(o driver.Options) (string, error) {
	if len(o.Hooks) == 0 || o.Settings != "" {
		return "", nil
	}
	all, err := allSettings(o)
	if err == nil && len(all) > driver.MaxArgument {
		return "", fmt.Errorf("agent-args: --settings: with the hooks they are %d bytes, which are too long for an argument (%d)", len(all), driver.MaxArgument)
	}
	return all, err
}

// allSettings are agent-settings, above them the user's own --settings, and the
// hooks. They have to be one, because of several --settings claude (seen: 2.1.197,
// 2.1.329) takes the last and drops the others without a word. Hooks of the
// user's own for the same event stay, in front of ours.
func allSettings(o driver.Options) (string, error) {
	args := driver.Given(o, "claude")
	if off := []string{"--bare", "--safe-mode"}; len(o.Hooks) > 0 && driver.Has(args, off...) {
		return "", errors.New("agent-args: --bare and --safe-mode turn off the hooks this run needs; leave them out")
	}
	settings, err := ownSettings(o.Dir, args)
	if err != nil {
		return "", err
	}
	if err := hooksOn(o, "agent-args: --settings", settings); err != nil {
		return "", err
	}
	if o.Settings != "" {
		below, err := driver.JSONObject("agent-settings", o.Settings)
		if err != nil {
			return "", err
		}
		if err := hooksOn(o, "agent-settings", below); err != nil {
			return "", err
		}
		driver.Join(below, settings)
		settings = below
	}
	if err := addHooks(settings, o.Hooks); err != nil {
		return "", err
	}
	all, err := driver.EncodeJSON(settings)
	return string(all), err
}

// hooksOn refuses settings that turn off the hooks of this run, or whose own are
// in a form ours cannot be added to.
func hooksOn(o driver.Options, from string, settings map[string]any) error {
	if len(o.Hooks) == 0 {
		return nil
	}
	if settings["disableAllHooks"] == true {
		return fmt.Errorf("%s: disableAllHooks turns off the hooks this run needs; leave it out", from)
	}
	own, there := settings["hooks"]
	hooks, ok := own.(map[string]any)
	for _, list := range hooks {
		_, isList := list.([]any)
		ok = ok && (isList || list == nil)
	}
	if there && !ok {
		return fmt.Errorf(`%s: "hooks" must be an object with a list for each event`, from)
	}
	return nil
}

// addHooks puts our hooks behind the user's own, which [hooksOn] has looked at.
func addHooks(settings map[string]any, ours map[string]string) error {
	if len(ours) == 0 {
		return nil
	}
	hooks, _ := settings["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
		settings["hooks"] = hooks
	}
	for event, command := range ours {
		matcher, ok := hookMatcher(event)
		if !ok || command == "" {
			return fmt.Errorf("agent: no hook %q with the command %q", event, command)
		}
		own, _ := hooks[event].([]any)
		hooks[event] = append(own, hookGroup{matcher, []hookCommand{{"command", command}}})
	}
	return nil
}

// ownSettings are the user's: JSON, or a file that holds it, relative to dir.
func ownSettings(dir string, args []string) (map[string]any, error) {
	if !driver.Has(args, "--settings") {
		return map[string]any{}, nil
	}
	const want = "must be a JSON object or a file that holds one"
	text := strings.TrimSpace(driver.Value(args, "--settings"))
	if text == "" {
		return nil, errors.New("agent-args: --settings: is empty; it " + want)
	}
	b, from := []byte(text), ""
	if text[0] != '{' {
		var err error
		if b, err = driver.ReadSettings(dir, text); err != nil {
			return nil, fmt.Errorf("agent-args: --settings: %w; it %s", err, want)
		}
		from = fmt.Sprintf(" %q", driver.Clip(text, driver.MaxName))
	}
	settings, err := driver.DecodeJSON(string(b))
	if err != nil {
		return nil, fmt.Errorf("agent-args: --settings%s: is no JSON object; it %s", from, want)
	}
	return settings, nil
}
