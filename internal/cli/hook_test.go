package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

// hooked is what a hook answered.
type hooked struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		HookEventName, PermissionDecision, PermissionDecisionReason, AdditionalContext string
	} `json:"hookSpecificOutput"`
	line, warnings string
	took           time.Duration
}

// hookPlace is a project with an agent in it.
type hookPlace struct {
	t   *testing.T
	dir string
	env []string // besides PATH and HOME
}

func newHookPlace(t *testing.T) *hookPlace {
	t.Helper()
	return &hookPlace{t: t, dir: t.TempDir()}
}

// write makes a file; "" for its text makes none.
func (p *hookPlace) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if text == "" {
		return path
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *hookPlace) git(args ...string) {
	p.t.Helper()
	c := exec.Command("git", append([]string{"-C", p.dir, "-c", "core.fsmonitor=false", "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// hook runs the real binary. It fails the test unless the exit code is 0 and
// standard output one line of JSON.
func (p *hookPlace) hook(stdin string, words ...string) hooked {
	p.t.Helper()
	c := exec.Command(os.Args[0])
	c.Args = append([]string{"ralph", "hook"}, words...)
	c.Dir, c.Stdin = p.dir, strings.NewReader(stdin)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0"}, p.env...)
	var out, warnings bytes.Buffer
	c.Stdout, c.Stderr = &out, &warnings
	began := time.Now()
	if err := c.Run(); err != nil {
		p.t.Fatalf("ralph hook %q: %v\n%s", words, err, warnings.String())
	}
	answer := hooked{line: out.String(), warnings: warnings.String(), took: time.Since(began)}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || strings.Count(answer.line, "\n") != 1 {
		p.t.Fatalf("ralph hook %q answers %q, want one line of JSON (%v)", words, answer.line, err)
	}
	return answer
}

const approve = `{"decision":"approve"}` + "\n"

// stopInput is a stop of a session.
func stopInput(session, transcript, last string) string {
	in, err := json.Marshal(map[string]any{
		"session_id": session, "transcript_path": transcript, "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": last,
	})
	if err != nil {
		panic(err)
	}
	return string(in)
}

// Whatever a hook is given, it exits with 0, answers with one line of JSON, lets
// the agent go on and says what was wrong.
func TestHookBadInput(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.write(".ralph-active", "{}") // else a stop has nothing to say
	warn := map[string]string{
		"empty": "", "white space": " \n", "garbage": "\x00\xff{", "no object": "[1]", "cut": `{"session_id": "s`,
		"long": `{"x": "` + strings.Repeat("x", 2<<20) + `"}`, "deep": strings.Repeat("[", 100_000),
	}
	for name, stdin := range warn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for command, event := range hook.Commands() {
				got := p.hook(stdin, command)
				if want := string(hook.Answer{Event: event}.JSON()); got.line != want || !strings.HasPrefix(got.warnings, "ralph hook: ") {
					t.Errorf("%s: %s%s, want %s and a warning", command, got.line, got.warnings, want)
				}
			}
		})
	}
	for _, words := range [][]string{nil, {"end"}, {"stop", "--sesion", "x"}, {"--bogus", "stop"}, {"stop", "--session"}, {"stop", "stop"}, {"post-tool-use", "--session", "x"}} {
		if got := p.hook(`{"session_id": "s"}`, words...); got.Decision == "block" || got.warnings == "" {
			t.Errorf("ralph hook %q = %s%s, want a warning", words, got.line, got.warnings)
		}
	}
}

// Input that never comes, and a standard output or input that is closed, hold
// nobody up.
func TestHookStreams(t *testing.T) {
	t.Parallel()
	silent, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = silent.Close(), keep.Close() })
	for name, line := range map[string]string{
		"input never comes": `exec ralph hook stop`, "input is closed": `exec ralph hook stop <&-`,
		"output is closed": `exec ralph hook stop </dev/null >&-`, "everything is closed": `exec ralph hook stop <&- >&- 2>&-`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command("sh", "-c", line)
			c.Dir, c.Stdin = t.TempDir(), silent
			began := time.Now()
			out, err := c.Output()
			if err != nil || strings.Contains(line, ">&-") == (string(out) == approve) {
				t.Errorf("%s = %q, %v after %s", line, out, err, time.Since(began))
			}
		})
	}
}

// A forged marker of any kind does no more than have the list checked.
func TestHookForgedMarker(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"garbage":      func(path string) error { return os.WriteFile(path, []byte("\x00{"), 0o644) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":       func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a pipe":       func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"huge":         func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40)) },
		"another list": func(path string) error { return os.WriteFile(path, []byte(`{"ralphDir": "../../etc"}`), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newHookPlace(t)
			if err := plant(filepath.Join(p.dir, ".ralph-active")); err != nil {
				t.Fatal(err)
			}
			good := []hookStory{{"", "false null 0", ""}}
			p.write("ralph/tasks.json", hookList(good))
			if got := p.hook(stopInput("s", "", ""), "stop"); got.line != approve || !strings.Contains(got.warnings, ".ralph-active") {
				t.Errorf("a good list: %s%s", got.line, got.warnings)
			}
			p.write("ralph/tasks.json", hookList([]hookStory{{"", "true null 0", ""}}))
			if got := p.hook(stopInput("s", "", ""), "stop"); got.Decision != "block" {
				t.Errorf("003-23 a bad list: %s%s", got.line, got.warnings)
			}
		})
	}
}

// 003-16 through the real binary, which keeps its state in /tmp.
func TestHookContext(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.env = []string{"CLAUDE_CONTEXT_WINDOW=1000"}
	transcript := p.write("t.jsonl", strings.Repeat("x", 3000))
	session := "ralph-test-" + rand.Text()
	state := "/tmp/claude-context-alerts-" + session
	t.Cleanup(func() { _ = os.Remove(state) })
	in := func(session, source string) string {
		return fmt.Sprintf(`{"session_id": %q, "transcript_path": %q, "tool_name": "Read", "source": %q}`, session, transcript, source)
	}
	for i, want := range []string{"WARNING: about 75% of the context window", ""} {
		if got := p.hook(in(session, ""), "post-tool-use"); !strings.HasPrefix(got.Specific.AdditionalContext, want) || want == "" && got.line != "{}\n" || got.warnings != "" {
			t.Errorf("call %d: %s%s, want %q", i+1, got.line, got.warnings, want)
		}
	}
	if got := p.hook(in(session, "startup"), "session-start"); got.line != "{}\n" || got.warnings != "" {
		t.Errorf("session-start: %s%s", got.line, got.warnings)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("003-16: session-start left the state")
	}
	// What somebody planted there is not followed.
	other := p.write("other", "keep")
	if err := os.Symlink(other, state); err != nil {
		t.Fatal(err)
	}
	if got := p.hook(in(session, ""), "post-tool-use"); got.line != "{}\n" || got.warnings == "" {
		t.Errorf("a link in /tmp: %s%s", got.line, got.warnings)
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "keep" {
		t.Errorf("the file behind the link = %q, %v", data, err)
	}
	p.env = []string{"CLAUDE_CONTEXT_WINDOW=lots"}
	for _, id := range []string{"../../etc/x", "", strings.Repeat("a", 300), "a/b"} {
		if got := p.hook(in(id, ""), "post-tool-use"); got.line != "{}\n" || !strings.Contains(got.warnings, "CLAUDE_CONTEXT_WINDOW") {
			t.Errorf("session %q: %s%s", id, got.line, got.warnings)
		}
	}
}

// The guard through the real binary: it knows the home and the project.
func TestHookGuard(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.git("init", "-q")
	p.write("sub/x", "x")
	for command, kind := range map[string]string{
		"go test ./...": "", "rm -rf build": "", "rm -rf .git": "delete-repository", "rm -rf ~": "delete-home", "rm -rf /": "delete-system", "cd .. && rm -rf .git": "",
	} {
		in := fmt.Sprintf(`{"session_id": "s", "cwd": %q, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": %q}}`, p.dir, command)
		got := p.hook(in, "pre-tool-use")
		if kind == "" && got.line != "{}\n" || kind != "" && (got.Specific.PermissionDecision != "deny" || !strings.Contains(got.Specific.PermissionDecisionReason, kind)) {
			t.Errorf("%s: %s, want %q", command, got.line, kind)
		}
	}
}

// Two hooks of one session take turns: no stop is lost.
func TestHookTurns(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	s := hook.NewSession("paint", "DONE", 100, time.Time{})
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := p.write("state.json", string(data))
	const stops = 8
	var wait sync.WaitGroup
	for range stops {
		wait.Go(func() { p.hook(stopInput("s", "", "no"), "stop", "--session", file) })
	}
	wait.Wait()
	data, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = hook.DecodeSession(data); err != nil || s.Iteration != stops {
		t.Errorf("iteration %d after %d stops (%v)", s.Iteration, stops, err)
	}
	log, err := os.ReadFile(file + ".log")
	if err != nil || strings.Count(string(log), "\n") != stops {
		t.Errorf("log = %q, %v", log, err)
	}
	entries, _ := os.ReadDir(p.dir)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "tmp-") }) {
		t.Errorf("something was left behind: %v", entries)
	}
}
