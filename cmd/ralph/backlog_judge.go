package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// freshEyes looks for work that no review will see. A review that changed code
// and approved it has looked at its own work: it does not count, once. Where it
// happens again, running the checks changes files, and the run says so.
func (b *backlog) freshEyes() (said []string, _ error) {
	review := b.snapshot.Mode == tasks.Review && !b.rules.SkipReview
	if !review && !b.step.Done || b.looks > 1 {
		return nil, nil
	}
	files := b.changed()
	if files == "" {
		return nil, nil
	}
	if b.step.Done {
		b.unseen = true
		b.job.note("After the last story was approved, more was changed, and no review has seen it: " + files)
		return nil, nil
	}
	r := b.snapshot.Withdraw(b.list, "")
	if !r.Changed {
		return nil, nil
	}
	id := b.step.Story
	if b.mended[id] {
		b.job.note(fmt.Sprintf("The review that approved story %s also changed files: %s", oneLine(id), files))
		return nil, nil
	}
	b.mended[id] = true
	for i := range r.Problems {
		r.Problems[i].Text = fmt.Sprintf("The review approved story %s and changed files itself: %s. A review mends nothing; with these changes in it the story is to be reviewed again.", oneLine(id), files)
	}
	return b.accept(r)
}

// changed lists the files that differ from when the iteration began, committed or
// not, besides the task list and notes for agents; empty also when there is no
// repository. What was not there before does not count: checks leave such things.
func (b *backlog) changed() string {
	if b.head == "" {
		return ""
	}
	out := b.job.gitText(64<<10, "diff", "--name-only", "--no-ext-diff", "-z", b.head, "--", ".",
		":(exclude)"+b.job.cfg.RalphDir, ":(exclude,glob)**/CLAUDE.md", ":(exclude,glob)**/AGENTS.md", ":(exclude).claude")
	files := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	for i := range files {
		files[i] = oneLine(files[i])
	}
	return listed(files)
}

// oneLine makes a foreign name fit to stand in a sentence.
func oneLine(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || len(s) > 200 {
		return quoted[:min(len(quoted), 200)]
	}
	return s
}

// settlement is what the iteration came to. A review that approves what the
// checks refuse does not count, unless they were red before anybody did anything.
func (b *backlog) settlement(it ralph.Iteration, said []string) (ralph.Settlement, error) {
	withdrawn := false
	if red := b.broke(it.Verdicts); len(red) > 0 && b.snapshot.Mode == tasks.Review {
		r := b.snapshot.Withdraw(b.list, strings.Join(red, ", "))
		more, err := b.accept(r)
		said = append(said, more...)
		if err != nil {
			return ralph.Settlement{}, err
		}
		withdrawn = r.Changed
	}
	withdrawn = withdrawn || b.mended[b.step.Story]
	for _, v := range it.Verdicts {
		b.green[v.Command] = b.green[v.Command] || v.Passed
	}
	s := ralph.Settlement{Problems: said, Done: b.list.Done(b.rules)}
	for _, p := range b.snapshot.Transitions(b.list) {
		if p.Kind != tasks.Stuck || withdrawn {
			continue
		}
		if s.Stuck = true; b.looks > 1 {
			s.Problems = append(s.Problems, b.folder.Path(tasks.TasksName)+": "+p.Text)
		}
	}
	for _, story := range b.list.Report(b.rules) {
		if story.ID == b.step.Story {
			s.Status = story.Status
		}
		if !story.Done {
			s.Left++
		}
	}
	return s, nil
}

// broke names the guardrails that fail and have passed before.
func (b *backlog) broke(verdicts []ralph.Verdict) (red []string) {
	for _, v := range verdicts {
		if !v.Passed && b.green[v.Command] {
			red = append(red, v.Command)
		}
	}
	return red
}
