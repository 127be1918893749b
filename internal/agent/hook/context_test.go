package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/agent/hook"
)

// transcriptOf makes a transcript of a size in bytes; it takes no room on disk.
func transcriptOf(tb testing.TB, dir string, size int64) string {
	tb.Helper()
	path := filepath.Join(dir, "transcript.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		tb.Fatal(err)
	}
	return path
}

func post(tb testing.TB, m hook.Monitor, session, path string) hook.Answer {
	tb.Helper()
	return hook.Hook{Monitor: m}.Answer(hook.PostToolUse, strings.NewReader(input(tb, map[string]any{
		"session_id": session, "transcript_path": path, "hook_event_name": "PostToolUse", "tool_name": "Read",
	})))
}

// 003-16: five thresholds, three severities, each once a session.
func TestContextAlerts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := hook.Monitor{Dir: dir}
	for _, step := range []struct {
		percent  int64
		severity string
		text     string
	}{
		{49, "", ""},
		{50, "NOTICE", "Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up work, add new stories to tasks.json — the next iteration will pick them up."},
		{51, "", ""},
		{60, "NOTICE", "Be mindful of remaining space."},
		{70, "WARNING", "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next iteration has full context."},
		{79, "", ""},
		{80, "WARNING", "Finish your current task and commit soon."},
		{90, "CRITICAL", "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. The next iteration will continue from where you left off."},
		{99, "", ""}, {500, "", ""},
	} {
		answer := post(t, m, "s-1", transcriptOf(t, dir, step.percent*200_000*4/100))
		if len(answer.Warnings) > 0 || answer.Refused {
			t.Errorf("%d%%: %+v", step.percent, answer)
		}
		if step.severity == "" {
			if answer.Context != "" {
				t.Errorf("%d%%: %q, want silence", step.percent, answer.Context)
			}
			continue
		}
		if !strings.HasPrefix(answer.Context, step.severity+":") || !strings.Contains(answer.Context, step.text) {
			t.Errorf("%d%%: %q, want %s with %q", step.percent, answer.Context, step.severity, step.text)
		}
		if want := `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"` + step.severity; !strings.HasPrefix(string(answer.JSON()), want) {
			t.Errorf("answer = %s, want it to begin with %s", answer.JSON(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "claude-context-alerts-s-1")); err != nil {
		t.Error(err)
	}
	// Another session has its own alerts; several thresholds at once are one alert.
	if got := post(t, m, "s-2", transcriptOf(t, dir, 760_000)).Context; !strings.HasPrefix(got, "CRITICAL: about 95%") {
		t.Errorf("second session: %q", got)
	}
	if got := post(t, m, "s-2", transcriptOf(t, dir, 420_000)).Context; got != "" {
		t.Errorf("a lower threshold spoke after a higher one: %q", got)
	}
	// 003-16: SessionStart arms them again, but a compaction starts no session.
	for source, want := range map[string]string{"compact": "", "startup": "CRITICAL"} {
		hook.Hook{Monitor: m}.Answer(hook.SessionStart, strings.NewReader(`{"session_id":"s-`+source+`"}`))
		path := transcriptOf(t, dir, 760_000)
		post(t, m, "s-"+source, path)
		start := hook.Hook{Monitor: m}.Answer(hook.SessionStart, strings.NewReader(`{"session_id":"s-`+source+`","source":"`+source+`","hook_event_name":"SessionStart"}`))
		if len(start.Warnings) > 0 {
			t.Errorf("SessionStart: %q", start.Warnings)
		}
		if got := post(t, m, "s-"+source, path).Context; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("after %s: %q, want %q", source, got, want)
		}
	}
}

// 003-16: CLAUDE_CONTEXT_WINDOW
func TestContextWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	window, err := hook.ParseWindow("1000")
	if err != nil {
		t.Fatal(err)
	}
	if got := post(t, hook.Monitor{Dir: dir, Window: window}, "a", transcriptOf(t, dir, 3600)).Context; !strings.HasPrefix(got, "CRITICAL") {
		t.Errorf("90%% of a small window: %q", got)
	}
	for _, s := range []string{"0", "-1", "many", "1e6", "99999999999999999999", "\x1b"} {
		if n, err := hook.ParseWindow(s); err == nil || n != 0 {
			t.Errorf("ParseWindow(%q) = %d, %v, want an error", s, n, err)
		}
	}
	if n, err := hook.ParseWindow(""); n != 0 || err != nil {
		t.Errorf(`ParseWindow("") = %d, %v`, n, err)
	}
}

// The session's id and what waits under the file's name are foreign.
func TestContextStateIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := transcriptOf(t, dir, 760_000)
	m := hook.Monitor{Dir: dir}
	for _, session := range []string{"../../etc/passwd", "a/b", "a b", "x\n", strings.Repeat("a", 200), ".", "é"} {
		if answer := post(t, m, session, path); answer.Context != "" || len(answer.Warnings) != 1 {
			t.Errorf("session %q: %+v, want a warning", session, answer)
		}
	}
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := func(s string) string { return filepath.Join(dir, "claude-context-alerts-"+s) }
	if err := os.Symlink(victim, name("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(victim, name("hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"link", "hard", "folder"} {
		if answer := post(t, m, session, path); answer.Context != "" || len(answer.Warnings) != 1 {
			t.Errorf("%s: %+v, want a warning", session, answer)
		}
		hook.Hook{Monitor: m}.Answer(hook.SessionStart, strings.NewReader(`{"session_id":"`+session+`"}`))
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "keep" {
		t.Errorf("the file behind a link: %q, %v", data, err)
	}
	if _, err := os.Lstat(name("link")); err == nil {
		t.Error("SessionStart left the link")
	}
}

// Parallel tools end at the same time; one alert is enough.
func TestContextAlertOnceInParallel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := transcriptOf(t, dir, 760_000)
	var wg sync.WaitGroup
	var mu sync.Mutex
	alerts := 0
	for range 16 {
		wg.Go(func() {
			answer := post(t, hook.Monitor{Dir: dir}, "p", path)
			mu.Lock()
			defer mu.Unlock()
			if answer.Context != "" {
				alerts++
			}
		})
	}
	wg.Wait()
	if alerts != 1 {
		t.Errorf("%d alerts, want 1", alerts)
	}
}
