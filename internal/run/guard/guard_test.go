package guard_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sandbox-init" {
		os.Exit(proc.InitMain(os.Stderr))
	}
	os.Exit(m.Run())
}

// setting is a workspace with a supervisor.
func setting(t *testing.T) guard.Setting {
	t.Helper()
	s, err := proc.Start(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	files, err := rundir.Open(dir, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return guard.Setting{
		Process: s, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Files: files,
		Redact: secret.NewRedactor(secret.New("hunter2hunter2")),
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		spec   guard.Spec
		passed bool
		code   int
		reason string
		broken bool
		text   string // the feedback
	}{
		{"passes", guard.Spec{Command: "echo fine"}, true, 0, "", false, ""},
		{"fails, to the letter", guard.Spec{Command: `echo "no $((1+1))"; exit 3`}, false, 3, "", false, // 001-22, 001-24
			"Guardrail \"echo \"no $((1+1))\"; exit 3\" failed with exit code 3.\nOutput file: .ralph/guardrail_001_echo_no_1_1_exit_3.log\nOutput (truncated):\nno 2\n"},
		{"with a hint", guard.Spec{Command: "echo out; echo err >&2; exit 1", Hint: "Fix lint errors only."}, false, 1, "", false,
			"Guardrail \"echo out; echo err >&2; exit 1\" failed with exit code 1.\nHint: Fix lint errors only.\nOutput file: .ralph/guardrail_001_echo_out_echo_err_2_exit_1.log\nOutput (truncated):\nout\nerr\n"},
		{"times out", guard.Spec{Command: "sleep 3600", Timeout: 50 * time.Millisecond}, false, -1, "timed out after 50ms", false,
			"Guardrail \"sleep 3600\" failed: timed out after 50ms.\nOutput file: .ralph/guardrail_001_sleep_3600.log\nOutput (truncated):\n"},
		{"cannot be found", guard.Spec{Command: "no-such-program"}, false, 127, "", true, ""},
		{"ended by a signal", guard.Spec{Command: "kill -9 $$"}, false, -1, "ended by a signal", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := guard.New([]guard.Spec{tc.spec}, setting(t))[0].Check(t.Context(), 1)
			if v.Passed != tc.passed || v.ExitCode != tc.code || v.Reason != tc.reason || v.Broken != tc.broken {
				t.Errorf("Check() = passed %v, exit code %d, reason %q, broken %v; want %v, %d, %q, %v", v.Passed, v.ExitCode, v.Reason, v.Broken, tc.passed, tc.code, tc.reason, tc.broken)
			}
			if tc.text != "" && v.Message != tc.text {
				t.Errorf("message = %q, want %q", v.Message, tc.text)
			}
			if v.Passed != (v.Message == "") || v.Passed != (v.Digest == "") {
				t.Errorf("passed %v with message %q and digest %q", v.Passed, v.Message, v.Digest)
			}
		})
	}
}

// The messages of the baseline are ours: they call an output truncated only where
// it is.
func TestBaselineMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, command, want string }{
		{"whole", "echo no; exit 3", "Guardrail \"echo no; exit 3\" failed with exit code 3.\nOutput file: .ralph/guardrail_000_echo_no_exit_3.log\nOutput:\nno\n"},
		{"cut", "echo abcdefghijklmn; exit 3", "Guardrail \"echo abcdefghijklmn; exit 3\" failed with exit code 3.\nOutput file: .ralph/guardrail_000_echo_abcdefghijklmn_exit_3.log\nOutput (truncated):\nabcdefghij... [truncated]"},
		{"nothing", "exit 3", "Guardrail \"exit 3\" failed with exit code 3.\nOutput file: .ralph/guardrail_000_exit_3.log\nOutput: none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := setting(t)
			set.Truncate = 10
			if got := guard.New([]guard.Spec{{Command: tc.command}}, set)[0].Check(t.Context(), 0).Message; got != tc.want {
				t.Errorf("message = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLogFiles(t *testing.T) { // 001-20
	t.Parallel()
	set := setting(t)
	var shown bytes.Buffer
	set.Show = func(string) io.WriteCloser { return nopCloser{&shown} }
	set.Truncate = 10
	if err := os.WriteFile(filepath.Join(set.Dir, "out"), []byte(strings.Repeat("é hunter2hunter2\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	long := "cat out; exit 1"
	rails := guard.New([]guard.Spec{{Command: long}, {Command: long}}, set)
	first, second := rails[0].Check(t.Context(), 7), rails[1].Check(t.Context(), 7)
	if first.LogFile == second.LogFile || !strings.HasSuffix(second.LogFile, "_1.log") || !strings.HasPrefix(first.LogFile, ".ralph/guardrail_007_") {
		t.Errorf("log files = %q, %q; want two", first.LogFile, second.LogFile)
	}
	data, err := os.ReadFile(filepath.Join(set.Dir, first.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(data), "é"); got != 100 {
		t.Errorf("the log holds %d lines, want all 100", got)
	}
	for where, text := range map[string]string{"log": string(data), "message": first.Message, "output": first.Output, "live": shown.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the %s shows the secret", where)
		}
	}
	if want := "é ***\né **... [truncated]"; !strings.HasSuffix(first.Message, want) { // 001-23
		t.Errorf("message = %q, want it cut after 10 characters: %q", first.Message, want)
	}
}

func TestLogFileAsTheAgentSeesIt(t *testing.T) {
	t.Parallel()
	set := setting(t)
	set.ToWorkspace = "../.."
	v := guard.New([]guard.Spec{{Command: "exit 1"}}, set)[0].Check(t.Context(), 1)
	if want := "\nOutput file: ../../.ralph/guardrail_001_exit_1.log\n"; !strings.Contains(v.Message, want) {
		t.Errorf("message = %q, want %q in it", v.Message, want)
	}
	if want := ".ralph/guardrail_001_exit_1.log"; v.LogFile != want {
		t.Errorf("log file = %q, want %q", v.LogFile, want)
	}
}

func TestDigestTellsFailuresApart(t *testing.T) {
	t.Parallel()
	set := setting(t)
	check := func(command string) string {
		return guard.New([]guard.Spec{{Command: command}}, set)[0].Check(t.Context(), 1).Digest
	}
	if a, b := check("date +%s%N; exit 1"), check("date +%s%N; exit 1"); a != b {
		t.Errorf("digests differ though only the time does: %q, %q", a, b)
	}
	one := guard.New([]guard.Spec{{Command: "cat what; exit 1"}}, set)[0]
	write := func(s string) {
		if err := os.WriteFile(filepath.Join(set.Dir, "what"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("TestA failed")
	a := one.Check(t.Context(), 1).Digest
	write("TestB failed")
	if b := one.Check(t.Context(), 2).Digest; a == b {
		t.Errorf("digests agree though the failure is another: %q", a)
	}
}

func TestOnChangesKeepsTheVerdict(t *testing.T) {
	t.Parallel()
	set := setting(t)
	tree := "a"
	set.Tree = func() string { return tree }
	rail := guard.New([]guard.Spec{{Command: "echo x >> ran; exit 1", OnChanges: true}}, set)[0]
	runs := func() int {
		data, _ := os.ReadFile(filepath.Join(set.Dir, "ran"))
		return strings.Count(string(data), "x")
	}
	first, again := rail.Check(t.Context(), 1), rail.Check(t.Context(), 2)
	if runs() != 1 || again.Passed || again.Message != first.Message {
		t.Errorf("ran %d times with verdict %q, want once with the first verdict kept", runs(), again.Message)
	}
	tree = "b"
	rail.Check(t.Context(), 3)
	if runs() != 2 {
		t.Errorf("ran %d times, want again for another tree", runs())
	}
}

// TestOnChangesKeepsNoAccident: a guardrail that did not come to its end, on a
// machine that was busy for example, has judged nothing.
func TestOnChangesKeepsNoAccident(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]guard.Spec{
		"timed out": {Command: "test -e ran || { touch ran; sleep 600; }", Timeout: 3 * time.Second},
		"killed":    {Command: "test -e ran || { touch ran; kill -9 $$; }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := setting(t)
			set.Tree = func() string { return "the same" }
			spec.OnChanges = true
			rail := guard.New([]guard.Spec{spec}, set)[0]
			first, again := rail.Check(t.Context(), 1), rail.Check(t.Context(), 2)
			if first.Passed || first.Reason == "" || !again.Passed {
				t.Errorf("verdicts = %+v, %+v, want the second run to count", first, again)
			}
		})
	}
}

func TestNothingIsRunAfterTheEnd(t *testing.T) {
	t.Parallel()
	set := setting(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := guard.New([]guard.Spec{{Command: "touch ran"}}, set)[0].Check(ctx, 1)
	if _, err := os.Stat(filepath.Join(set.Dir, "ran")); err == nil || v.Passed || v.Reason == "" {
		t.Errorf("Check() after the end = %+v, want a failed verdict with a reason and no run", v)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	err := guard.Broken([]ralph.Verdict{{Command: "ok", Passed: true}, {Command: "red", ExitCode: 1}, {Command: "lnit", ExitCode: 127, Broken: true, Output: "sh: lnit: not found\n"}})
	if err == nil || !strings.Contains(err.Error(), `guardrail "lnit" cannot be started: sh: lnit: not found`) || strings.Contains(err.Error(), "red") {
		t.Errorf("Broken() = %v, want the one that cannot start", err)
	}
	if err := guard.Broken(nil); err != nil {
		t.Errorf("Broken(nil) = %v", err)
	}
}

func TestSlug(t *testing.T) { // 001-21
	t.Parallel()
	for in, want := range map[string]string{
		"./mvnw clean install -T 2C": "mvnw_clean_install_T_2C",
		"make lint":                  "make_lint",
		"---":                        "guardrail",
		"":                           "guardrail",
		strings.Repeat("a", 80):      strings.Repeat("a", 50),
		"échec && x":                 "chec_x",
		strings.Repeat("ab ", 30):    strings.TrimSuffix(strings.Repeat("ab_", 17)[:50], "_"),
	} {
		if got := guard.Slug(in); got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
	}
}
