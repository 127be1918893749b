package agent

import (
	"errors"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
)

// amp is Amp, @sourcegraph/amp 0.0.17. Its server cannot be stood in for, so
// only its command line and its failures before a login were ever seen; its
// stream is documented to be that of claude.
type amp struct{}

// argv asks for one unattended turn. -x takes the prompt from stdin when it
// stands last.
func (amp) argv(o Options, p ralph.Prompt) []string {
	ours := []option{{names: []string{"-x", "--execute", "--dangerously-allow-all", "--stream-json"}}}
	if o.Plain {
		ours = append(ours, option{names: []string{"--stream-json-thinking", "--stream-json-input"}})
	}
	argv, args := program(o, "amp", ours...), strip(o.Args, ours...)
	n := len(argv)
	argv = append(argv, args...)
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

func (amp) environ(o Options) []string { return without(o.Env, "CLAUDECODE") }

func (amp) credentials() (keys, providers []string) {
	return []string{"AMP_API_KEY"}, []string{"AMP_URL", "AMP_SETTINGS_FILE"}
}

// ready wants a key or a login: without them amp waits for a code from a
// browser.
func (amp) ready(o Options) error {
	if hasKey(o, amp{}) || holds(inHome(o, ".local", "share", "amp"), "secrets.json") {
		return nil
	}
	return errors.New("no credentials: set AMP_API_KEY, or log in with amp first")
}

func (amp) extras(Options) ([]extra, error) { return nil, nil }

func (amp) merged(Options) bool { return false }

func (amp) ways(Options) ways { return ways{resume: true} }

func (amp) decoder(_ Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	return newClaudeDecoder("amp", emit, finished)
}
