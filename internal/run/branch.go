package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/branchname"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/watch"
	"github.com/org/ralph-action/internal/repo/worktree"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/run/lane"
	"github.com/org/ralph-action/internal/run/left"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/tasks"
	"github.com/org/ralph-action/internal/tasks/taskdir"
)

// publishes says whether we commit, and publish what is committed.
func (p *plan) publishes() bool {
	switch p.cfg.Git.Commit {
	case config.CommitOff:
		return false
	case config.CommitAgent:
		return !p.local() // there nothing must be lost
	}
	return true
}

// findKilled reads what a run has recorded here that was killed.
func (w *workspace) findKilled() {
	if !w.publishes() {
		return
	}
	if w.Before.Left != nil {
		w.killed, w.sealed, w.foreign = left.Record(w.dir(), w.Before.Step)
		if there, _ := killed.Find(w.dir()); w.sealed && left.By(there, w.step()) != nil && !w.killed.Same(there) {
			w.rec.warn("The record of the killed run in the workspace is not the one that it wrote, as if the agent had put another in its place. The post step goes by its own copy, which the agent cannot reach.")
		}
		return
	}
	if w.killed, w.foreign = killed.Find(w.dir()); w.foreign != nil {
		w.rec.warn(fmt.Sprintf("An earlier run was killed here, and its record cannot be used (%v): what it left uncommitted counts as changed before this run.", w.foreign))
	}
}

// followCheckout publishes to the repository that is checked out, where that is not
// the workflow's own, as create-pull-request does.
func (p *plan) followCheckout() error {
	own := p.site.Repository
	if p.local() || own == "" || !p.publishes() || p.cfg.Tasks.Lane.Bundle {
		return nil
	}
	there := gitdir.Origin(p.dir(), p.site.ServerURL)
	if before := p.Before.Left; before != nil { // by now it is the agent's
		there = before.Report.Repository
	}
	if there == "" || strings.EqualFold(there, own) || strings.EqualFold(there, p.cfg.Git.PushToFork) {
		return nil
	}
	if d := p.decision; d.Issue != 0 || d.PullRequest != 0 || d.CommentOn != 0 || d.RunID != 0 {
		return invalid(fmt.Errorf("the checkout is %s, but the event is about %s: check that one out, or set use-event: never, so that the event only starts the run", there, own))
	}
	p.site.Repository, p.rec.report.Repository = there, there
	p.api, p.usualBase = nil, "" // of the workflow's own
	p.rec.tell(fmt.Sprintf("The checkout is %s, not %s: the work is pushed there, and github-token (and ci-token, if given) must be a token for it.", there, own))
	return nil
}

// branch is the repository as this run works on it, and the branch its commits
// go to. Where nothing is published, it is looked at only as far as needed.
type branch struct {
	*sandboxed
	remote     *remote
	repo       *repo.Repo     // nil: nothing is published
	watcher    *watch.Watcher // nil: nobody asks whether the workspace changes
	stallLimit int
	signoff    string                        // who signs our commits off; empty: nobody
	pulls      atomic.Pointer[forge.History] // of the branch, as it was asked for last; nil: it was not
	start      repo.Start
	history    ralph.History // of earlier runs on the branch
	conflict   string        // why the branch is not up to its base, for the agent; empty: it is
	attached   taskFile
	missing    []ralph.Missing // left out by the last run on the branch, and not decided about since
	costs      costRecord
	left       *left.Left // what Post would find; nil: there is none
	lane       *lane.Lane // what is handed over; nil: the run publishes a branch
}

// openRepository looks at the repository before anything is spent.
func openRepository(ctx context.Context, s *sandboxed, r *remote) (*branch, error) {
	b := &branch{sandboxed: s, remote: r, stallLimit: s.cfg.Loop.StallLimit}
	open := b.openRepository
	if !b.publishes() {
		open = b.watchRepository
	}
	err := open(ctx)
	if end, ok := errors.AsType[*endError](err); ok && errors.Is(err, gitdir.ErrNotRepository) {
		end.err = fmt.Errorf("%w: %s", end.err, gitdir.Advice(b.local()))
	}
	return b, err
}

func (b *branch) openRepository(ctx context.Context) error {
	committer := b.committer(ctx)
	if b.cfg.Git.Signoff {
		b.signoff = committer.String()
	}
	author := b.author(committer)
	b.inspect.Work(content.Run{People: []string{committer.String(), author.String(), b.cfg.Git.Committer.String()}, Started: b.rec.started()})
	apart := b.unstacked()
	o := repo.Options{
		Dir: b.dir(), Sandbox: b.git, Temp: b.temp.index, Store: b.temp.store,
		Branch: b.branch(), BranchSuffix: b.suffix(), Base: cmp.Or(b.base(), apart), Apart: apart != "", DefaultBranch: b.remote.fallbackBase(), UpdateBase: b.updateBase(),
		AddPaths: b.cfg.Git.AddPaths, Squash: b.cfg.Git.Squash || b.cfg.Tasks.Lane.Bundle, NoWorkflows: b.remote.noWorkflows() && !b.inspect.GuardsWorkflows(),
		Continue: b.onTheirs(), Stay: b.integrates(), Here: b.cfg.Tasks.Lane.Bundle,
		Committer: repo.Identity(committer), Author: repo.Identity(author),
		Message: b.message, Forged: memory.Forged, IncludeDirty: b.cfg.Git.IncludeDirty, RunFiles: b.runFiles(), Clock: time.Now,
		Pinned: b.stories.Pinned, Inspect: b.inspect.Look, LeaveOut: b.inspect.Leaves, Killed: b.killed, Cache: content.NewCache().Of,
	}
	if b.remote.forge != nil {
		o.Ask = b.askForge
	}
	if step := b.Before.Step; step != nil && b.isolation != config.IsolationOff {
		o.Record.Sealed = step.Root
	}
	if b.Before.Left != nil {
		b.goOn(&o)
	} else if step := b.step(); step != "" && !b.integrates() && !b.cfg.Tasks.Lane.Bundle { // what a lane has not handed over, the next attempt does
		b.left = &left.Left{Step: step, Files: b.Sources.Seen, Report: b.rec.noted()}
		o.Record.Note = b.left.Note
	}
	if b.pushes() {
		b.remote.toServer(&o)
		o.Contact = b.remote.contact
		if b.cfg.Git.SignCommits {
			o.Signer = b.remote.pusher
		}
	}
	if b.isolation != config.IsolationOff {
		if err := b.hideToken(); err != nil {
			return invalid(err)
		}
	}
	r, err := repo.Open(ctx, o)
	if err != nil {
		return invalid(err)
	}
	b.repo = r
	b.git.dir = b.Workspace // repo names the folder itself now, and the agent may remove its own
	b.undo.atEnd(func() { _ = r.Close() })
	if o.Push {
		return invalid(r.Branch().CanPush(ctx))
	}
	return b.openLane(ctx)
}

// toServer sets where the branch and its base are, and the tokens for it.
func (r *remote) toServer(o *repo.Options) {
	o.Remote, o.Token, o.PushToken, o.Push = r.site.ServerURL+"/"+r.site.Repository, r.cfg.Git.Token, r.cfg.Git.CIToken, true
	if r.cfg.Git.PushToFork == "" {
		return
	}
	o.BaseRemote, o.BaseToken = o.Remote, o.Token
	o.Remote = r.site.ServerURL + "/" + r.cfg.Git.PushToFork
	if r.cfg.Git.CIToken.IsSet() {
		o.Token = r.cfg.Git.CIToken
	}
}

// callServer begins to ask git's server for what openRepository will need, so that
// its answers come while the forge's API is asked.
func (r *remote) callServer(ctx context.Context) error {
	var o repo.Options
	r.toServer(&o)
	contact, err := repo.Dial(ctx, o)
	if err != nil {
		return invalid(err)
	}
	r.contact = contact
	r.undo.atEnd(contact.Close)
	return nil
}

// checkLargeFiles finds out whether files of Git LFS can be published, once setup
// had its chance to install it.
func (b *branch) checkLargeFiles(ctx context.Context) error {
	if b.repo == nil {
		return nil
	}
	return invalid(b.repo.CheckLFS(ctx))
}

// suffix is what is put behind the name of the branch; the branch of somebody's
// pull request keeps its own.
func (p *plan) suffix() string {
	if p.onTheirs() {
		return ""
	}
	return string(p.cfg.Git.BranchSuffix)
}

// noWorkflows says that the token that pushes may not change workflow files.
func (r *remote) noWorkflows() bool {
	if r.cfg.Git.CIToken.IsSet() {
		return false // it is not known before the push
	}
	return r.facts.Workflows == forge.No
}

// base is the branch that the work is proposed to; empty: the checked-out one.
func (p *plan) base() string {
	if p.cfg.Git.Branch == "" && (p.decision.Existing || p.cfg.Git.Base == "") {
		return p.decision.Base
	}
	return p.cfg.Git.Base
}

// unstacked is the base of a local run that opens a pull request and finds the branch of an
// earlier run checked out, where that stayed: to propose to it, it has to be named.
func (b *branch) unstacked() string {
	here, base := gitdir.Branch(b.dir()), b.remote.defaultBranch
	if !b.local() || b.base() != "" || base == "" || !isWorkBranch(here) || here == b.branch() || b.killed != nil && b.killed.Name == here {
		return ""
	}
	b.rec.warn(fmt.Sprintf("The base is %s, and not the branch of an earlier run that is checked out. To propose to that: %s", base, ralph.Option(true, "base", here)))
	return base
}

// isWorkBranch reports whether a branch is named as ralph names its own.
func isWorkBranch(name string) bool { return strings.HasPrefix(name, "ralph/") }

// watchRepository is openRepository for a run that publishes nothing: it looks
// as far as a policy asks for it, or so that the report can say what changed. A
// loop without such a policy needs no repository at all.
func (b *branch) watchRepository(ctx context.Context) error {
	err := gitdir.Check(b.dir())
	// Unasked, only what is cheap to look at is: a folder of a larger repository,
	// such as that of a whole home directory, is not.
	_, missing := os.Lstat(filepath.Join(b.Workspace, ".git"))
	reported := missing == nil && b.cfg.Mode != config.ModeSupervise
	usual := b.local() && b.cfg.Sources["stall-limit"] == "default"
	if usual && missing != nil {
		b.stallLimit = 0
	}
	if err != nil {
		if b.cfg.Prompt.Variables != nil {
			return invalid(err)
		}
		if b.stallLimit > 0 {
			return invalid(fmt.Errorf("stall-limit looks at the repository: %w", err))
		}
		if len(b.cfg.Git.SCM.Command) > 0 && filepath.Base(b.cfg.Git.SCM.Command[0]) == "git" {
			return invalid(fmt.Errorf("the SCM tasks need a repository: %w", err))
		}
		return nil
	}
	if b.isolation != config.IsolationOff {
		// The agent and the SCM tasks commit, as the person who sits here.
		if err := errors.Join(b.writeGitConfig(b.temp.home, b.committer(ctx)), b.hideToken()); err != nil {
			return invalid(err)
		}
	}
	onChanges := slices.ContainsFunc(b.checks, func(g config.Guardrail) bool { return g.When == config.OnChanges })
	stalls := b.stallLimit > 0 && (b.cfg.Loop.MaxIterations == 0 || b.cfg.Loop.MaxIterations >= b.stallLimit)
	asked := b.cfg.Loop.MinToolCalls > 0 || onChanges || b.stories != nil || stalls && !usual // with a task list, what a review changes is of interest
	if !asked && !reported && !stalls || b.box != nil {
		return nil
	}
	w, err := watch.Open(ctx, worktree.Options{Dir: b.dir(), Sandbox: b.git, Temp: b.temp.index, RunFiles: b.runFiles()}, content.NewCache().Of)
	switch {
	case err != nil && asked:
		return invalid(err)
	case err != nil:
		b.stallLimit = 0
		return nil
	}
	b.watcher = w
	b.undo.atEnd(func() { _ = w.Close() })
	return nil
}

// loopWorkspace is what the loop looks at, and commits to; nil when it need not
// look. pushed is told what is on the server.
func (b *branch) loopWorkspace(pushed func(publish.State, []ralph.File)) ralph.Workspace {
	switch {
	case b.lane != nil:
		return handingOver{b.repo, b.lane}
	case b.repo != nil && b.cfg.Git.Commit == config.CommitAgent:
		return own{told{b.repo, pushed}}
	case b.repo != nil:
		return told{b.repo, pushed}
	case b.watcher != nil:
		return b.watcher
	}
	return nil
}

// told is a repository of which somebody is told what is on the server.
type told struct {
	*repo.Repo
	pushed func(publish.State, []ralph.File)
}

func (t told) PushCheckpoint(ctx context.Context, c ralph.Commit) ralph.Commit {
	c = t.Repo.PushCheckpoint(ctx, c)
	if c.Pushed {
		files, _ := t.Files(ctx) // they are asked for again at the end
		t.pushed(t.State(), files)
	}
	return c
}

// own is a repository in which only the agent commits while the loop runs.
type own struct{ told }

func (o own) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	return o.CheckpointOwn(ctx, it)
}

// runFiles are the paths that are never committed, absolute.
func (p *plan) runFiles() []string {
	top, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil {
		top = p.Workspace
	}
	var paths []string
	for _, name := range rundir.RunFiles() {
		paths = append(paths, filepath.Join(top, rundir.Name, name))
	}
	if p.cfg.Prompt.Variables != nil && p.cfg.Prompt.Home != rundir.Name {
		for _, name := range []string{sessionLogs, "tmp-*", ".gitignore"} {
			paths = append(paths, filepath.Join(top, filepath.FromSlash(p.cfg.Prompt.Home), logsFolder, name))
		}
	}
	if p.cfg.Mode == config.ModeTasks || p.integrates() {
		paths = append(paths, filepath.Join(top, tasks.MarkerName))
	}
	if dir := p.cfg.Tasks.Lane.Dir; dir != "" {
		paths = append(paths, dir)
	}
	// The marks, messages and runs in a task folder; what else lies there is work.
	if folder := p.taskPath(); folder != "" {
		paths = append(paths, filepath.Join(filepath.Dir(folder), taskdir.ProjectBus))
		for _, name := range taskdir.RunFiles() {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}

// updateBase is how the branch is brought up to its base: the job of some stories merges
// what the jobs beside it have added meanwhile.
func (p *plan) updateBase() repo.Update {
	if len(p.cfg.Tasks.Stories) > 0 && !p.cfg.Tasks.Lane.Bundle && p.cfg.Sources["update-base"] == "default" && !p.local() {
		return repo.UpdateMerge
	}
	return repo.Update(p.cfg.Git.UpdateBase)
}

// pushes says whether the branch leaves the machine.
func (p *plan) pushes() bool {
	return !p.cfg.DryRun && p.cfg.Git.Push != config.PushNever && p.site.Repository != "" && p.cfg.Git.Token.IsSet()
}

// branch is the branch of the run.
func (p *plan) branch() string {
	switch {
	case p.cfg.Tasks.Lane.Bundle:
		return p.laneKey().String()
	case p.cfg.Git.Branch != "":
		return p.cfg.Git.Branch
	case p.decision.Branch != "":
		return p.decision.Branch
	case p.wave != nil:
		return p.wave.Part.Branch
	case p.stories != nil && p.stories.Branch() != "":
		return p.stories.Branch()
	case p.stories != nil:
		return branchname.Slug("tasks " + p.rec.report.Task)
	case p.cfg.Mode == config.ModeSupervise:
		return branchname.Slug("task " + path.Base(filepath.ToSlash(p.cfg.Tasks.Dir)))
	case p.templated():
		return branchname.Slug(p.cfg.Mode)
	}
	return branchname.Slug(cmp.Or(p.prompt(), p.decision.Prompt))
}

// prompt is what the agent is asked: in a session with the event's words, which
// other prompts have beside them.
func (p *plan) prompt() string {
	if p.cfg.Mode == config.ModeSession {
		return p.decision.Below(p.cfg.Prompt.Text)
	}
	return p.cfg.Prompt.Text
}

// templated reports whether the prompt is the mode's template.
func (p *plan) templated() bool {
	return p.cfg.Mode == config.ModePlan || p.cfg.Mode == config.ModeBuild
}

// fallbackBase is the base of a checkout without a branch: the forge's word,
// else the event's.
func (r *remote) fallbackBase() string {
	if r.defaultBranch != "" || r.local() {
		return r.defaultBranch
	}
	return r.usualBase
}

// attachBranch brings the workspace to the run's branch.
func (b *branch) attachBranch(ctx context.Context) error {
	if b.repo == nil {
		b.attached.text, b.attached.err = b.cfg.Task(b.Workspace)
		return nil
	}
	if b.Before.Left == nil {
		b.undo.ifRefused(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
			defer cancel()
			if err := b.repo.GoBack(ctx); err != nil {
				b.rec.warn("What was checked out before the run could not be checked out again: " + err.Error())
			}
		})
	}
	start, err := b.repo.Begin(ctx)
	if err != nil {
		return invalid(err)
	}
	b.start = start
	b.attached.text, b.attached.err = b.cfg.Task(b.Workspace)
	b.rec.report.Publication.Base = start.Base
	if b.repo.State().Tip != "" { // else there is none before the first commit
		b.rec.report.Publication.Branch = start.Branch
	}
	for _, n := range start.Notes {
		b.rec.tell(n)
	}
	b.history = memory.ReadHistory(start.Messages, start.Cut)
	b.rec.report.History = b.history
	if h := b.history; b.cfg.Limits.TotalCost > 0 && h.Cost().Unknown {
		b.rec.warn(fmt.Sprintf("The cost of earlier runs on the branch is only partly known: %s of it counts towards max-total-cost-usd.", h.Cost().Amount))
	}
	if start.Conflict != "" {
		b.conflict = fmt.Sprintf("This branch, %s, could not be brought up to its base %s, because both changed %q. Merge the base into it and resolve that, where the task allows it: commit what is not committed, then `git merge %s`.", start.Branch, start.Base, start.Conflict, start.Tip)
	}
	if b.cfg.Git.Base == "" && isWorkBranch(start.Base) {
		how := "Check out another branch, or name the base, to start from there."
		if b.local() {
			how = "That is its base. To start from another branch, check it out first: git switch main, for example."
		}
		b.rec.warn(fmt.Sprintf("This run starts from %s, the branch of an earlier one, because it was checked out. %s", start.Base, how))
	}
	b.rememberLeftOut(ctx)
	if len(start.Dirty) > 0 && !b.cfg.Git.IncludeDirty && b.asks() {
		b.rec.warn(fmt.Sprintf("Changed before the run, and published only when the agent changes it: %s", ralph.Listed(start.Dirty)))
	}
	return nil
}
