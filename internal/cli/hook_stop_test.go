package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hookStory is one of a task list, as it was before the iteration and as it is.
type hookStory struct {
	before string // "passes status count"; empty: it is new
	after  string
	extra  string // of JSON, with a comma in front
}

func (s hookStory) fields(state string) (passes, status, count string) {
	f := strings.Fields(state)
	if f[1] != "null" {
		f[1] = `"` + f[1] + `"`
	}
	return f[0], f[1], f[2]
}

// hookMarker and hookList are the files that the stories make.
func hookMarker(mode, extra string, stories []hookStory) string {
	var before []string
	for i, s := range stories {
		if s.before != "" {
			passes, status, count := s.fields(s.before)
			before = append(before, fmt.Sprintf(`"US-%d": {"passes": %s, "reviewStatus": %s, "reviewCount": %s}`, i+1, passes, status, count))
		}
	}
	return fmt.Sprintf(`{"timestamp": "2026-11-21T10:00:00Z", "pid": 1, "max_iterations": 15, "mode": "direct", "reviewCap": 5, "iterationMode": %q, "preIterationSnapshot": {%s}%s}`,
		mode, strings.Join(before, ", "), extra)
}

func hookList(stories []hookStory) string {
	var all []string
	for i, s := range stories {
		passes, status, count := s.fields(s.after)
		extra := s.extra
		if !strings.Contains(extra, "reviewFeedback") {
			extra += `, "reviewFeedback": ""`
		}
		all = append(all, fmt.Sprintf(`{"id": "US-%d", "title": "t", "priority": 1, "acceptanceCriteria": ["a"], "notes": "n", "passes": %s, "reviewStatus": %s, "reviewCount": %s%s}`,
			i+1, passes, status, count, extra))
	}
	return fmt.Sprintf(`{"project": "p", "branchName": "ralph/x", "description": "d", "userStories": [%s]}`, strings.Join(all, ", "))
}

// The checks of a stop while a task loop runs: the seed's list of what its hook
// has to block, through the real binary.
// 003-17, 003-18, 003-19, 003-20, 003-21, 003-22, 003-23
func TestHookStopChecks(t *testing.T) {
	t.Parallel()
	const (
		todo  = "false null 0"
		done  = "true approved 1"
		fixed = `, "reviewFeedback": "mend it"`
		skip  = `, "skipReview": true`
	)
	notApproved := func(status string) string {
		return "Story US-1 has passes=true but reviewStatus is '" + status + "', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle."
	}
	implement := func(id, what string) string {
		return "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story " + id + " had illegal transition: " + what + "."
	}
	for _, tc := range []struct {
		name    string
		mode    string
		extra   string // of the marker
		stories []hookStory
		want    string // of the reason; empty: approved
	}{
		// Check 2
		{"003-19 passes without a status", "", "", []hookStory{{"", "true null 0", ""}}, notApproved("null")},
		{"003-19 passes, needs review", "", "", []hookStory{{"", "true needs_review 0", ""}}, notApproved("needs_review")},
		{"003-19 passes, changes requested", "", "", []hookStory{{"", "true changes_requested 1", fixed}}, notApproved("changes_requested")},
		{"003-19 passes, approved", "", "", []hookStory{{"", done, ""}}, ""},
		{"003-19 no feedback", "", "", []hookStory{{"", "false changes_requested 1", ""}}, "Feedback required"},
		{"003-19 approved, passes not", "", "", []hookStory{{"", "false approved 1", ""}}, "out of sync"},
		{"003-19 a count beyond the cap", "", "", []hookStory{{"", "true approved 7", ""}}, "reviewCount 7"},
		{"003-18 a count below zero", "", "", []hookStory{{"", "false null -1", ""}}, "reviewCount"},
		{"003-19 skipped", "implement", skip, []hookStory{{todo, "true null 0", ""}}, ""},
		// Check 2.5, implement
		{"003-20 passes", "implement", "", []hookStory{{todo, "true null 0", ""}}, implement("US-1", "passes false → true")},
		{"003-20 approves", "implement", "", []hookStory{{todo, "true approved 0", ""}}, implement("US-1", "reviewStatus null → approved")},
		{"003-20 counts", "implement", "", []hookStory{{todo, "false needs_review 1", ""}}, implement("US-1", "reviewCount 0 → 1")},
		{"003-20 hands over", "implement", "", []hookStory{{todo, "false needs_review 0", ""}}, ""},
		{"003-20 a new story", "implement", "", []hookStory{{todo, "false needs_review 0", ""}, {"", todo, ""}}, ""},
		{"003-20 a new story that passes", "implement", "", []hookStory{{todo, todo, ""}, {"", done, ""}}, "US-2"},
		// review
		{"003-21 approves", "review", "", []hookStory{{"false needs_review 1", "true approved 2", ""}}, ""},
		{"003-21 requests changes", "review", "", []hookStory{{"false needs_review 1", "false changes_requested 2", fixed}}, ""},
		{"003-21 does not count", "review", "", []hookStory{{"false needs_review 1", "true approved 1", ""}}, "Review iteration made illegal transition on story US-1: "},
		{"003-21 two stories", "review", "", []hookStory{{"false needs_review 1", "true approved 2", ""}, {"false needs_review 0", "true approved 1", ""}}, "Review iteration made illegal transition on story US-2: "},
		// review-fix
		{"003-22 passes", "review-fix", "", []hookStory{{"false changes_requested 1", "true approved 1", ""}}, "Review-fix iterations cannot approve stories. Story US-1 must go back to needs_review for re-review. Illegal transition: "},
		{"003-22 hands back", "review-fix", "", []hookStory{{"false changes_requested 1", "false needs_review 1", ""}}, ""},
		{"003-22 counts", "review-fix", "", []hookStory{{"false changes_requested 1", "false needs_review 2", ""}}, "reviewCount 1 → 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newHookPlace(t)
			text := hookMarker(tc.mode, tc.extra, tc.stories)
			if tc.mode == "" { // 003-23: no snapshot
				text = `{"reviewCap": 5}`
			}
			p.write(".ralph-active", text)
			p.write("ralph/tasks.json", hookList(tc.stories))
			got := p.hook(stopInput("s", "", ""), "stop")
			if (got.Decision == "block") != (tc.want != "") || !strings.Contains(got.Reason, tc.want) {
				t.Errorf("stop = %s, want %q", got.line, tc.want)
			}
			if snapshot := !strings.Contains(got.warnings, "holds no snapshot"); snapshot != (tc.mode != "") {
				t.Errorf("warnings = %q", got.warnings)
			}
			if err := os.Remove(filepath.Join(p.dir, ".ralph-active")); err != nil {
				t.Fatal(err)
			}
			if got := p.hook(stopInput("s", "", ""), "stop"); got.line != approve || got.warnings != "" {
				t.Errorf("003-17 without a marker: %s%s", got.line, got.warnings)
			}
		})
	}
}

// 003-18: what is no task list is said with its place.
func TestHookStopSchema(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"missing":          {"", "ralph/tasks.json is missing"},
		"not JSON":         {"{", "ralph/tasks.json:1:"},
		"no stories":       {`{"project": "p", "branchName": "b", "description": "d"}`, "userStories"},
		"a wrong type":     {strings.Replace(hookList([]hookStory{{"", "false null 0", ""}}), `"priority": 1`, `"priority": "high"`, 1), "priority"},
		"ids twice":        {strings.Replace(hookList([]hookStory{{"", "false null 0", ""}, {"", "false null 0", ""}}), "US-2", "US-1", 1), "US-1"},
		"no notes":         {strings.Replace(hookList([]hookStory{{"", "true approved 1", ""}}), `"notes": "n"`, `"notes": ""`, 1), "notes"},
		"huge":             {strings.Repeat(" ", 9<<20), "larger than"},
		"only white space": {strings.Repeat(" ", 5<<20), "ralph/tasks.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newHookPlace(t)
			p.write(".ralph-active", `{"commits": "ralph"}`)
			p.write("ralph/tasks.json", tc.text)
			if got := p.hook(stopInput("s", "", ""), "stop"); got.Decision != "block" || !strings.Contains(got.Reason, tc.want) {
				t.Errorf("stop = %s, want %q", got.line, tc.want)
			}
		})
	}
	p := newHookPlace(t)
	p.write(".ralph-active", `{"commits": "ralph"}`)
	if err := os.Symlink("/etc/passwd", p.write("ralph/tasks.json", "")); err != nil {
		t.Fatal(err)
	}
	if got := p.hook(stopInput("s", "", ""), "stop"); got.Decision != "block" || !strings.Contains(got.Reason, "symbolic link") || strings.Contains(got.line, "root:") {
		t.Errorf("a link: %s", got.line)
	}
}

// 003-24: uncommitted changes. What a run of ours leaves there is none, and
// nothing that a repository names is started.
func TestHookStopUncommitted(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.git("init", "-q")
	good := []hookStory{{"false null 0", "false needs_review 0", ""}}
	p.write("ralph/tasks.json", hookList(good))
	p.write("sub/file.txt", "1")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "first")
	p.write(".ralph-active", hookMarker("implement", "", good))
	for _, name := range []string{"cancel", "lock", "logs/session-1.log", "sessions/a.json", "report.json", "tmp-1", ".gitignore"} {
		p.write(".ralph/"+name, "x")
	}
	p.git("config", "core.fsmonitor", "touch "+filepath.Join(p.dir, "pwned")+"; false")
	stop := func() hooked {
		p.t.Helper()
		return p.hook(stopInput("s", "", ""), "stop")
	}
	if got := stop(); got.line != approve || got.warnings != "" {
		t.Errorf("a clean tree: %s%s", got.line, got.warnings)
	}
	p.write("sub/file.txt", "2")
	p.write("sub/ü b.txt", "2")
	p.write(".ralph/settings.json", "{}") // which people keep
	p.git("mv", "ralph/tasks.json", "ralph/old.json")
	p.write("ralph/tasks.json", hookList(good))
	want := "There are uncommitted changes:\n    R  ralph/old.json\n     M sub/file.txt\n    ?? .ralph/\n    ?? ralph/tasks.json\n    ?? sub/ü b.txt\nBefore you stop:\n" +
		"1. Update `ralph/progress.txt` with what was accomplished + learnings\n" +
		"2. Consider if any lasting patterns belong in CLAUDE.md or `.claude/rules/`\n" +
		"3. Commit ALL changes including progress.txt and tasks.json updates\nThen stop again."
	if got := stop(); got.Decision != "block" || got.Reason != want {
		t.Errorf("stop = %q, want %q", got.Reason, want)
	}
	// Who was refused already is told shortly how to get rid of what is left.
	again := strings.Replace(stopInput("s", "", ""), `"stop_hook_active":false`, `"stop_hook_active":true`, 1)
	short := strings.NewReplacer("There are uncommitted", "There are still uncommitted", want[strings.Index(want, "Before you stop"):],
		"Commit ALL changes including progress.txt and tasks.json updates: git add -A && git commit.\n"+
			"What does not belong in the repository, such as caches and build results: delete it, or name it in .gitignore and commit that.\nThen stop again.").Replace(want)
	if got := p.hook(again, "stop"); got.Decision != "block" || got.Reason != short {
		t.Errorf("stop = %q, want %q", got.Reason, short)
	}
	// Several problems are all told.
	p.write("ralph/tasks.json", hookList([]hookStory{{"", "true null 0", ""}}))
	if got := stop(); !strings.HasPrefix(got.Reason, "Story US-1 has passes=true") || !strings.Contains(got.Reason, "Implement iterations cannot set passes=true") || !strings.HasSuffix(got.Reason, want) {
		t.Errorf("stop = %q, want every problem", got.Reason)
	}
	p.write("ralph/tasks.json", hookList(good))
	p.write(".ralph-active", hookMarker("implement", `, "commits": "ralph"`, good))
	if got := stop(); got.line != approve {
		t.Errorf("when ralph commits: %s", got.line)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "pwned")); err == nil {
		t.Error("the repository's fsmonitor was started")
	}
}

// A git that is missing, or that hangs in a filter which the repository names,
// holds nobody up.
func TestHookStopWithoutGit(t *testing.T) {
	t.Parallel()
	good := []hookStory{{"false null 0", "false needs_review 0", ""}}
	set := func(t *testing.T) *hookPlace {
		t.Helper()
		p := newHookPlace(t)
		p.write("ralph/tasks.json", hookList(good))
		p.write(".ralph-active", hookMarker("implement", "", good))
		return p
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		p := set(t)
		p.env = []string{"PATH=" + p.dir}
		if got := p.hook(stopInput("s", "", ""), "stop"); got.line != approve || !strings.Contains(got.warnings, "uncommitted changes were not checked") {
			t.Errorf("stop = %s%s", got.line, got.warnings)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		if got := set(t).hook(stopInput("s", "", ""), "stop"); got.line != approve || !strings.Contains(got.warnings, "not a git repository") {
			t.Errorf("stop = %s%s", got.line, got.warnings)
		}
	})
	t.Run("a filter that hangs", func(t *testing.T) {
		t.Parallel()
		p := set(t)
		p.git("init", "-q")
		p.write("a.txt", "1")
		p.git("add", "-A")
		p.git("commit", "-q", "-m", "first")
		p.git("config", "filter.x.clean", "sleep 301")
		p.write(".gitattributes", "*.txt filter=x\n")
		p.write("a.txt", "2")
		got := p.hook(stopInput("s", "", ""), "stop")
		if got.line != approve || !strings.Contains(got.warnings, "git status timed out after 5s") || got.took > 30*time.Second {
			t.Errorf("stop after %s = %s%s", got.took, got.line, got.warnings)
		}
	})
}
