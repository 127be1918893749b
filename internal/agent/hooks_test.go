package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/claude"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// ourHooks are one of each kind.
func ourHooks() map[string]string {
	return map[string]string{
		"Stop": "'/opt/ralph' hook stop", "PreToolUse": "'/opt/ralph' hook pre-tool-use",
		"PostToolUse": "'/opt/ralph' hook post-tool-use <&0 && true", "SessionStart": "'/opt/ralph' hook session-start",
	}
}

const ourSettings = `{"hooks":{` +
	`"PostToolUse":[{"matcher":".*","hooks":[{"type":"command","command":"'/opt/ralph' hook post-tool-use <&0 && true"}]}],` +
	`"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"'/opt/ralph' hook pre-tool-use"}]}],` +
	`"SessionStart":[{"hooks":[{"type":"command","command":"'/opt/ralph' hook session-start"}]}],` +
	`"Stop":[{"hooks":[{"type":"command","command":"'/opt/ralph' hook stop"}]}]}}`

// settings are the values of --settings on a command line.
func settings(argv []string) (values []string) {
	for i, arg := range argv {
		if arg == "--settings" {
			values = append(values, argv[i+1])
		} else if v, ok := strings.CutPrefix(arg, "--settings="); ok {
			values = append(values, v)
		}
	}
	return values
}

// The hooks go into one --settings, and into no file. // 003-16, 003-17
func TestHooksArgv(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    Options
		want []string
	}{
		{"claude", Options{Name: "claude", Hooks: ourHooks()}, []string{ourSettings}},
		{"text mode", Options{Name: "claude", Plain: true, Hooks: ourHooks()}, []string{ourSettings}},
		{"none", Options{Name: "claude", Args: []string{"--settings", "x.json"}}, []string{"x.json"}},
		{"exact arguments", Options{Name: "claude", Exact: true, ExactArgs: []string{"-p"}, Hooks: ourHooks()}, nil},
		{"codex", Options{Name: "codex", Hooks: ourHooks()}, nil},
		{"amp", Options{Name: "amp", Hooks: ourHooks()}, nil},
		{"cline", Options{Name: "cline", Hooks: ourHooks()}, nil},
	} {
		o := tt.o
		o.Process, o.Dir = noProcess{}, t.TempDir()
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := settings(c.Argv(ralph.Prompt{})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: --settings =\n%q\nwant\n%q", tt.name, got, tt.want)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v were written", tt.name, left, err)
		}
	}
	for _, name := range append(Known(), "") {
		if got := catalog.Of(name).Hooks; got != (name == "claude") {
			t.Errorf("Hooks of %q = %v", name, got)
		}
	}
}

// Several --settings are one to claude, the last, so the user's own and ours
// become one.
func TestHooksMerged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "ci.json")
	if err := os.WriteFile(file, []byte("\n{\"model\": \"opus\", \"big\": 12345678901234567890}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(outside, []byte(`{"env":{"A":"<b>"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const stop = `"hooks":{"Stop":[{"hooks":[{"type":"command","command":"s"}]}]}`
	for _, tt := range []struct {
		name    string
		command []string
		args    []string
		want    string
	}{
		{"JSON", nil, []string{"--settings", ` {"permissions":{"deny":["Bash(rm *)"]}} `}, `{` + stop + `,"permissions":{"deny":["Bash(rm *)"]}}`},
		{"joined", nil, []string{`--settings={"a":1}`}, `{"a":1,` + stop + `}`},
		{"a file of the workspace", nil, []string{"--settings", "ci.json"}, `{"big":12345678901234567890,` + stop + `,"model":"opus"}`},
		{"the same by its whole path", nil, []string{"--settings", file}, `{"big":12345678901234567890,` + stop + `,"model":"opus"}`},
		{"a file elsewhere", nil, []string{"--settings", outside}, `{"env":{"A":"<b>"},` + stop + `}`},
		{"the last of several, as claude has it", nil, []string{"--settings", `{"a":1}`, "--settings", `{"b":2}`}, `{"b":2,` + stop + `}`},
		{"in the command", []string{"npx", "claude", "--settings", `{"a":1}`}, nil, `{"a":1,` + stop + `}`},
		{"another program's", []string{"env", "--settings", "x", "claude"}, nil, `{` + stop + `}`},
		{"behind --", nil, []string{"--", "--settings", "x"}, `{` + stop + `}`},
		{"hooks of the user's own", nil, []string{"--settings", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}],"Notification":[]}}`},
			`{"hooks":{"Notification":[],"Stop":[{"hooks":[{"command":"mine","type":"command"}]},{"hooks":[{"type":"command","command":"s"}]}]}}`},
		{"no hooks of the user's own", nil, []string{"--settings", `{"hooks":{},"disableAllHooks":false}`}, `{"disableAllHooks":false,` + stop + `}`},
	} {
		c, err := New(Options{Name: "claude", Command: tt.command, Args: tt.args, Hooks: map[string]string{"Stop": "s"}, Dir: dir, Process: noProcess{}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := settings(c.Argv(ralph.Prompt{}))
		i := slices.Index(got, tt.want)
		if i < 0 || !json.Valid([]byte(got[i])) {
			t.Errorf("%s: --settings = %q, want %s", tt.name, got, tt.want)
		}
		if n := len(got); n > 1 && tt.name != "another program's" && tt.name != "behind --" {
			t.Errorf("%s: %d times --settings: %q", tt.name, n, got)
		}
	}
}

// What cannot be merged, and what would turn the hooks off, is refused before
// anything runs.
func TestHooksRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(elsewhere, []byte(`{"token":"t"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("list.json", "[]")
	write("null.json", "null")
	write("half.json", `{"a":`)
	write("giant.json", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`)
	write("long.json", `{"a":"`+strings.Repeat("x", driver.MaxArgument)+`"}`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--settings", "absent.json"}, "agent-args: --settings: "},
		{[]string{"--settings", "absent.json"}, "must be a JSON object or a file that holds one"},
		{[]string{"--settings"}, "agent-args: --settings: is empty"},
		{[]string{"--settings="}, "agent-args: --settings: is empty"},
		{[]string{"--settings", "list.json"}, `--settings "list.json": is no JSON object`},
		{[]string{"--settings", "null.json"}, `--settings "null.json": is no JSON object`},
		{[]string{"--settings", "half.json"}, `--settings "half.json": is no JSON object`},
		{[]string{"--settings", `{"a":`}, "--settings: is no JSON object"},
		{[]string{"--settings", "link.json"}, "link.json"},
		{[]string{"--settings", filepath.Join(dir, "link.json")}, "link.json"},
		{[]string{"--settings", "pipe.json"}, `"pipe.json" is no regular file`},
		{[]string{"--settings", "."}, `"." is no regular file`},
		{[]string{"--settings", "giant.json"}, "has more than 1048576 bytes"},
		{[]string{"--settings", "long.json"}, "too long for an argument (102400)"},
		{[]string{"--settings", `{"hooks":[]}`}, `"hooks" must be an object with a list for each event`},
		{[]string{"--settings", `{"hooks":null}`}, `"hooks" must be an object`},
		{[]string{"--settings", `{"hooks":{"Stop":{}}}`}, `"hooks" must be an object`},
		{[]string{"--settings", `{"disableAllHooks":true}`}, "disableAllHooks turns off the hooks"},
		{[]string{"--bare"}, "--bare and --safe-mode turn off the hooks"},
		{[]string{"--safe-mode"}, "--bare and --safe-mode turn off the hooks"},
	} {
		o := Options{Name: "claude", Args: tt.args, Hooks: map[string]string{"Stop": "s"}, Dir: dir, Process: noProcess{}}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("New with %q and hooks = %v, want it to say %q", tt.args, err, tt.want)
		}
		o.Hooks = nil
		if _, err := New(o); err != nil {
			t.Errorf("New with %q and no hooks = %v", tt.args, err)
		}
	}
	for _, hooks := range []map[string]string{{"Stopp": "s"}, {"SubagentStop": "s"}, {"Stop": ""}} {
		if _, err := New(Options{Name: "claude", Hooks: hooks, Process: noProcess{}}); err == nil {
			t.Errorf("New with the hooks %q = nil, want an error", hooks)
		}
	}
}

// A stop hook may keep claude going more often than the eight times in a row
// it allows by itself, unless the user said how often. // 004-05
func TestStopHookCap(t *testing.T) {
	t.Parallel()
	stop := map[string]string{"Stop": "s"}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"a stop hook", Options{Hooks: stop}, "1000000"},
		{"a stop hook, and the variable is empty", Options{Hooks: stop, Env: []string{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="}}, "1000000"},
		{"the user's own", Options{Hooks: stop, Env: []string{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=12"}}, "12"},
		{"another hook", Options{Hooks: map[string]string{"PreToolUse": "s"}}, ""},
		{"no hook", Options{}, ""},
		{"exact arguments", Options{Hooks: stop, Exact: true}, ""},
	} {
		if got := driver.Lookup(claude.Driver{}.Environ(tt.o), "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"); got != tt.want {
			t.Errorf("%s: %s = %q, want %q", tt.name, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", got, tt.want)
		}
	}
}
