package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

// hookAgent is an agent session and its transcript.
type hookAgent struct {
	*hookPlace
	id, transcript string
	lines          int
}

func newHookAgent(p *hookPlace, id string) *hookAgent {
	return &hookAgent{hookPlace: p, id: id, transcript: p.write("transcripts/"+id+".jsonl", "{}\n")}
}

// entry adds a line as claude 2.1.197 writes it.
func (a *hookAgent) entry(kind string, block map[string]string) {
	a.t.Helper()
	a.lines++
	line, err := json.Marshal(map[string]any{
		"type": kind, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "uuid": fmt.Sprint(a.id, a.lines), "isSidechain": false,
		"message": map[string]any{"id": fmt.Sprint("msg_", a.lines), "role": kind, "model": "m", "content": []any{block}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	f, err := os.OpenFile(a.transcript, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		a.t.Fatal(err)
	}
}

func (a *hookAgent) works() {
	a.entry("assistant", map[string]string{"type": "tool_use", "id": fmt.Sprint("toolu_", a.lines), "name": "Bash"})
}

// stops says something and wants to end.
func (a *hookAgent) stops(says string, words ...string) hooked {
	a.t.Helper()
	a.entry("assistant", map[string]string{"type": "text", "text": says})
	return a.hook(stopInput(a.id, a.transcript, says), append([]string{"stop"}, words...)...)
}

// giveState makes the file of a loop.
func (p *hookPlace) giveState(name string, s hook.Session) string {
	p.t.Helper()
	data, err := s.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	return p.write(name, string(data))
}

func (p *hookPlace) state(path string) hook.Session {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := hook.DecodeSession(data)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

const (
	donePromise   = "<promise>DONE</promise>"
	missingText   = "You attempted to end the loop, but you did not output the completion promise <promise>DONE</promise>. Continue working on the original task below. Only output the promise when the task is fully complete. Original task: paint the fence"
	rejectedText  = "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise. Original task: paint the fence"
	ultraworkText = "ULTRA"
)

// The acceptance tests of seed 004 through the real binary: what each stop is
// answered, the status, and the log.
// 004-01, 004-02, 004-04, 004-05, 004-06, 004-07, 004-09, 004-11, 004-12
func TestHookSession(t *testing.T) {
	t.Parallel()
	type stop struct {
		works bool
		says  string
		want  string // the reason of a block; empty: approved
	}
	for _, tc := range []struct {
		name   string
		change func(*hook.Session)
		stops  []stop
		status hook.Status
		log    string // the last line
	}{
		{"1 stops on the promise", nil, []stop{{true, donePromise, ""}}, hook.PromiseAccepted,
			`{"iteration":1,"promise":"found","why":"after 1 tool calls","status":"PROMISE_ACCEPTED"}`},
		{"2 goes on without", nil, []stop{{true, "I'm done", missingText}}, "",
			`{"iteration":1,"promise":"missing","why":"the completion promise was not output"}`},
		{"3 ends at its limit", func(s *hook.Session) { s.MaxIterations = 3 }, []stop{{true, "a", missingText}, {true, "b", missingText}, {true, "c", ""}}, hook.MaxIterationsReached,
			`{"iteration":3,"promise":"missing","why":"the completion promise was not output","status":"MAX_ITERATIONS_REACHED"}`},
		{"4 rejects a bypass", nil, []stop{{false, donePromise, rejectedText}}, hook.PromiseRejected,
			`{"iteration":1,"promise":"rejected","why":"too little work (bypass): 0 tool calls, 1 needed","status":"PROMISE_REJECTED"}`},
		{"5 sees it in the final message", nil, []stop{{true, "no", missingText}, {false, "All is well.\n```\n" + donePromise + "\n```", ""}}, hook.PromiseAccepted,
			`{"iteration":2,"promise":"found","why":"after 1 tool calls","status":"PROMISE_ACCEPTED"}`},
		{"work after a bypass", nil, []stop{{false, donePromise, rejectedText}, {true, "no", missingText}, {false, donePromise, ""}}, hook.PromiseAccepted, `"promise":"found"`},
		{"accepts without work when told", func(s *hook.Session) { s.OnPromiseNoWork = hook.Accept }, []stop{{false, donePromise, ""}}, hook.PromiseAccepted, `"promise":"found"`},
		{"wants more work when told", func(s *hook.Session) { s.MinToolCalls = 2 }, []stop{{true, donePromise, rejectedText}}, hook.PromiseRejected, `too little work (bypass): 1 tool calls, 2 needed`},
		{"no variants", nil, []stop{{true, "<promise>done</promise> <promise> DONE </promise> <Promise>DONE</Promise>", missingText}}, "", `"promise":"missing"`},
		{"ultrawork", func(s *hook.Session) { s.Ultrawork = ultraworkText }, []stop{{true, "no", ultraworkText + "\n\n" + missingText}}, "", `"promise":"missing"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := newHookAgent(newHookPlace(t), "s-1")
			s := hook.NewSession("paint the fence", "DONE", 9, time.Now())
			s.Said = s.Began
			if tc.change != nil {
				tc.change(&s)
			}
			file := a.giveState("state/loop.json", s)
			for i, one := range tc.stops {
				if one.works {
					a.works()
				}
				got := a.stops(one.says, "--session", file)
				if got.Reason != one.want || (got.Decision == "block") != (one.want != "") || got.warnings != "" {
					t.Errorf("stop %d = %s%s, want %q", i+1, got.line, got.warnings, one.want)
				}
			}
			if s = a.state(file); s.Status != tc.status || s.Iteration != len(tc.stops) || s.LastAssistantText != tc.stops[len(tc.stops)-1].says {
				t.Errorf("state = %+v, want %q after %d iterations", s, tc.status, len(tc.stops))
			}
			log, err := os.ReadFile(file + ".log")
			lines := strings.Split(strings.TrimSpace(string(log)), "\n")
			if last := lines[len(lines)-1]; err != nil || len(lines) != len(tc.stops) || !strings.Contains(last, tc.log) {
				t.Errorf("log = %s, %v, want %s at its end", log, err, tc.log)
			}
			if s.Over() {
				if got := a.stops("more", "--session="+file); got.line != approve {
					t.Errorf("a stop after the end: %s", got.line)
				}
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if got := a.stops("more", "--session", file); got.line != approve || got.warnings != "" {
				t.Errorf("004-10 a stop after its state was removed: %s%s", got.line, got.warnings)
			}
			if _, err := os.Lstat(file); err == nil {
				t.Error("the state came back")
			}
		})
	}
}

// 004-08: where calls cannot be counted, a change is evidence.
func TestHookSessionEvidence(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.git("init", "-q")
	p.write("a.txt", "1")
	p.write(".gitignore", "state/\n")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "first")
	app := &app{environ: os.Environ()}
	tree, err := app.treeMark(t.Context(), findProject([]string{p.dir}))
	if err != nil {
		t.Fatal(err)
	}
	s := hook.NewSession("paint the fence", "DONE", 9, time.Now())
	s.Tree = tree
	file := p.giveState("state/loop.json", s)
	stop := func() hooked {
		return p.hook(stopInput("s", filepath.Join(p.dir, "state/none.jsonl"), donePromise), "stop", "--session", file)
	}
	if got := stop(); got.Reason != rejectedText || !strings.Contains(got.warnings, "transcript") {
		t.Errorf("nothing changed: %s%s", got.line, got.warnings)
	}
	p.write("a.txt", "2")
	p.git("commit", "-q", "-am", "second")
	if got := stop(); got.line != approve || p.state(file).Status != hook.PromiseAccepted {
		t.Errorf("a commit: %s%s", got.line, got.warnings)
	}
	// Changes of what was changed before count, too.
	p.write("a.txt", "3")
	s.Tree, err = app.treeMark(t.Context(), findProject([]string{p.dir}))
	if err != nil {
		t.Fatal(err)
	}
	file = p.giveState("state/loop.json", s)
	p.write("a.txt", "four")
	if got := stop(); got.line != approve {
		t.Errorf("a change: %s%s", got.line, got.warnings)
	}
}

// A state or a transcript of any kind lets the agent go.
func TestHookSessionFiles(t *testing.T) {
	t.Parallel()
	good := hook.NewSession("paint the fence", "DONE", 9, time.Time{})
	for name, plant := range map[string]func(path string) error{
		"empty":     func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"garbage":   func(path string) error { return os.WriteFile(path, []byte("{\x00"), 0o644) },
		"no token":  func(path string) error { return os.WriteFile(path, []byte(`{"iteration": 3}`), 0o644) },
		"huge":      func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40)) },
		"a folder":  func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":    func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a pipe":    func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"held":      nil,
		"no folder": nil,
	} {
		t.Run("state "+name, func(t *testing.T) {
			t.Parallel()
			a := newHookAgent(newHookPlace(t), "s-1")
			file, warned := a.write("state/loop.json", ""), true
			switch {
			case plant != nil:
				if err := plant(file); err != nil {
					t.Fatal(err)
				}
			case name == "held":
				file = a.giveState("state/loop.json", good)
				f, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			default:
				file, warned = "/nonexistent/x/y", false
			}
			if got := a.stops("no", "--session", file); got.line != approve || (got.warnings != "") != warned {
				t.Errorf("stop = %s%s", got.line, got.warnings)
			}
		})
	}
	for name, tc := range map[string]struct {
		plant func(path string) error
		want  string // the beginning of the reason
	}{
		"missing":      {func(string) error { return nil }, missingText},
		"a folder":     {func(path string) error { return os.Mkdir(path, 0o755) }, missingText},
		"a link":       {func(path string) error { return os.Symlink("/etc/passwd", path) }, missingText},
		"a pipe":       {func(path string) error { return syscall.Mkfifo(path, 0o644) }, missingText},
		"huge, sparse": {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 80<<20)) }, missingText},
	} {
		t.Run("transcript "+name, func(t *testing.T) {
			t.Parallel()
			p := newHookPlace(t)
			file, transcript := p.giveState("state/loop.json", good), p.write("state/t.jsonl", "")
			if err := tc.plant(transcript); err != nil {
				t.Fatal(err)
			}
			if got := p.hook(stopInput("s", transcript, "I'm done"), "stop", "--session", file); got.Reason != tc.want || got.warnings == "" {
				t.Errorf("stop = %s%s, want %q and a warning", got.line, got.warnings, tc.want)
			}
			if got := p.hook(stopInput("s", transcript, ""), "stop", "--session", file); name != "huge, sparse" && got.line != approve {
				t.Errorf("with nothing to judge by: %s%s", got.line, got.warnings)
			}
		})
	}
}
