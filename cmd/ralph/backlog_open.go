package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

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
	j.atEnd(func() { j.backlog.seal() }) // when every child is gone
	b := &backlog{
		job: j, folder: folder, rules: tasks.Rules{ReviewCap: j.cfg.ReviewCap, SkipReview: j.cfg.SkipReview, Only: j.cfg.Story},
		worked: map[string]int{}, began: map[string]string{}, green: map[string]bool{},
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
		if err := b.lock.Clear(); err != nil {
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
