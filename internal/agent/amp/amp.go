// Package amp drives Amp.
package amp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/streamjson"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is Amp, @sourcegraph/amp 0.0.17. Its server cannot be stood in for, so
// only its command line and its failures before a login were ever seen; its
// stream is documented to be that of claude.
type Driver struct{ driver.Base }

// Argv asks for one unattended turn. -x takes the prompt from stdin when it
// stands last.
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{{Names: []string{"-x", "--execute", "--dangerously-allow-all", "--stream-json"}}}
	if o.Plain {
		ours = append(ours, driver.Option{Names: []string{"--stream-json-thinking", "--stream-json-input"}})
	}
	if o.Settings != "" {
		ours = append(ours, driver.Option{Names: []string{"--settings-file"}, Value: true})
	}
	argv, args := driver.Program(o, "amp", ours...), driver.Strip(o.Args, ours...)
	n := len(argv)
	argv = append(argv, args...)
	if o.MCP != "" {
		argv = append(argv, "--mcp-config", o.Path(mcpFile))
	}
	if o.Settings != "" {
		argv = append(argv, "--settings-file", o.Path(settingsFile))
	}
	if !o.Plain {
		argv = append(argv, "--stream-json")
	}
	return Driver{}.Resume(append(argv, "--dangerously-allow-all", "-x"), n, p.Resume)
}

// Resume takes the words of amp's own --help. 0.0.1790142911 accepts them with
// the rest; a session that goes on was never seen.
func (Driver) Resume(argv []string, n int, session string) []string {
	own := func(arg string) bool { return slices.Contains([]string{"threads", "thread", "t", "last"}, arg) }
	if session == "" || slices.ContainsFunc(argv[n:], own) {
		return argv
	}
	return slices.Insert(argv, n, "threads", "continue", session)
}

// Environ is the child's environment with what the CLI needs.
func (Driver) Environ(o driver.Options) []string {
	env := driver.Without(o.Env, "CLAUDECODE")
	if o.BaseURL != "" && !o.Exact {
		env = driver.Set(env, "AMP_URL", o.BaseURL)
	}
	return env
}

// Ready wants a key or a login: without them amp waits for a code from a
// browser.
func (Driver) Ready(o driver.Options) error {
	if driver.HasKey(o, "amp") || driver.Holds(driver.InHome(o, ".local", "share", "amp"), "secrets.json") {
		return nil
	}
	return errors.New("no credentials: set AMP_API_KEY, or log in with amp first")
}

// Names of amp's extra files.
const (
	mcpFile      = "mcp.json"
	settingsFile = "settings.json"
)

// Extras are files. --mcp-config takes the servers without a mcpServers around
// them (tried: 0.0.1790142911), and goes before those of the user's settings.
// --settings-file takes the place of the user's file, so what stands there comes
// along, below agent-settings.
func (Driver) Extras(o driver.Options) (files []driver.Extra, err error) {
	if o.Model != "" {
		return nil, errors.New("model has no effect: amp chooses it by a mode; give --mode in agent-args")
	}
	if o.Exact {
		return nil, nil
	}
	err = errors.Join(
		driver.Refuse("effort", o.Effort, "amp chooses model and effort by a mode; give --mode low, medium, high or ultra in agent-args"),
		driver.Refuse("provider", o.Provider, "amp asks its own server only; base-url is its address"))
	if err != nil {
		return nil, err
	}
	if o.MCP != "" {
		servers, err := driver.MCPMembers(o)
		if err != nil {
			return nil, err
		}
		text, err := driver.EncodeJSON(servers)
		if err != nil {
			return nil, err
		}
		files = append(files, driver.Extra{Name: mcpFile, Text: string(text)})
	}
	if o.Settings != "" {
		text, err := allSettings(o)
		if err != nil {
			return nil, err
		}
		files = append(files, driver.Extra{Name: settingsFile, Text: text})
	}
	return files, nil
}

// allSettings are agent-settings above those of the user's file.
func allSettings(o driver.Options) (string, error) {
	settings, err := driver.JSONObject("agent-settings", o.Settings)
	if err != nil {
		return "", err
	}
	path := cmp.Or(driver.Value(o.Args, "--settings-file"), driver.Lookup(o.Env, "AMP_SETTINGS_FILE"), driver.InHome(o, ".config", "amp", "settings.json"))
	if path != "" {
		read := driver.ReadSettings
		if home := driver.Lookup(o.Env, "HOME"); driver.Inside(home, path) && !driver.Inside(o.Dir, path) {
			read = func(string, string) ([]byte, error) { return driver.ReadConfig(o, path) }
		}
		b, err := read(o.Dir, path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("agent-settings: amp's own settings: %w", err)
		default:
			own, err := driver.JSONObject("settings of amp", string(b))
			if err != nil {
				return "", fmt.Errorf("agent-settings: amp's own settings %q are no plain JSON object, so nothing can be added to them; take out the comments", driver.Clip(path, driver.MaxName))
			}
			driver.Join(own, settings)
			settings = own
		}
	}
	text, err := driver.EncodeJSON(settings)
	return string(text), err
}

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := streamjson.New("amp", emit, finished)
	d.Attach(o, driver.HintsOf(o, "AMP_API_KEY"))
	return d
}

// Hosts are those of the API that the options choose.
func (Driver) Hosts(o driver.Options) []string {
	return driver.HostsOf(cmp.Or(o.BaseURL, driver.Lookup(o.Env, "AMP_URL"), catalog.Of("amp").Address))
}
