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

// check runs a guardrail that is shown live.
func check(ctx context.Context, g ralph.Guardrail, iteration int) ralph.Verdict {
	live := make(chan struct{})
	close(live)
	v, rest := g.Check(ctx, iteration, live)
	rest()
	return v
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
			v := check(t.Context(), guard.New([]guard.Spec{tc.spec}, setting(t))[0], 1)
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
			if got := check(t.Context(), guard.New([]guard.Spec{{Command: tc.command}}, set)[0], 0).Message; got != tc.want {
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
	first, second := check(t.Context(), rails[0], 7), check(t.Context(), rails[1], 7)
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
	v := check(t.Context(), guard.New([]guard.Spec{{Command: "exit 1"}}, set)[0], 1)
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
	digest := func(command string) string {
		return check(t.Context(), guard.New([]guard.Spec{{Command: command}}, set)[0], 1).Digest
	}
	if a, b := digest("date +%s%N; exit 1"), digest("date +%s%N; exit 1"); a != b {
		t.Errorf("digests differ though only the time does: %q, %q", a, b)
	}
	one := guard.New([]guard.Spec{{Command: "cat what; exit 1"}}, set)[0]
	write := func(s string) {
		if err := os.WriteFile(filepath.Join(set.Dir, "what"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("TestA failed")
	a := check(t.Context(), one, 1).Digest
	write("TestB failed")
	if b := check(t.Context(), one, 2).Digest; a == b {
		t.Errorf("digests agree though the failure is another: %q", a)
	}
}

func TestNothingIsRunAfterTheEnd(t *testing.T) {
	t.Parallel()
	set := setting(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := check(ctx, guard.New([]guard.Spec{{Command: "touch ran"}}, set)[0], 1)
	if _, err := os.Stat(filepath.Join(set.Dir, "ran")); err == nil || v.Passed || !v.Unfinished || v.Reason == "" {
		t.Errorf("Check() after the end = %+v, want a verdict that is not finished, with a reason, and no run", v)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	err := guard.Broken([]ralph.Verdict{{Command: "ok", Passed: true}, {Command: "red", ExitCode: 1}, {Command: "lnit", ExitCode: 127, Broken: true, Output: "sh: lnit: not found\n"}}, false)
	if err == nil || !strings.Contains(err.Error(), `guardrail "lnit" cannot be started: sh: lnit: not found`) || strings.Contains(err.Error(), "red") {
		t.Errorf("Broken() = %v, want the one that cannot start", err)
	}
	for local, want := range map[bool]string{true: "; correct the command, or install what it needs", false: "; correct the command, or provide what it needs: on the runner by a step before ralph, in the container by an image of your own (docs/your-language.md)"} {
		if err := guard.Broken([]ralph.Verdict{{Command: "lnit", Broken: true, Reason: "there is no program lnit"}}, local); err == nil || !strings.HasSuffix(err.Error(), "there is no program lnit"+want) {
			t.Errorf("Broken(local %t) = %v, want %q at its end", local, err, want)
		}
	}
	if err := guard.Broken(nil, true); err != nil {
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

// Guardrails that run side by side each have a log, and what one prints is shown when
// it is its turn, whole.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	set := setting(t)
	pool := proc.NewPool(set.Process.(*proc.Supervisor))
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	set.Process = pool
	var shown bytes.Buffer
	set.Show = func(string) io.WriteCloser { return nopCloser{&shown} }
	// Each waits for the other: one after the other, neither would end.
	meet := func(mine, other string) string {
		return "touch " + mine + "; echo " + mine + " is here; until test -e " + other + "; do sleep 0.01; done; head -c 700000 /dev/zero | tr '\\0' " + mine + "; echo"
	}
	first, second := meet("a", "b"), meet("b", "a")+"; exit 3"
	rule := ralph.Rule{Parallel: true}
	l := ralph.Loop{
		Guardrails: guard.New([]guard.Spec{{Command: first, Rule: rule, Timeout: time.Minute}, {Command: second, Rule: rule, Timeout: time.Minute}}, set), Jobs: 2,
		Emit: func(e ralph.Event) {
			switch e.Kind {
			case ralph.EventGuardrailStart:
				shown.WriteString("[")
			case ralph.EventGuardrailEnd:
				shown.WriteString("]")
			}
		},
	}
	verdicts := l.Baseline(t.Context())
	if len(verdicts) != 2 || !verdicts[0].Passed || verdicts[1].ExitCode != 3 {
		t.Fatalf("Baseline() = %+v, want a pass and exit code 3", verdicts)
	}
	text := func(name string) string { return name + " is here\n" + strings.Repeat(name, 700000) + "\n" }
	if got, want := shown.String(), "["+text("a")+"]["+text("b")+"]"; got != want {
		t.Errorf("shown are %d bytes, want %d: one after the other", len(got), len(want))
	}
	for i, name := range []string{"a", "b"} {
		if data, err := os.ReadFile(filepath.Join(set.Dir, verdicts[i].LogFile)); err != nil || string(data) != text(name) {
			t.Errorf("log of %s: %d bytes, %v", name, len(data), err)
		}
	}
}

// A cancelled run ends all of them, with all that they started.
func TestCancelEndsAll(t *testing.T) {
	t.Parallel()
	set := setting(t)
	pool := proc.NewPool(set.Process.(*proc.Supervisor))
	t.Cleanup(func() { _ = pool.Close() })
	set.Process = pool
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var specs []guard.Spec
	for _, name := range []string{"a", "b", "c"} {
		specs = append(specs, guard.Spec{Command: "(trap '' TERM; echo $$ > " + name + ".part; mv " + name + ".part " + name + "; sleep 3600) & wait", Rule: ralph.Rule{Parallel: true}})
	}
	go func() {
		for _, name := range []string{"a", "b", "c"} {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(set.Dir, name)); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		cancel()
	}()
	verdicts := (&ralph.Loop{Guardrails: guard.New(specs, set), Jobs: 3}).Baseline(ctx)
	if len(verdicts) != 3 {
		t.Fatalf("%d verdicts, want 3", len(verdicts))
	}
	for _, v := range verdicts {
		if v.Passed || v.Reason != "cancelled" {
			t.Errorf("verdict = %+v, want cancelled", v)
		}
	}
}
