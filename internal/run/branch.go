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
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/content"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/rundir"
	"github.com/org/ralph-action/internal/taskdir"
	"github.com/org/ralph-action/internal/tasks"
)

// publishes says whether we commit, and publish what is committed.
func (j *plan) publishes() bool {
	switch j.cfg.Commit {
	case config.CommitOff:
		return false
	case config.CommitAgent:
		return !j.local() // there nothing must be lost
	}
	return true
}

// findKilled reads what a run has recorded here that was killed.
func (j *workspace) findKilled() {
	if !j.publishes() {
		return
	}
	var err error
	if j.killed, err = repo.FindKilled(j.dir()); err != nil {
		n := fmt.Sprintf("An earlier run was killed here, and its record cannot be used (%v): what it left uncommitted counts as changed before this run.", err)
		j.rec.warn(n)
	}
}

// followCheckout publishes to the repository that is checked out, where that is not
// the workflow's own, as create-pull-request does.
func (j *plan) followCheckout() error {
	own := j.site.Repository
	if j.local() || own == "" || !j.publishes() {
		return nil
	}
	there := repo.Origin(j.dir(), j.site.ServerURL)
	if there == "" || strings.EqualFold(there, own) || strings.EqualFold(there, j.cfg.PushToFork) {
		return nil
	}
	if d := j.decision; d.Issue != 0 || d.PullRequest != 0 || d.CommentOn != 0 || d.RunID != 0 {
		return invalid(fmt.Errorf("what is checked out is %s, and what the event is about lies in %s: check that one out, or set use-event: never, so that the event only starts the run", there, own))
	}
	j.site.Repository, j.rec.report.Repository = there, there
	j.api, j.usualBase = nil, "" // of the workflow's own
	n := fmt.Sprintf("What is checked out is %s and not %s: the work goes there, and github-token (and ci-token, where it is given) has to be a token for it.", there, own)
	j.rec.tell(n)
	return nil
}

// branch is the repository as this run works on it, and the branch its commits
// go to. Where nothing is published, it is looked at only as far as needed.
type branch struct {
	*sandboxed
	remote     *remote
	repo       *repo.Repo    // nil: nothing is published
	watcher    *repo.Watcher // nil: nobody asks whether the workspace changes
	stallLimit int
	signoff    string        // who signs our commits off; empty: nobody
	pulls      forge.History // of the branch, as it was asked for last
	start      repo.Start
	history    ralph.History // of earlier runs on the branch
	conflict   string        // why the branch is not up to its base, for the agent; empty: it is
	attached   taskFile
	missing    []ralph.Missing // left out by the last run on the branch, and not decided about since
	costs      ledger
}

// openRepository looks at the repository before anything is spent.
func openRepository(ctx context.Context, s *sandboxed, r *remote) (*branch, error) {
	b := &branch{sandboxed: s, remote: r, stallLimit: s.cfg.StallLimit}
	if !b.publishes() {
		return b, b.watchRepository(ctx)
	}
	return b, b.openRepository(ctx)
}

func (j *branch) openRepository(ctx context.Context) error {
	committer := j.committer(ctx)
	if j.cfg.Signoff {
		j.signoff = committer.String()
	}
	author := j.author(committer)
	j.inspect.Work(content.Run{People: []string{committer.String(), author.String(), j.cfg.Committer.String()}, Started: j.rec.started()})
	o := repo.Options{
		Dir: j.dir(), Guest: j.git, Temp: j.temp.index, Store: j.temp.store,
		Branch: j.branch(), BranchSuffix: j.suffix(), Base: j.base(), DefaultBranch: j.remote.fallbackBase(), UpdateBase: repo.Update(j.cfg.UpdateBase),
		AddPaths: j.cfg.AddPaths, Squash: j.cfg.Squash, NoWorkflows: j.remote.noWorkflows() && !j.inspect.GuardsWorkflows(),
		Continue:  j.onTheirs(),
		Committer: repo.Identity(committer), Author: repo.Identity(author),
		Message: j.message, Forged: memory.Forged, IncludeDirty: j.cfg.IncludeDirty, RunFiles: j.runFiles(), Clock: time.Now,
		Pinned: j.stories.pinned, Inspect: j.inspect.Look, LeaveOut: j.inspect.Leaves, Killed: j.killed, Cache: content.NewCache().Of,
	}
	if j.remote.forge != nil {
		o.Ask = j.askForge
	}
	if j.pushes() {
		j.remote.toServer(&o)
		o.Contact = j.remote.contact
		if j.cfg.SignCommits {
			o.Signer = j.remote.pusher
		}
	}
	if j.isolation != config.IsolationOff {
		if err := j.hideToken(); err != nil {
			return invalid(err)
		}
	}
	r, err := repo.Open(ctx, o)
	if err != nil {
		return invalid(err)
	}
	j.repo = r
	j.git.dir = j.Workspace // repo names the folder itself now, and the agent may remove its own
	j.undo.atEnd(func() { _ = r.Close() })
	if o.Push {
		return invalid(r.CanPush(ctx))
	}
	return nil
}

// toServer sets where the branch and its base are, and the tokens for it.
func (j *remote) toServer(o *repo.Options) {
	o.Remote, o.Token, o.PushToken, o.Push = j.site.ServerURL+"/"+j.site.Repository, j.cfg.Token, j.cfg.CIToken, true
	if j.cfg.PushToFork == "" {
		return
	}
	o.BaseRemote, o.BaseToken = o.Remote, o.Token
	o.Remote = j.site.ServerURL + "/" + j.cfg.PushToFork
	if j.cfg.CIToken.IsSet() {
		o.Token = j.cfg.CIToken
	}
}

// callServer begins to ask git's server for what openRepository will need, so that
// its answers come while the forge's API is asked.
func (j *remote) callServer(ctx context.Context) error {
	var o repo.Options
	j.toServer(&o)
	contact, err := repo.Dial(ctx, o)
	if err != nil {
		return invalid(err)
	}
	j.contact = contact
	j.undo.atEnd(contact.Close)
	return nil
}

// checkLargeFiles finds out whether files of Git LFS can be published, once setup
// had its chance to install it.
func (j *branch) checkLargeFiles(ctx context.Context) error {
	if j.repo == nil {
		return nil
	}
	return invalid(j.repo.CheckLFS(ctx))
}

// suffix is what is put behind the name of the branch; the branch of somebody's
// pull request keeps its own.
func (j *plan) suffix() string {
	if j.onTheirs() {
		return ""
	}
	return string(j.cfg.BranchSuffix)
}

// noWorkflows says that the token that pushes may not change workflow files.
func (j *remote) noWorkflows() bool {
	if j.cfg.CIToken.IsSet() {
		return false // it is not known before the push
	}
	return j.facts.Workflows == forge.No
}

// base is the branch that the work is proposed to; empty: the checked-out one.
func (j *plan) base() string {
	if j.cfg.Branch == "" && (j.decision.Existing || j.cfg.Base == "") {
		return j.decision.Base
	}
	return j.cfg.Base
}

// watchRepository is openRepository for a run that publishes nothing: it looks
// only as far as a policy asks for it, and a loop without such a policy needs no
// repository at all.
func (j *branch) watchRepository(ctx context.Context) error {
	err := repo.IsRepository(j.dir())
	// By default the limit only holds where looking is cheap: a folder of a larger
	// repository, such as that of a whole home directory, is not looked at.
	usual := j.local() && j.cfg.Sources["stall-limit"] == "default"
	if _, missing := os.Lstat(filepath.Join(j.Workspace, ".git")); usual && missing != nil {
		j.stallLimit = 0
	}
	if err != nil {
		if j.cfg.Variables != nil { // 000-06
			return invalid(err)
		}
		if j.stallLimit > 0 {
			return invalid(fmt.Errorf("stall-limit looks at the repository: %w", err))
		}
		if len(j.cfg.SCM.Command) > 0 && filepath.Base(j.cfg.SCM.Command[0]) == "git" {
			return invalid(fmt.Errorf("the SCM tasks need a repository: %w", err))
		}
		return nil
	}
	if j.isolation != config.IsolationOff {
		// The agent and the SCM tasks commit, as the person who sits here.
		if err := errors.Join(j.writeGitConfig(j.temp.home, j.committer(ctx)), j.hideToken()); err != nil {
			return invalid(err)
		}
	}
	onChanges := slices.ContainsFunc(j.checks, func(g config.Guardrail) bool { return g.When == config.OnChanges })
	stalls := j.stallLimit > 0 && (j.cfg.MaxIterations == 0 || j.cfg.MaxIterations >= j.stallLimit)
	asked := j.cfg.MinToolCalls > 0 || onChanges || j.stories != nil || stalls && !usual // with a task list, what a review changes is of interest
	if !asked && !stalls || j.box != nil {
		return nil
	}
	w, err := repo.Watch(ctx, repo.Options{Dir: j.dir(), Guest: j.git, Temp: j.temp.index, RunFiles: j.runFiles()})
	switch {
	case err != nil && asked:
		return invalid(err)
	case err != nil:
		j.stallLimit = 0
		return nil
	}
	j.watcher = w
	j.undo.atEnd(func() { _ = w.Close() })
	return nil
}

// loopWorkspace is what the loop looks at, and commits to; nil when it need not
// look.
func (j *branch) loopWorkspace() ralph.Workspace {
	switch {
	case j.repo != nil && j.cfg.Commit == config.CommitAgent:
		return own{j.repo}
	case j.repo != nil:
		return j.repo
	case j.watcher != nil:
		return j.watcher
	}
	return nil
}

// own is a repository in which only the agent commits while the loop runs.
type own struct{ *repo.Repo }

func (o own) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	return o.CheckpointOwn(ctx, it)
}

// tree identifies the tree as it was seen last; "" when nobody looks.
func (j *branch) tree() string {
	switch {
	case j.repo != nil:
		return j.repo.Tree()
	case j.watcher != nil:
		return j.watcher.Tree()
	}
	return ""
}

// runFiles are the paths that are never committed, absolute.
func (j *plan) runFiles() []string {
	top, err := filepath.EvalSymlinks(j.Workspace)
	if err != nil {
		top = j.Workspace
	}
	var paths []string
	for _, name := range rundir.RunFiles() {
		paths = append(paths, filepath.Join(top, rundir.Name, name))
	}
	if j.cfg.Variables != nil && j.cfg.Home != rundir.Name {
		for _, name := range []string{sessionLogs, "tmp-*", ".gitignore"} {
			paths = append(paths, filepath.Join(top, filepath.FromSlash(j.cfg.Home), logsFolder, name))
		}
	}
	if j.stories != nil {
		paths = append(paths, filepath.Join(top, tasks.MarkerName))
	}
	// The marks, messages and runs in a task folder; what else lies there is work.
	if folder := j.taskPath(); folder != "" {
		paths = append(paths, filepath.Join(filepath.Dir(folder), taskdir.ProjectBus))
		for _, name := range taskdir.RunFiles() {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths
}

// pushes says whether the branch leaves the machine.
func (j *plan) pushes() bool {
	return !j.cfg.DryRun && j.cfg.Push != config.PushNever && j.site.Repository != "" && j.cfg.Token.IsSet()
}

// branch is the branch of the run.
func (j *plan) branch() string {
	switch {
	case j.cfg.Branch != "":
		return j.cfg.Branch
	case j.decision.Branch != "":
		return j.decision.Branch
	case j.stories != nil && j.stories.branch != "":
		return j.stories.branch
	case j.stories != nil:
		return repo.BranchSlug("tasks " + j.rec.report.Task)
	case j.cfg.Mode == config.ModeSupervise:
		return repo.BranchSlug("task " + path.Base(filepath.ToSlash(j.cfg.TaskDir)))
	case j.templated():
		return repo.BranchSlug(j.cfg.Mode)
	}
	return repo.BranchSlug(cmp.Or(j.prompt(), j.decision.Prompt))
}

// prompt is what the agent is asked: in a session with the event's words, which
// other prompts have beside them.
func (j *plan) prompt() string {
	if j.cfg.Mode == config.ModeSession {
		return j.decision.Below(j.cfg.Prompt)
	}
	return j.cfg.Prompt
}

// templated says that the prompt is the mode's own and no task of somebody's.
func (j *plan) templated() bool {
	return j.cfg.Mode == config.ModePlan || j.cfg.Mode == config.ModeBuild
}

// fallbackBase is the base of a checkout without a branch: the forge's word,
// else the event's.
func (j *remote) fallbackBase() string {
	if j.defaultBranch != "" || j.local() {
		return j.defaultBranch
	}
	return j.usualBase
}

// attachBranch brings the workspace to the run's branch.
func (j *branch) attachBranch(ctx context.Context) error {
	if j.repo == nil {
		j.attached.text, j.attached.err = j.cfg.Task(j.Workspace)
		return nil
	}
	start, err := j.repo.Begin(ctx)
	if err != nil {
		return invalid(err)
	}
	j.start = start
	j.attached.text, j.attached.err = j.cfg.Task(j.Workspace)
	j.rec.report.Publication.Base = start.Base
	if j.repo.State().Tip != "" { // else there is none before the first commit
		j.rec.report.Publication.Branch = start.Branch
	}
	for _, n := range start.Notes {
		j.rec.tell(n)
	}
	j.history = memory.ReadHistory(start.Messages, start.Cut)
	j.rec.report.History = j.history
	if h := j.history; j.cfg.MaxTotalCost > 0 && h.Cost().Unknown {
		n := fmt.Sprintf("What earlier runs on the branch cost is not wholly known: %s of it count for max-total-cost-usd.", h.Cost().Amount)
		j.rec.warn(n)
	}
	if start.Conflict != "" {
		j.conflict = fmt.Sprintf("This branch, %s, could not be brought up to its base %s, because both changed %q. Merge the base into it and resolve that, where the task allows it.", start.Branch, start.Base, start.Conflict)
	}
	if j.cfg.Base == "" && strings.HasPrefix(start.Base, "ralph/") {
		n := fmt.Sprintf("This run starts from %s, the branch of an earlier one, because it was checked out. Check out another branch, or name the base, to start from there.", start.Base)
		j.rec.warn(n)
	}
	j.rememberLeftOut(ctx)
	if len(start.Dirty) > 0 && !j.cfg.IncludeDirty {
		n := fmt.Sprintf("Changed before the run, and published only when the agent changes it: %s", listed(start.Dirty))
		j.rec.warn(n)
	}
	return nil
}

// listed names a few of many.
func listed(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
