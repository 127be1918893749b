package memory_test

import (
	"regexp"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
)

// A title becomes the subject of a squash merge, which does not keep the checks
// of the base from running, whatever an issue is called.
func TestTitleLetsChecksRun(t *testing.T) {
	t.Parallel()
	skips := regexp.MustCompile(`(?i)\[\s*(skip ci|ci skip|no ci|skip actions|actions skip)\s*\]`)
	for _, task := range []string{
		"Greet [skip ci]", "[CI  Skip] greet", "greet [no\tci] [skip actions] [actions skip]",
		"The greeting of all people is to be said in a language of theirs [skip ci]",
	} {
		if got := memory.Title(ralph.Report{Task: task}); skips.MatchString(got) {
			t.Errorf("Title(%q) = %q, want none that keeps checks from running", task, got)
		}
	}
}

// A title is of the change, as far as anybody knows what that is, else of the task.
func TestTitleIsOfTheChange(t *testing.T) {
	t.Parallel()
	said := func(list ...ralph.Said) (its []ralph.Iteration) {
		for _, s := range list {
			its = append(its, ralph.Iteration{Said: s})
		}
		return its
	}
	files := ralph.Publication{Files: []ralph.File{{Path: "a.js"}, {Path: "b.js"}}}
	for name, c := range map[string]struct {
		r    ralph.Report
		want string
	}{
		"said":          {ralph.Report{Task: "x", Publication: files, Iterations: said(ralph.Said{Commit: "One"}, ralph.Said{Commit: "Two", Title: "Round prices\nhalf up for @all"})}, "Round prices half up for @\u200dall"},
		"a commit":      {ralph.Report{Task: "x", Publication: files, Iterations: said(ralph.Said{}, ralph.Said{Commit: "One"}, ralph.Said{Commit: "Two"})}, "One"},
		"files":         {ralph.Report{Task: "x", Publication: files, Iterations: said(ralph.Said{Title: "\u200b"})}, "Change a.js and 1 more file"},
		"the task":      {ralph.Report{Task: "\n# Make it **right**\nnow"}, "ralph: Make it **right**"},
		"a task list":   {ralph.Report{Task: "Shop", Tasks: ralph.TaskList{Stories: []ralph.Story{{ID: "US-1"}}}, Publication: files, Iterations: said(ralph.Said{Commit: "One"})}, "ralph: Shop"},
		"nothing known": {ralph.Report{}, "ralph: unattended work"},
	} {
		if got := memory.Title(c.r); got != c.want {
			t.Errorf("%s: Title() = %q, want %q", name, got, c.want)
		}
	}
}
