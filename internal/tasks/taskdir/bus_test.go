package taskdir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks/taskdir"
)

const bus = "TASK-MESSAGE-BUS.jsonl"

// say adds to the bus as an agent would.
func say(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(path, bus), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func wait(body string) string {
	text, _ := json.Marshal(body)
	return fmt.Sprintf(`{"ts":"2026-02-05T10:00:00Z","type":"wait_without_restart","body":%s}`+"\n", text)
}

func TestPost(t *testing.T) {
	t.Parallel()
	d, path := task(t)
	zero := 0
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Info, Body: "Starting", Attempt: 1, Run: "20260205-110000-001"}))
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Warning, Body: "two\nlines \x1b \xff", ExitCode: &zero}))
	say(t, path, "an open line")
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Error, Body: "max restarts exceeded"}))
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Error, Body: strings.Repeat("\x01", 1<<20)}))
	lines := strings.Split(read(t, path, bus), "\n")
	want := []string{
		`{"ts":"2026-02-05T11:00:00.000000123Z","type":"INFO","body":"Starting","run":"20260205-110000-001","attempt":1}`,
		`{"ts":"2026-02-05T11:00:00.000000123Z","type":"WARNING","body":"two\nlines \u001b \ufffd","exit_code":0}`,
		`an open line`,
		`{"ts":"2026-02-05T11:00:00.000000123Z","type":"ERROR","body":"max restarts exceeded"}`,
	}
	if len(lines) != 6 || lines[5] != "" {
		t.Fatalf("the bus has %d lines, want 5, the last one ended", len(lines)-1)
	}
	for i, w := range want {
		if lines[i] != w {
			t.Errorf("line %d = %s, want %s", i+1, lines[i], w)
		}
	}
	if n := len(lines[4]); n > 64<<10 || !json.Valid([]byte(lines[4])) {
		t.Errorf("a huge message makes a line of %d bytes, want it cut and valid", n)
	}
}

func TestPostAfterTheBusWasDeleted(t *testing.T) {
	t.Parallel()
	d, path := task(t)
	for range 2 {
		must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Info, Body: "x"}))
		if got := strings.Count(read(t, path, bus), "\n"); got != 1 {
			t.Errorf("the bus has %d lines, want 1", got)
		}
		must(t, os.Remove(filepath.Join(path, bus)))
	}
}

// TestWaiting covers 002-16: the three ways.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		exit int
		file string
		bus  string
		why  string
		want bool
	}{
		{name: "no signal"},
		{name: "failure", exit: 1},
		{name: "signal", exit: -1},
		{name: "exit code", exit: 42, why: "exit code 42", want: true},
		{name: "file", file: "x", why: "file WAIT_WITHOUT_RESTART", want: true},
		{name: "message", bus: wait("Waiting for user input"), why: "Waiting for user input", want: true},
		{name: "message in Go's spelling", bus: `{"Type":"wait_without_restart","Body":"Waiting for user input"}`, why: "Waiting for user input", want: true},
		{name: "message says most", exit: 42, file: "x", bus: wait("input"), why: "input", want: true},
		{name: "last message", bus: wait("one") + `{"type":"INFO","body":"no"}` + "\n" + wait("two"), why: "two", want: true},
		{name: "no body", bus: `{"type":"wait_without_restart"}`, why: "message wait_without_restart", want: true},
		{name: "body is no text", bus: `{"type":"wait_without_restart","body":{"a":[1]}}`, why: "message wait_without_restart", want: true},
		{name: "hostile body", bus: wait("a\nb\r\x1b[2J\u202e::error::\u0000 c"), why: "a b [2J ::error:: c", want: true},
		{name: "other fields of any kind", bus: `{"ts":5,"type":"wait_without_restart","body":"x","attempt":"one","run":{}}`, why: "x", want: true},
		{name: "other types", bus: `{"type":"wait"}` + "\n" + `{"type":"WAIT_WITHOUT_RESTART"}` + "\n" + `{"body":"wait_without_restart"}` + "\n" + `{"type":["wait_without_restart"]}`},
		{name: "malformed", bus: "wait_without_restart\n{\n\x00\xff\n[]\nnull\n\n" + `{"type":"wait_without_restart"`},
		{name: "malformed around it", bus: "{\n" + wait("x") + "}", why: "x", want: true},
		{name: "line of 64 KiB", bus: wait(strings.Repeat("y", 65000)), why: strings.Repeat("y", 3999) + "…", want: true},
		{name: "line over 64 KiB", bus: wait(strings.Repeat("y", 66000)) + "{}\n"},
		{name: "deep", bus: `{"type":"wait_without_restart","body":` + strings.Repeat("[", 60000) + "\n"},
		{name: "at the end of very much", bus: strings.Repeat(`{"type":"INFO","body":"noise"}`+"\n", 100_000) + wait("x"), why: "x", want: true},
		{name: "one endless line", bus: strings.Repeat("x", 3<<20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			if tc.file != "" {
				write(t, tc.file, path, "WAIT_WITHOUT_RESTART")
			}
			say(t, path, tc.bus)
			if why, ok := d.Waiting(tc.exit); why != tc.why || ok != tc.want {
				t.Errorf("Waiting(%d) = %q, %v, want %q, %v", tc.exit, why, ok, tc.why, tc.want)
			}
			if why, ok := d.Waiting(0); ok != (tc.file != "") {
				t.Errorf("the next Waiting(0) = %q, %v, want only the file to count twice", why, ok)
			}
		})
	}
}

func TestMessagesFromBefore(t *testing.T) {
	t.Parallel()
	_, path := task(t)
	say(t, path, wait("last week"))
	write(t, "", path, "WAIT_WITHOUT_RESTART")
	d := open(t, path)
	must(t, d.Resume())
	if why, ok := d.Waiting(0); ok {
		t.Errorf("Waiting(0) = %q, want what was there before the start not to count", why)
	}
	say(t, path, wait("yesterday"))
	must(t, d.Resume())
	must(t, d.Resume()) // with nothing to resume from
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Info, Body: "x"}))
	if why, ok := d.Waiting(0); ok {
		t.Errorf("Waiting(0) after Resume = %q, want no signal", why)
	}
	say(t, path, wait("now"))
	if why, ok := d.Waiting(0); !ok || why != "now" {
		t.Errorf("Waiting(0) = %q, %v, want the new message", why, ok)
	}
	must(t, os.Mkdir(filepath.Join(path, "WAIT_WITHOUT_RESTART"), 0o755))
	if _, ok := d.Waiting(0); !ok {
		t.Error("Waiting(0) with a folder for a marker = false, want presence to be enough")
	}
	write(t, "mine", path, "WAIT_WITHOUT_RESTART/x")
	wantError(t, "Resume", d.Resume(), "WAIT_WITHOUT_RESTART", "remove it yourself")
}

// TestBusIsReplaced: a bus that is not the one of the last look is read from
// its start.
func TestBusIsReplaced(t *testing.T) {
	t.Parallel()
	old := strings.Repeat(`{"type":"INFO","body":"old"}`+"\n", 20)
	for name, act := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.WriteFile(path, []byte(wait("new")), 0o644) },
		"rewritten, as long": func(path string) error {
			text := wait("new")
			return os.WriteFile(path, []byte(text+strings.Repeat("\n", len(old)-len(text))), 0o644)
		},
		"rewritten, longer": func(path string) error {
			return os.WriteFile(path, []byte(wait("new")+old+old), 0o644)
		},
		"another file": func(path string) error {
			if err := os.WriteFile(path+".new", []byte(wait("new")+old), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			say(t, path, old)
			if why, ok := d.Waiting(0); ok {
				t.Errorf("Waiting(0) = %q, want no signal", why)
			}
			must(t, act(filepath.Join(path, bus)))
			if why, ok := d.Waiting(0); !ok || why != "new" {
				t.Errorf("Waiting(0) = %q, %v, want the message at the start of the new file", why, ok)
			}
		})
	}
}
