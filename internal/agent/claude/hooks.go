package claude

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

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
