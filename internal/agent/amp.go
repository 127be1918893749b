package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// amp is Amp, @sourcegraph/amp 0.0.17. Its server cannot be stood in for, so
// only its command line and its failures before a login were ever seen; its
// stream is documented to be that of claude.
type amp struct{ base }

// argv asks for one unattended turn. -x takes the prompt from stdin when it
// stands last.
func (amp) argv(o Options, p ralph.Prompt) []string {
	ours := []option{{names: []string{"-x", "--execute", "--dangerously-allow-all", "--stream-json"}}}
	if o.Plain {
		ours = append(ours, option{names: []string{"--stream-json-thinking", "--stream-json-input"}})
	}
	if o.Settings != "" {
		ours = append(ours, option{names: []string{"--settings-file"}, value: true})
	}
	argv, args := program(o, "amp", ours...), strip(o.Args, ours...)
	n := len(argv)
	argv = append(argv, args...)
	if o.MCP != "" {
		argv = append(argv, "--mcp-config", o.path(ampMCP))
	}
	if o.Settings != "" {
		argv = append(argv, "--settings-file", o.path(ampSettings))
	}
	if !o.Plain {
		argv = append(argv, "--stream-json")
	}
	return amp{}.resumed(append(argv, "--dangerously-allow-all", "-x"), n, p.Resume)
}

// resumed takes the words of amp's own --help. 0.0.1790142911 accepts them with
// the rest; a session that goes on was never seen.
func (amp) resumed(argv []string, n int, session string) []string {
	own := func(arg string) bool { return slices.Contains([]string{"threads", "thread", "t", "last"}, arg) }
	if session == "" || slices.ContainsFunc(argv[n:], own) {
		return argv
	}
	return slices.Insert(argv, n, "threads", "continue", session)
}

func (amp) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	if o.BaseURL != "" && !o.Exact {
		env = append(without(env, "AMP_URL"), "AMP_URL="+o.BaseURL)
	}
	return env
}

// ready wants a key or a login: without them amp waits for a code from a
// browser.
func (amp) ready(o Options) error {
	if hasKey(o, "amp") || holds(inHome(o, ".local", "share", "amp"), "secrets.json") {
		return nil
	}
	return errors.New("no credentials: set AMP_API_KEY, or log in with amp first")
}

// Names of amp's extra files.
const (
	ampMCP      = "mcp.json"
	ampSettings = "settings.json"
)

// extras are files. --mcp-config takes the servers without a mcpServers around
// them (tried: 0.0.1790142911), and goes before those of the user's settings.
// --settings-file takes the place of the user's file, so what stands there comes
// along, below agent-settings.
func (amp) extras(o Options) (files []extra, err error) {
	if o.Model != "" {
		return nil, errors.New("model has no effect: amp chooses it by a mode; give --mode in agent-args")
	}
	if o.Exact {
		return nil, nil
	}
	err = errors.Join(
		refuse("effort", o.Effort, "amp chooses model and effort by a mode; give --mode low, medium, high or ultra in agent-args"),
		refuse("provider", o.Provider, "amp asks its own server only; base-url is its address"))
	if err != nil {
		return nil, err
	}
	if o.MCP != "" {
		servers, err := mcpMembers(o)
		if err != nil {
			return nil, err
		}
		text, err := plainJSON(servers)
		if err != nil {
			return nil, err
		}
		files = append(files, extra{name: ampMCP, text: string(text)})
	}
	if o.Settings != "" {
		text, err := ampAllSettings(o)
		if err != nil {
			return nil, err
		}
		files = append(files, extra{name: ampSettings, text: text})
	}
	return files, nil
}

// ampAllSettings are agent-settings above those of the user's file.
func ampAllSettings(o Options) (string, error) {
	settings, err := jsonObject("agent-settings", o.Settings)
	if err != nil {
		return "", err
	}
	path := firstOf(value(o.Args, "--settings-file"), lookup(o.Env, "AMP_SETTINGS_FILE"), inHome(o, ".config", "amp", "settings.json"))
	if path != "" {
		read := readSettings
		if home := lookup(o.Env, "HOME"); inside(home, path) && !inside(o.Dir, path) {
			read = func(string, string) ([]byte, error) { return readConfig(o, path) }
		}
		b, err := read(o.Dir, path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("agent-settings: amp's own settings: %w", err)
		default:
			own, err := jsonObject("settings of amp", string(b))
			if err != nil {
				return "", fmt.Errorf("agent-settings: amp's own settings %q are no plain JSON object, so nothing can be added to them; take out the comments", clip(path, maxName))
			}
			if settings, err = merge(own, settings); err != nil {
				return "", fmt.Errorf("agent-settings: %w", err)
			}
		}
	}
	text, err := plainJSON(settings)
	return string(text), err
}

func (amp) ways(Options) ways { return ways{} }

func (amp) decoder(o Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newClaudeDecoder("amp", emit, finished)
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hintsOf(o, "AMP_API_KEY")
	return d
}

func (amp) hosts(o Options) []string {
	return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "AMP_URL"), catalog.Of("amp").Address))
}
