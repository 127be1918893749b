package actions

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/lib/secret"
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

// A title is one property and nothing of it is another: no file, no line, no
// end of the command.
func TestTitlesAreOneProperty(t *testing.T) {
	t.Parallel()
	for _, title := range []string{
		"plain", "a,file=/etc/passwd,line=1", "a::evil", "50%, 100%", "%2Cfile=x", "%3A%3A", "%0A::error::x", "%250A", "a=b,c=d", "::", ",", ":", "%", "a\n::error file=x::y", "a\r::error::y",
	} {
		for name, issue := range map[string]func(*Runner, string, string){"notice": (*Runner).Notice, "warning": (*Runner).Warning, "error": (*Runner).Error} {
			var log bytes.Buffer
			issue(connect(t, &log), title, "text: "+title)
			want := "title=" + strings.TrimLeft(strings.Join(strings.Fields(title), " "), " ")
			got := (&parser{}).obeyed(log.String())
			if len(got) != 1 || got[0].name != name {
				t.Errorf("%s of %q is obeyed as %q, want one command", name, title, got)
				continue
			}
			if props := strings.ReplaceAll(got[0].props, "title=│ ", "title="); props != want {
				t.Errorf("%s of %q has the properties %q, want %q", name, title, props, want)
			}
		}
	}
}

func FuzzAnnotations(f *testing.F) {
	f.Add("a,file=x", "b\n::error::c")
	f.Add("%0A", "%250A##[x]y")
	f.Fuzz(func(t *testing.T, title, message string) {
		var log bytes.Buffer
		r := connect(t, &log)
		r.Error(title, message)
		got := (&parser{}).obeyed(log.String())
		if len(got) != 1 || got[0].name != "error" || strings.Count(got[0].props, "title=") != strings.Count(got[0].props, "=") && !strings.Contains(title, "=") {
			t.Errorf("Error(%q, %q) is obeyed as %q", title, message, got)
		}
	})
}

// Every way of writing a mask: one command a line, and nothing that would hide
// ordinary text.
func TestMasksOfManyLines(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n", "line one of it\r\nline two of it", "bare return\rsecond part", "50%0Aof::it,all", "::stop-commands::abcdefgh", "##[error]abcdefgh", "  leading and trailing  ", "with \x1b[31m an escape",
	} {
		var log bytes.Buffer
		connect(t, &log).Mask(value)
		got := (&parser{}).obeyed(log.String())
		if len(got) == 0 {
			t.Errorf("Mask(%q) masks nothing", value)
		}
		for _, c := range got {
			if c.name != "add-mask" || strings.ContainsAny(c.data, "\r\n") || len(strings.TrimSpace(c.data)) < 4 {
				t.Errorf("Mask(%q) is obeyed as %q", value, c)
			}
		}
		if lines := lineEnd.Split(strings.TrimSuffix(log.String(), "\n"), -1); len(lines) != len(got) {
			t.Errorf("Mask(%q) prints %d lines for %d masks, the others stand in the log:\n%s", value, len(lines), len(got), log.String())
		}
		for _, line := range lineEnd.Split(value, -1) {
			found := len(line) < 8
			for _, c := range got {
				found = found || c.data == line || strings.Contains(line, c.data)
			}
			if !found {
				t.Errorf("Mask(%q) does not mask its line %q", value, line)
			}
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
	w := r.Untrusted()
	if n, err := w.Write([]byte("x\n")); n != 2 || err != nil {
		t.Errorf("Write = %d, %v, want no error", n, err)
	}
	r.Group("x")
	r.Error("x", "y")
	r.Line("x")
	r.Mask(token1)
	if pipe.tries != 1 {
		t.Errorf("%d writes after the log was gone, want none", pipe.tries-1)
	}
}

// A problem is annotated at its place, where that is known and in the workspace.
func TestProblemsHavePlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ralph.yml": "jobs:\n  a:\n    with:\n      agent: x\n      - 'model': y\n", "twice.yml": "agent: x\nagent: y\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.yml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yml"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ workflow, message, want string }{
		{"ralph.yml", "input agent: wrong", "::error file=ralph.yml,line=4,title=T::input agent: wrong\n"},
		{"ralph.yml", "input model: wrong", "::error file=ralph.yml,line=5,title=T::input model: wrong\n"},
		{"ralph.yml", "input effort: wrong", "::error title=T::input effort: wrong\n"},
		{"twice.yml", "input agent: wrong", "::error title=T::input agent: wrong\n"},
		{"none.yml", "input agent: wrong", "::error title=T::input agent: wrong\n"},
		{"link.yml", "input root: wrong", "::error title=T::input root: wrong\n"},
		{"pipe.yml", "input agent: wrong", "::error title=T::input agent: wrong\n"},
		{"../ralph.yml", "input agent: wrong", "::error title=T::input agent: wrong\n"},
		{"", ".github/ralph.yml:12: guardrails: wrong", "::error file=.github/ralph.yml,line=12,title=T::.github/ralph.yml:12: guardrails: wrong\n"},
		{"", "ralph/tasks.json:3:14: wrong", "::error file=ralph/tasks.json,line=3,title=T::ralph/tasks.json:3:14: wrong\n"},
		{"", "the network is 10.0.0.1:80: wrong", "::error title=T::the network is 10.0.0.1:80: wrong\n"},
		{"", "src/main.yml:3: look here", "::error title=T::src/main.yml:3: look here\n"},
		{"", "a,b.yml:1: wrong\n::set-env::", "::error title=T::a,b.yml:1: wrong%0A│ ::set-env::\n"},
	} {
		var log bytes.Buffer
		env := environment("GITHUB_WORKSPACE", dir, "GITHUB_REPOSITORY", "octo/work", "GITHUB_WORKFLOW_REF", "octo/work/"+c.workflow+"@refs/heads/main")
		r, err := New(Options{Getenv: env, Stdout: &log})
		if err != nil {
			t.Fatal(err)
		}
		r.Problem("T", c.message)
		if log.String() != c.want {
			t.Errorf("with %s, Problem(%q) printed %q, want %q", c.workflow, c.message, log.String(), c.want)
		}
	}
}
