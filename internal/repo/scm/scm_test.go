package scm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
)

// 001-28, 001-30: the tasks in order, the question to the letter.
func TestCommitAndPush(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "<response>Add a line</response>", "commit", "push")
	var live bytes.Buffer
	d.Show = func(string) io.WriteCloser { return nopCloser{&live} }
	d.write("known.txt", "two\n")
	got, err := d.deliver(scm.New(d.Options))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Provide a short imperative commit message for the changes. Output only the message, no explanation."}; !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
	want := []string{"git commit -am Add a line", "git push"}
	if !slices.Equal(commands(got), want) || got.Message != "Add a line" {
		t.Errorf("Deliver() = %q with the message %q, want %q", commands(got), got.Message, want)
	}
	if !slices.Equal(d.texts(ralph.EventTaskStart), want) || len(d.texts(ralph.EventTaskEnd)) != 2 {
		t.Errorf("events tell of %q, want %q", d.texts(ralph.EventTaskStart), want)
	}
	if head, pushed := d.git("log", "-1", "--format=%s%n%H"), d.git("--git-dir", strings.TrimSpace(d.git("remote", "get-url", "origin")), "log", "-1", "--format=%s%n%H"); head != pushed || !strings.HasPrefix(head, "Add a line\n") {
		t.Errorf("HEAD is %q and the origin's %q, want the same with the message", head, pushed)
	}
	if !strings.Contains(got.Tasks[0].Output, "1 file changed") || !strings.Contains(live.String(), "1 file changed") {
		t.Errorf("output = %q, live %q; want what git said in both", got.Tasks[0].Output, live.String())
	}
}

// A message is text, whatever is in it: nothing of it is an option or reaches a
// shell.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"command substitution": "Fix $(touch owned) ${HOME}",
		"backticks":            "Fix `touch owned` now",
		"quotes":               `Fix "this" and 'that'; touch owned`,
		"an option":            "-x",
		"a long option":        "--amend",
		"an end of options":    "--",
		"a comment":            "#12: fix",
		"operators":            "a && touch owned | cat > owned; b",
		"a percent sign":       "100%s %d %!",
		"umlauts":              "Größe prüfen ✅",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newWorkplace(t, message, "commit")
			d.write("known.txt", "two\n")
			got, err := d.deliver(scm.New(d.Options))
			if err != nil {
				t.Fatal(err)
			}
			if s := strings.TrimSpace(d.git("log", "-1", "--format=%B")); s != message || got.Message != message {
				t.Errorf("committed %q, delivered %q, want %q", s, got.Message, message)
			}
			if n := strings.TrimSpace(d.git("rev-list", "--count", "HEAD")); n != "2" {
				t.Errorf("the repository has %s commits, want 2", n)
			}
			if _, err := os.Stat(filepath.Join(d.dir, "owned")); err == nil {
				t.Error("the message ran a command")
			}
		})
	}
}

func TestSeveralLinesInAResponse(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "Sure!\n<RESPONSE>\nFix the sum\n\nIt was off by one.\n</RESPONSE>", "commit")
	d.write("known.txt", "two\n")
	if _, err := d.deliver(scm.New(d.Options)); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(d.git("log", "-1", "--format=%B")), "Fix the sum\n\nIt was off by one."; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}

func TestNothingToCommitCostsNothing(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "never", "commit", "push")
	got, err := d.deliver(scm.New(d.Options))
	if err != nil || len(d.asked) > 0 || !slices.Equal(commands(got), []string{"git push"}) {
		t.Errorf("Deliver() = %q, %v after %d questions; want the push alone and no question", commands(got), err, len(d.asked))
	}
}

func TestNewFiles(t *testing.T) {
	t.Parallel()
	t.Run("are left out, which is told once", func(t *testing.T) {
		t.Parallel()
		d := newWorkplace(t, "never", "commit")
		d.write("new hunter2hunter2.txt", "x")
		d.write(".ralph/settings.json", "{}")
		s := scm.New(d.Options)
		for range 2 {
			if _, err := d.deliver(s); err != nil {
				t.Fatal(err)
			}
		}
		notes := d.texts(ralph.EventNotice)
		if len(notes) != 1 || !strings.Contains(notes[0], `"new ***.txt"`) || !strings.Contains(notes[0], "add -A") || len(d.asked) > 0 {
			t.Errorf("notes = %q after %d questions; want one that names the file and add -A", notes, len(d.asked))
		}
	})
	t.Run("are committed after add -A", func(t *testing.T) {
		t.Parallel()
		d := newWorkplace(t, "Add a file", "add -A", "commit")
		d.write("new.txt", "x")
		got, err := d.deliver(scm.New(d.Options))
		if err != nil || len(d.texts(ralph.EventNotice)) > 0 {
			t.Errorf("Deliver() = %q, %v with notes %q", commands(got), err, d.texts(ralph.EventNotice))
		}
		if files := d.git("show", "--name-only", "--format=%s"); files != "Add a file\n\nnew.txt\n" {
			t.Errorf("committed %q", files)
		}
	})
	t.Run("of ralph itself are no news", func(t *testing.T) {
		t.Parallel()
		d := newWorkplace(t, "never", "commit")
		d.write(".ralph/settings.json", "{}")
		if _, err := d.deliver(scm.New(d.Options)); err != nil || len(d.texts(ralph.EventNotice)) > 0 {
			t.Errorf("notes = %q, %v; want none", d.texts(ralph.EventNotice), err)
		}
	})
}

// A file that changed only inside a submodule cannot be committed with -am.
func TestDirtySubmoduleIsNothingToCommit(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "never", "commit")
	d.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", strings.TrimSpace(d.git("remote", "get-url", "origin")), "sub")
	d.git("commit", "--quiet", "-am", "with a submodule")
	d.write("sub/known.txt", "dirty\n")
	if got, err := d.deliver(scm.New(d.Options)); err != nil || len(got.Tasks) > 0 || len(d.asked) > 0 {
		t.Errorf("Deliver() = %q, %v after %d questions; want nothing", commands(got), err, len(d.asked))
	}
}

// 001-29: without a message nothing is committed and nothing pushed.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer string
		tasks  []string
		set    func(*workplace)
		ran    []string
		want   string // the error, or its beginning when it ends in …
	}{
		{"no message", " \n```\n```\n", []string{"commit", "push"}, nil, nil, "git commit: the agent was asked for a commit message and gave none"},
		{"empty response", "Fix\n<response> </response>", []string{"commit", "push"}, nil, nil, "git commit: the agent was asked for a commit message and gave none"},
		{"the question fails", "", []string{"commit"}, func(d *workplace) { d.err = errors.New("the budget is spent") }, nil, "git commit: the budget is spent"},
		{"a hook refuses", "Fix it", []string{"commit", "push"}, func(d *workplace) {
			d.write(".git/hooks/pre-commit", "#!/bin/sh\necho lint: hunter2hunter2 is no name >&2\nexit 1\n")
		}, []string{"git commit -am Fix it"}, "git commit: exit code 1: lint: *** is no name"},
		{"no remote", "Fix it", []string{"push", "commit"}, func(d *workplace) { d.git("remote", "remove", "origin") },
			[]string{"git push"}, "git push: exit code 128: fatal: No configured push destination.…"},
		{"no such task", "", []string{"comit"}, nil, []string{"git comit"}, "git comit: exit code 1: git: 'comit' is not a git command.…"},
		{"no such program", "Fix it", []string{"push"}, func(d *workplace) { d.Command = []string{"no-such-program"} }, []string{"no-such-program push"}, "no-such-program push: could not be started: …"},
		{"no repository", "Fix it", []string{"commit"}, func(d *workplace) { d.Dir = d.t.TempDir() }, nil, "git status: exit code 128: fatal: not a git repository…"},
		{"too slow", "", []string{"-c 3600"}, func(d *workplace) {
			d.Command, d.Tasks, d.Timeout = []string{"sleep"}, [][]string{{"3600"}}, 50*time.Millisecond
		}, []string{"sleep 3600"}, "sleep 3600: timed out after 50ms"},
		{"killed", "", nil, func(d *workplace) {
			d.Command, d.Tasks = []string{"sh", "-c"}, [][]string{{"echo so far; kill -9 $$"}, {"echo never"}}
		}, []string{"sh -c echo so far; kill -9 $$"}, "sh -c echo so far; kill -9 $$: ended by a signal: so far"},
		{"too much output", "", nil, func(d *workplace) {
			d.Command, d.Tasks, d.OutputBytes = []string{"sh", "-c"}, [][]string{{"while :; do echo y; done"}}, 1000
		}, []string{"sh -c while :; do echo y; done"}, "sh -c while :; do echo y; done: printed more than 1000 bytes: y\ny\n…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newWorkplace(t, tc.answer, tc.tasks...)
			d.write("known.txt", "two\n")
			if tc.set != nil {
				tc.set(d)
			}
			got, err := d.deliver(scm.New(d.Options))
			begins, more := strings.CutSuffix(tc.want, "…")
			if err == nil || !strings.HasPrefix(err.Error(), begins) || !more && err.Error() != tc.want {
				t.Errorf("Deliver() = %v, want %q", err, tc.want)
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if !slices.Equal(commands(got), tc.ran) {
				t.Errorf("ran %q, want %q", commands(got), tc.ran)
			}
			if n := len(tc.ran); n > 0 && got.Tasks[n-1].ExitCode == 0 {
				t.Errorf("the task that failed has exit code 0: %+v", got.Tasks[n-1])
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "never", "push")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scm.New(d.Options).Deliver(ctx, ralph.Iteration{}, nil, func(ralph.Event) {})
	if want := "git push: the run was over before it started"; err == nil || err.Error() != want {
		t.Errorf("Deliver(cancelled) = %v, want %q", err, want)
	}
}

// Other programs get the same words; only git is looked into first. 001-30
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "Fix it", "status", "commit", "commit")
	d.write("hg", "#!/bin/sh\nfor a in \"$@\"; do echo \"[$a]\"; done; echo prompt $GIT_TERMINAL_PROMPT\n")
	d.Command = []string{filepath.Join(d.dir, "hg"), "--verbose"}
	got, err := d.deliver(scm.New(d.Options))
	if err != nil || len(d.asked) != 1 || len(got.Tasks) != 3 {
		t.Fatalf("Deliver() = %+v, %v after %d questions; want three tasks and one question", got, err, len(d.asked))
	}
	for i, want := range []string{"[--verbose]\n[status]\nprompt 0\n", "[--verbose]\n[commit]\n[-am]\n[Fix it]\nprompt 0\n", "[--verbose]\n[commit]\n[-am]\n[Fix it]\nprompt 0\n"} {
		if got.Tasks[i].Output != want {
			t.Errorf("task %d got %q, want %q", i, got.Tasks[i].Output, want)
		}
	}
}
