package runner

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/secret"
)

// wantError checks that an error says everything a user needs.
func wantError(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s = nil, want an error", what)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s = %q, want it to say %q", what, err, word)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "": false, "false": false, "1": false} {
		if got := Detect(environment("GITHUB_ACTIONS", value)); got != want {
			t.Errorf("Detect(GITHUB_ACTIONS=%q) = %v, want %v", value, got, want)
		}
	}
}

func TestUnsecureCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"true", "TRUE", "1", " true "} {
		_, err := New(Options{Getenv: environment("ACTIONS_ALLOW_UNSECURE_COMMANDS", value), Stdout: &bytes.Buffer{}})
		wantError(t, "New", err, "ACTIONS_ALLOW_UNSECURE_COMMANDS", "remove it")
	}
	for _, value := range []string{"", "false", "0"} {
		if _, err := New(Options{Getenv: environment("ACTIONS_ALLOW_UNSECURE_COMMANDS", value), Stdout: &bytes.Buffer{}}); err != nil {
			t.Errorf("New with ACTIONS_ALLOW_UNSECURE_COMMANDS=%q = %v, want nil", value, err)
		}
	}
}

// docker run by hand: no variable of the runner's is set.
func TestWithoutRunner(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r, err := New(Options{Getenv: environment(), Stdout: &log})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.SetOutput("status", "completed"), r.Summary("# text"), r.Close()); err != nil {
		t.Errorf("outputs and summary without files = %v, want nil", err)
	}
	if err := r.SetOutput("status", "great"); err == nil {
		t.Error("SetOutput(status, great) = nil, want an error also without a file")
	}
	if got := r.RunURL(); got != "" {
		t.Errorf("RunURL() = %q, want none", got)
	}
	if log.Len() > 0 {
		t.Errorf("log = %q, want nothing", log.String())
	}
}

func TestCommandsAreEscaped(t *testing.T) {
	t.Parallel()
	const nasty = "100%\r\n::error::x, a:b ##[group]c\x1b[1m\u202e " + token1
	for name, issue := range map[string]func(*Runner){
		"group":   func(r *Runner) { r.Group(nasty) },
		"notice":  func(r *Runner) { r.Notice(nasty, nasty) },
		"warning": func(r *Runner) { r.Warning(nasty, nasty) },
		"error":   func(r *Runner) { r.Error(nasty, nasty) },
	} {
		var log bytes.Buffer
		issue(connect(t, &log))
		got := (&parser{}).obeyed(log.String())
		if len(got) != 1 || got[0].name != name {
			t.Errorf("%s is obeyed as %q, want one command", name, got)
			continue
		}
		if !strings.HasPrefix(got[0].data, "100%") {
			t.Errorf("%s carries %q, want the text", name, got[0].data)
		}
		for _, bad := range []string{token1, "##[", "\x1b", "\u202e"} {
			if strings.Contains(log.String(), bad) {
				t.Errorf("%s: log %q contains %q", name, log.String(), bad)
			}
		}
		// What the runner prints for it is read by nobody for commands, but a
		// title must stay one line.
		if name == "group" && strings.ContainsAny(got[0].data, "\r\n") {
			t.Errorf("title %q has several lines", got[0].data)
		}
	}
}

func TestAnnotationsAreBounded(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := connect(t, &log)
	r.Error(strings.Repeat("ü", 10_000), strings.Repeat("ü\n", 100_000))
	if log.Len() > 2*maxMessage+1000 {
		t.Errorf("the annotation has %d bytes, want about %d", log.Len(), maxMessage)
	}
	if !strings.Contains(log.String(), "…") || strings.Contains(log.String(), "\ufffd") {
		t.Errorf("the annotation is not cut between characters")
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"iteration 1 of 3":          "iteration 1 of 3\n",
		"":                          "\n",
		"agent said:\r::error::x":   "agent said:\n│ ::error::x\n",
		" \u3000::error::x":         "│  \u3000::error::x\n",
		"a ##[error]b":              "a ## [error]b\n",
		"key " + token1:             "key ***\n",
		"two\nlines":                "two\nlines\n",
		"\x1b[31mred\x1b[0m \x07 x": "red \ufffd x\n",
	} {
		var log bytes.Buffer
		connect(t, &log).Line(text)
		if got := log.String(); got != want {
			t.Errorf("Line(%q) prints %q, want %q", text, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := connect(t, &log)
	key := "{\n  \"private\": \"50%-of-it\"\n}"
	r.Mask(token1, key, "", "ab")
	masked := make(map[string]bool)
	for _, c := range (&parser{}).obeyed(log.String()) {
		if c.name != "add-mask" {
			t.Errorf("Mask issues %q", c)
		}
		if strings.ContainsAny(c.data, "\r\n") || len(c.data) < 4 {
			t.Errorf("Mask(%q) would mask every %q of the job", key, c.data)
		}
		masked[c.data] = true
	}
	for _, want := range []string{token1, `"private": "50%-of-it"`, `\"private\": \"50%-of-it\"`, "Z2hzXzE2QzdlNDJGMjkyYzY5MTJFNzcxMGM4MzgzNDdBZTE3OEI0YQ=="} {
		if !masked[want] {
			t.Errorf("Mask does not mask %q", want)
		}
	}
	for _, form := range secret.NewRedactor(secret.New(token1)).Forms() {
		if !masked[form] {
			t.Errorf("Mask does not mask the form %q", form)
		}
	}
}

type closedPipe struct{ tries int }

func (c *closedPipe) Write([]byte) (int, error) {
	c.tries++
	return 0, errors.New("broken pipe")
}

func TestLogIsGone(t *testing.T) {
	t.Parallel()
	pipe := &closedPipe{}
	r := connect(t, pipe)
	w := r.Guest()
	if n, err := w.Write([]byte("x\n")); n != 2 || err != nil {
		t.Errorf("Write = %d, %v, want no error", n, err)
	}
	r.Group("x")
	r.Error("x", "y")
	r.Line("x")
	r.Mask(token1)
	wantError(t, "Err()", r.Err(), "broken pipe", "log")
	if pipe.tries != 1 {
		t.Errorf("%d writes after the log was gone, want none", pipe.tries-1)
	}
}
