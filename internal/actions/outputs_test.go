package actions

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// withFile connects to a command file that holds text.
func withFile(t *testing.T, variable, text string) (*Runner, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return connect(t, &bytes.Buffer{}, variable, path), path
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSetOutput(t *testing.T) {
	t.Parallel()
	r, path := withFile(t, "GITHUB_OUTPUT", "")
	want := []entry{
		{"status", "max-iterations"}, {"completed", "false"}, {"iterations", "3"}, {"cost-usd", "0.123456"}, {"cost-usd", "unknown"},
		{"input-tokens", "123456"}, {"output-tokens", "unknown"}, {"duration-seconds", "12.5"}, {"branch", "ralph/fix-ü_1.2"},
		{"head-sha", strings.Repeat("a1", 20)}, {"pull-request-number", ""}, {"pull-request-url", "https://forge.example:3000/o/r.x/pull/7"},
		{"pull-request-operation", "none"}, {"report-path", ".ralph/report.json"}, {"lane-dir", ".ralph/lane/ralph-lane-w1-L007-3f9a21bc0d44-1-3"}, {"report-path", "/github/workspace/my app/.ralph/report.json"},
		{"status", "skipped"}, {"checks", "passed"}, {"pull-request-branch", "ralph/x"}, {"pull-request-head-sha", strings.Repeat("0", 40)}, {"pull-request-commits-verified", "true"},
		{"next", "true"}, {"wave", "3"}, {"integrated", "12"}, {"returned", "0"},
	}
	named := make(map[string]bool)
	for _, e := range want {
		if err := r.SetOutput(e.name, e.value); err != nil {
			t.Errorf("SetOutput(%q, %q) = %v", e.name, e.value, err)
		}
		named[e.name] = true
	}
	for name := range outputs() {
		if !named[name] {
			t.Errorf("output %s is not tested", name)
		}
	}
	if got, ok := entries(content(t, path)); !ok || !slices.Equal(got, want) {
		t.Errorf("the runner reads %q (%v), want %q", got, ok, want)
	}
}

func TestForgedOutputsAreRefused(t *testing.T) {
	t.Parallel()
	r, path := withFile(t, "GITHUB_OUTPUT", "")
	tests := []entry{
		{"evil", "x"}, {"", "x"}, {"status\nevil=1", "completed"}, {"status<<EOF", "completed"}, {"STATUS", "completed"},
		{"status", "completed\nevil=1"}, {"status", "COMPLETED"}, {"status", "great"}, {"completed", "yes"},
		{"iterations", "-1"}, {"iterations", "1e9"}, {"iterations", "3\n"}, {"iterations", "\u0663"}, {"iterations", strings.Repeat("9", 30)},
		{"cost-usd", "$1"}, {"cost-usd", "NaN"}, {"cost-usd", "1."}, {"duration-seconds", "unknown"},
		{"head-sha", "HEAD"}, {"head-sha", strings.Repeat("A", 40)}, {"head-sha", strings.Repeat("a", 40) + "\n"},
		{"branch", "-x"}, {"branch", "a..b"}, {"branch", "a b"}, {"branch", "a\nb"}, {"branch", "a\rb"}, {"branch", "$(id)"}, {"branch", "a`id`"}, {"branch", "a;b"},
		{"branch", "a'b"}, {"branch", `a"b`}, {"branch", "a&b"}, {"branch", "a|b"}, {"branch", "/a"}, {"branch", "a/"}, {"branch", "a//b"}, {"branch", "a.lock"},
		{"branch", "a."}, {"branch", "a@{1}"}, {"branch", "a\u202eb"}, {"branch", strings.Repeat("a", 300)}, {"branch", "\xff"},
		{"pull-request-url", "javascript:alert(1)"}, {"pull-request-url", "https://x/y?z=$(id)"}, {"pull-request-url", "https://user:pw@x/y"},
		{"pull-request-url", "https://x/y z"}, {"pull-request-url", "https:///y"}, {"pull-request-url", "https://x/y\n"},
		{"pull-request-operation", "merged"}, {"report-path", "../x"}, {"report-path", "a/../../x"}, {"report-path", "a\nb"}, {"report-path", "$HOME"}, {"report-path", "-rf"},
	}
	for _, e := range tests {
		if err := r.SetOutput(e.name, e.value); err == nil {
			t.Errorf("SetOutput(%q, %q) = nil, want an error", e.name, e.value)
		}
	}
	if got := content(t, path); got != "" {
		t.Errorf("the file holds %q, want nothing", got)
	}
}

func FuzzSetOutput(f *testing.F) {
	f.Add("branch", "x\nevil=1")
	f.Add("status", "completed")
	f.Fuzz(func(t *testing.T, name, value string) {
		path := filepath.Join(t.TempDir(), "out")
		r := connect(t, &bytes.Buffer{}, "GITHUB_OUTPUT", path)
		if err := r.SetOutput(name, value); err != nil {
			return
		}
		if got, ok := entries(content(t, path)); !ok || !slices.Equal(got, []entry{{name, value}}) {
			t.Errorf("SetOutput(%q, %q) is read as %q (%v)", name, value, got, ok)
		}
	})
}

func TestOutputFileIsWatched(t *testing.T) {
	t.Parallel()
	const before = "earlier=1\n"
	grow := func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("evil=1\n")
		return errors.Join(err, f.Close())
	}
	tests := []struct {
		name   string
		attack func(path string) error
		want   error
	}{
		{"grown", grow, ErrChanged},
		{"shrunk", func(path string) error { return os.Truncate(path, 0) }, ErrChanged},
		{"overwritten in place", func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("x"), len(before)), 0o644)
		}, ErrChanged},
		{"renamed over", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("evil=1\n"), 0o644), os.Rename(path+".new", path))
		}, ErrChanged},
		{"link in its place", func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		}, ErrChanged},
		{"link to nothing in its place", func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink(path+".nothing", path))
		}, ErrChanged},
		{"hard link in its place", func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte("evil=1\n"), 0o644), os.Remove(path), os.Link(path+".other", path))
		}, ErrChanged},
		{"deleted", os.Remove, ErrChanged},
		{"made unreadable", func(path string) error { return os.Chmod(path, 0) }, ErrChanged},
		{"unreadable and grown", func(path string) error { return errors.Join(grow(path), os.Chmod(path, 0o200)) }, ErrChanged},
		{"pipe in its place", func(path string) error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644))
		}, ErrChanged},
		{"empty folder in its place", func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		}, ErrChanged},
		{"folder in its place", func(path string) error {
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "x"), 0o755))
		}, ErrReplaced},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, path := withFile(t, "GITHUB_OUTPUT", before)
			if err := tt.attack(path); err != nil {
				t.Fatal(err)
			}
			if err := r.SetOutput("iterations", "3"); !errors.Is(err, tt.want) {
				t.Errorf("SetOutput = %v, want %v", err, tt.want)
			}
			if tt.want == ErrReplaced {
				if err := r.Summary("x"); err != nil {
					t.Errorf("Summary = %v, want it unharmed", err)
				}
				return
			}
			if err := r.SetOutput("completed", "true"); err != nil {
				t.Errorf("second SetOutput = %v, want nil", err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
				t.Errorf("the file is %v, %v; want the mode it had", info, err)
			}
			want := []entry{{"earlier", "1"}, {"iterations", "3"}, {"completed", "true"}}
			if got, ok := entries(content(t, path)); !ok || !slices.Equal(got, want) {
				t.Errorf("the runner reads %q (%v), want %q", got, ok, want)
			}
		})
	}
}

// A link's target is never written to.
func TestLinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	r, path := withFile(t, "GITHUB_OUTPUT", "")
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, []byte("precious"), 0o644), os.Remove(path), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if err := r.SetOutput("completed", "true"); !errors.Is(err, ErrChanged) {
		t.Errorf("SetOutput = %v, want %v", err, ErrChanged)
	}
	if got := content(t, target); got != "precious" {
		t.Errorf("the target of the link holds %q", got)
	}
	if got, ok := entries(content(t, path)); !ok || !slices.Equal(got, []entry{{"completed", "true"}}) {
		t.Errorf("the runner reads %q", got)
	}
}

// What the agent left in the files is gone at the end, also where nothing was
// written after it.
func TestFilesAreCheckedAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		r, path := withFile(t, variable, "earlier=1\n")
		if err := os.WriteFile(path, []byte("status=completed\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); !errors.Is(err, ErrChanged) {
			t.Errorf("Close = %v, want %v", err, ErrChanged)
		}
		if got := content(t, path); got != "earlier=1\n" {
			t.Errorf("%s holds %q after Close", variable, got)
		}
	}
}

// GITHUB_ENV and GITHUB_PATH belong to nobody here: not opened, not written.
func TestEnvAndPathAreNeverWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"}
	var variables []string
	for _, name := range append(names, "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY") {
		variables = append(variables, name, filepath.Join(dir, name))
	}
	var log bytes.Buffer
	r := connect(t, &log, variables...)
	err := errors.Join(r.SetOutput("status", "completed"), r.Summary("text"))
	w := r.Untrusted()
	_, _ = w.Write([]byte("::set-env name=A::b\n::add-path::/evil\n::save-state name=a::b\n##[set-env name=A]b\n"))
	r.Mask("some secret value")
	r.Group("a")
	r.EndGroup()
	r.Error("a", "::set-env name=A::b")
	if err = errors.Join(err, w.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file of %s exists: %v", name, err)
		}
	}
	for _, c := range (&parser{}).obeyed(log.String()) {
		if !slices.Contains([]string{"add-mask", "group", "endgroup", "error"}, c.name) {
			t.Errorf("the runner obeys %q", c)
		}
	}
}

// A file that takes nothing is an error, never a panic, and no half entry.
func TestFilesThatTakeNothing(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		r, path := withFile(t, variable, "earlier=1\n")
		file := r.outputs
		if variable == "GITHUB_STEP_SUMMARY" {
			file = r.summary
		}
		good, readOnly := file.f, openToRead(t, path)
		file.f = readOnly
		err := r.SetOutput("completed", "true")
		if variable == "GITHUB_STEP_SUMMARY" {
			err = r.Summary("text")
		}
		if err == nil || !strings.Contains(err.Error(), variable) || errors.Is(err, ErrChanged) {
			t.Errorf("writing %s to a file that takes nothing = %v, want an error that names it", variable, err)
		}
		if got := content(t, path); got != "earlier=1\n" {
			t.Errorf("%s holds %q", variable, got)
		}
		file.f = good
		if err := errors.Join(readOnly.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
}

func openToRead(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCommandFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, pipe, full := filepath.Join(dir, "link"), filepath.Join(dir, "pipe"), filepath.Join(dir, "full")
	err := errors.Join(os.Symlink(full, link), syscall.Mkfifo(pipe, 0o644), os.WriteFile(full, make([]byte, maxBefore+1), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for path, word := range map[string]string{
		link:                            "symbolic link",
		pipe:                            "not a regular file",
		full:                            "more than 1 MiB",
		dir:                             "cannot be written",
		filepath.Join(dir, "no/such/f"): "no such file",
	} {
		for _, variable := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
			_, err := New(Options{Getenv: environment(variable, path), Stdout: &bytes.Buffer{}})
			wantError(t, "New with "+variable+"="+filepath.Base(path), err, variable, path, word)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	r, path := withFile(t, "GITHUB_STEP_SUMMARY", "before\n")
	if err := r.Summary("# Done\n" + token1 + " \xff"); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, path), "before\n# Done\n*** \ufffd\n"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, end string }{
		{"many lines", strings.Repeat("a line of text\n", 100_000), "a line of text\n\n" + summaryCut},
		{"one line", strings.Repeat("ü", 1<<20), "ü\n" + summaryCut},
		{"open fence", "````text\n" + strings.Repeat("```\n", 1<<20), "```\n\n````\n\n" + summaryCut},
		{"open folds", strings.Repeat("<details><summary>x</summary>\n", 3) + strings.Repeat("text\n", 1<<20), "text\n\n</details>\n</details>\n</details>\n" + summaryCut},
		{"closed ones", "```go\nx\n```\n<details>\n</details>\n```inline```\n" + strings.Repeat("text\n", 1<<20), "text\n\n" + summaryCut},
		{"folds without end", strings.Repeat("<details>\n", 1<<18), "<details>\n" + summaryCut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, path := withFile(t, "GITHUB_STEP_SUMMARY", "before\n")
			for range 3 {
				if err := r.Summary(tt.text); err != nil {
					t.Fatalf("Summary = %v", err)
				}
			}
			got := content(t, path)
			if len(got) >= 1<<20 || len(got) < 1<<20-32<<10 {
				t.Errorf("the summary has %d bytes, want just below %d", len(got), 1<<20)
			}
			if first, _, _ := strings.Cut(got, summaryCut); !strings.HasSuffix(first+summaryCut, tt.end) {
				t.Errorf("the summary ends in %q, want %q", got[len(got)-len(tt.end):], tt.end)
			}
		})
	}
}

// What cannot be found any more is written to all the same, and an error: the
// runner may not find it either. Root finds everything.
func TestFolderIsClosed(t *testing.T) {
	t.Parallel()
	r, path := withFile(t, "GITHUB_OUTPUT", "")
	if err := os.Chmod(filepath.Dir(path), 0); err != nil {
		t.Fatal(err)
	}
	err := r.SetOutput("completed", "true")
	if errChmod := os.Chmod(filepath.Dir(path), 0o700); errChmod != nil {
		t.Fatal(errChmod)
	}
	if (err == nil) != (os.Geteuid() == 0) || errors.Is(err, ErrChanged) {
		t.Errorf("SetOutput = %v, want an error for all but root", err)
	}
	if got, ok := entries(content(t, path)); !ok || !slices.Equal(got, []entry{{"completed", "true"}}) {
		t.Errorf("the file holds %q", got)
	}
}
