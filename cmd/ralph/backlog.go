package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// backlog is the task list of a run; it is the loop's ralph.Backlog. What the
// list says is believed as it was before an iteration, and after it only as far
// as the iteration was allowed to write it.
type backlog struct {
	job    *job
	folder *tasks.Folder
	lock   *tasks.Lock
	rules  tasks.Rules
	prompt string // prompt.md as it was before the agent could edit it
	branch string
	asked  map[string]tasks.Story // by id, as people wrote them

	list     *tasks.List    // legal, and what the file holds; nil before the first iteration
	snapshot tasks.Snapshot // as it was before the iteration at hand
	step     ralph.Step
	between  []string          // what was put back since the iteration before
	worked   map[string]int    // iterations by story
	began    map[string]string // HEAD before a story's first iteration
	looks    int               // at the list, since the iteration began
	head     string            // when the iteration began
	mended   map[string]bool   // stories whose review was withdrawn because it changed code
	// unseen says that something was changed after the last story was approved.
	unseen bool
	green  map[string]bool // guardrails that have passed once
}

// readTaskList looks at the task list before anything else is done: its branch is
// that of the run, its commands are guardrails, and neither is the agent's to
// change later.
func (j *job) readTaskList() error {
	if j.cfg.Mode != config.ModeTasks {
		return nil
	}
	folder, err := tasks.OpenFolder(j.workspace, j.cfg.RalphDir)
	if err != nil {
		return invalid(err)
	}
	j.afterwards(func() { _ = folder.Close() })
	b := &backlog{
		job: j, folder: folder, rules: tasks.Rules{ReviewCap: j.cfg.ReviewCap, SkipReview: j.cfg.SkipReview, Only: j.cfg.Story},
		worked: map[string]int{}, began: map[string]string{}, green: map[string]bool{}, mended: map[string]bool{},
	}
	list, err := b.read()
	if b.prompt = j.cfg.Prompt; b.prompt == "" {
		text, wrong := folder.Prompt()
		if wrong == nil && strings.TrimSpace(text) == "" {
			wrong = fmt.Errorf("%s is empty: say in it what an iteration does, or restore it with: ralph tasks init", folder.Path(tasks.PromptName))
		}
		b.prompt = text
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return invalid(err)
	}
	if b.branch = list.BranchName; b.branch != "" {
		if err := ralph.CheckBranch(b.branch); err != nil {
			return invalid(fmt.Errorf("%s: branchName: %w", folder.Path(tasks.TasksName), err))
		}
	}
	for _, command := range list.VerifyCommands {
		known := slices.ContainsFunc(j.cfg.Guardrails, func(g config.Guardrail) bool { return g.Command == command })
		if !known && strings.TrimSpace(command) != "" {
			j.cfg.Guardrails = append(j.cfg.Guardrails, config.Guardrail{
				Command: command, FailAction: ralph.Append, Timeout: j.cfg.GuardrailTimeout, When: config.Always,
			})
		}
	}
	b.asked = make(map[string]tasks.Story, len(list.Stories))
	for _, s := range list.Stories {
		b.asked[s.ID] = s
	}
	j.report.Task = list.Description
	if j.report.Task == "" {
		j.report.Task = list.Project
	}
	j.backlog = b
	return nil
}

// read is the list as it lies there, which has to be legal.
func (b *backlog) read() (*tasks.List, error) {
	data, err := b.folder.Tasks()
	if err != nil {
		return nil, err
	}
	list, err := tasks.Read(data)
	var problems []string
	var all *tasks.Problems
	switch {
	case errors.As(err, &all):
		for _, p := range all.List {
			problems = append(problems, p.String())
		}
		if all.More > 0 {
			problems = append(problems, fmt.Sprintf("and %d more problems", all.More))
		}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", b.folder.Path(tasks.TasksName), err)
	default:
		for _, p := range list.Check(b.rules) {
			problems = append(problems, p.String())
		}
		if err := list.CheckOnly(b.rules); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for i, p := range problems {
		problems[i] = b.folder.Path(tasks.TasksName) + ":" + p
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	return list, nil
}

// openTaskList takes the task list of the branch that is checked out now for this
// run alone.
func (j *job) openTaskList() error {
	b := j.backlog
	if b == nil {
		return nil
	}
	list, err := b.read()
	if err != nil {
		return invalid(err)
	}
	b.list = list
	take := b.folder.Lock
	if j.runner != nil { // a pid of another container means nothing here, and the workspace is ours alone
		take = b.folder.TakeOver
	}
	if b.lock, err = take(b.marker(tasks.Snapshot{})); err != nil {
		return invalid(err)
	}
	j.atEnd(func() {
		if err := b.lock.Release(); err != nil {
			j.out.warn(err.Error())
		}
	})
	estimate := list.Estimate(b.rules)
	if estimate.Stories == 0 {
		return nil
	}
	j.out.say(estimate.String()) // 003-34
	if most := j.cfg.MaxIterations; most > 0 && estimate.Likely > most {
		n := fmt.Sprintf("max-iterations is %d, and the task list will likely need %d.", most, estimate.Likely)
		j.note(n)
		j.out.say(n)
	}
	return nil
}

// marker is what .ralph-active says. 003-07
func (b *backlog) marker(s tasks.Snapshot) tasks.Marker {
	m := tasks.Marker{
		At: time.Now(), PID: os.Getpid(), MaxIterations: b.job.cfg.MaxIterations, Mode: "direct", Snapshot: s,
		Folder: b.folder.Dir(), Commits: tasks.ByAgent,
	}
	if !s.Known() {
		m.Snapshot.Rules = b.rules
	}
	if b.job.box != nil || b.job.cfg.Isolation != config.IsolationOff {
		m.Mode = "sandbox"
	}
	if b.job.publishes() && b.job.cfg.Commit != config.CommitAgent {
		m.Commits = tasks.ByRalph
	}
	return m
}

// Begin keeps the list and says what the iteration is for. What changed since the
// last one was not the agent's to change: it does not run.
func (b *backlog) Begin(iteration, _ int) (ralph.Step, error) {
	b.between, b.looks = nil, 0
	if iteration == 1 {
		for _, v := range b.job.baseline {
			b.green[v.Command] = v.Passed
		}
	}
	data, err := b.folder.Tasks()
	if err != nil || !bytes.Equal(data, b.list.Bytes()) {
		said, err := b.repair(tasks.Between(b.list, b.rules), data, err)
		if err != nil {
			return ralph.Step{}, err
		}
		for _, p := range said {
			b.job.emit(ralph.Event{Kind: ralph.EventWarning, At: time.Now(), Text: p, Iteration: iteration})
		}
		b.between = said
	}
	b.snapshot = tasks.Take(b.list, b.rules)
	if err := b.lock.Update(b.marker(b.snapshot)); err != nil {
		b.job.out.warn(err.Error()) // it is for people and hooks; nothing of ours depends on it
	}
	b.step = ralph.Step{Mode: string(b.snapshot.Mode), Story: b.snapshot.Story.ID, Title: b.snapshot.Story.Title, Done: b.list.Done(b.rules)}
	if b.step.Story == "" && !b.step.Done {
		why := b.list.CheckOnly(b.rules)
		if why == nil {
			why = errors.New("no story is ready, and some are not done")
		}
		return b.step, &ralph.Refusal{Outcome: ralph.Stalled, Err: why}
	}
	b.head = b.job.head()
	if id := b.step.Story; id != "" {
		b.worked[id]++
		if _, known := b.began[id]; !known && b.step.Mode != string(tasks.Review) {
			b.began[id] = b.head
		}
	}
	return b.step, nil
}

// repair makes data, which an agent wrote, a legal list and writes it back. err
// says that it could not be read.
func (b *backlog) repair(s tasks.Snapshot, data []byte, err error) (said []string, _ error) {
	var r tasks.Repaired
	if err != nil {
		r = s.Restore(err)
	} else {
		r = s.Repair(data)
	}
	return b.accept(r)
}

// accept makes a list the one that counts.
func (b *backlog) accept(r tasks.Repaired) (said []string, _ error) {
	for _, p := range r.Problems {
		if p.Kind != tasks.Stuck { // there is nothing to put back
			said = append(said, b.folder.Path(tasks.TasksName)+": "+p.Text)
		}
	}
	if r.Changed {
		if err := b.write(r.List.Bytes()); err != nil {
			return said, fmt.Errorf("what the agent wrote into the task list cannot be put back: %w", err)
		}
	}
	b.list = r.List
	return said, nil
}

// Settle puts back what the iteration was not allowed to write.
func (b *backlog) Settle(it ralph.Iteration) (ralph.Settlement, error) {
	b.looks++
	data, err := b.folder.Tasks()
	if err == nil && b.looks > 1 && bytes.Equal(data, b.list.Bytes()) { // the guardrails left it alone
		return b.settlement(it, nil)
	}
	said, err := b.repair(b.snapshot, data, err)
	if err != nil {
		return ralph.Settlement{}, err
	}
	more, err := b.freshEyes()
	if err != nil {
		return ralph.Settlement{}, err
	}
	return b.settlement(it, append(said, more...))
}

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

// write puts the list back, also where the agent sees it.
func (b *backlog) write(data []byte) error {
	if err := b.folder.WriteTasks(data); err != nil {
		return err
	}
	if b.job.box == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), boxWrite)
	defer cancel()
	return b.job.box.Write(ctx, b.folder.Path(tasks.TasksName), data)
}

const boxWrite = 30 * time.Second

// report is the list as it stands.
func (b *backlog) report() ralph.TaskList {
	if b == nil || b.list == nil {
		return ralph.TaskList{}
	}
	t := ralph.TaskList{
		File: b.folder.Path(tasks.TasksName), Project: b.list.Project,
		SkipReview: b.rules.SkipReview, ReviewCap: b.rules.ReviewCap, Stories: b.list.Report(b.rules),
	}
	for i := range t.Stories {
		t.Stories[i].Iterations = b.worked[t.Stories[i].ID]
	}
	var other []string
	for _, s := range b.list.Stories {
		if was, known := b.asked[s.ID]; known && !slices.Equal(was.AcceptanceCriteria, s.AcceptanceCriteria) {
			other = append(other, oneLine(s.ID))
		}
	}
	if len(other) > 0 {
		b.job.note("The agent changed the acceptance criteria of " + listed(other) + ": compare them with what was asked for.")
	}
	return t
}

// done says that a story is done as the list stands now.
func (b *backlog) done(id string) bool {
	if b == nil || b.list == nil {
		return false
	}
	return slices.ContainsFunc(b.list.Report(b.rules), func(s ralph.Story) bool { return s.ID == id && s.Done })
}
