package config

import (
	"fmt"

	"github.com/org/ralph-action/internal/config/file"
)

// validateSCM decides between the team's SCM tasks and our commits. Whichever
// was given in the higher layer stands.
func (l *loader) validateSCM(values map[string]value) {
	tasks, command, commit := values["scm-tasks"], values["scm-command"], values["commit"]
	switch {
	case len(l.c.Git.SCM.Tasks) == 0:
		if len(l.c.Git.SCM.Command) > 0 && !l.refused(tasks) {
			l.warn(command.Where, "it has no effect without scm-tasks")
		}
		l.c.Git.SCM = SCM{}
		return
	case len(l.c.Git.SCM.Command) == 0 || l.c.Git.SCM.Command[0] == "":
		if !l.refused(command) {
			l.Report(tasks.Where, "there is no program to run them: give scm-command, such as git")
		}
		return
	case l.c.Git.Commit != CommitEach && l.c.Git.Commit != CommitAtEnd:
		return
	}
	ours := !commit.given() && !l.o.Local && tasks.Kind == file.Settings // of the action, unless the action itself is told
	switch {
	case commit.given() && commit.rank == tasks.rank:
		l.Report(tasks.Where, "SCM tasks commit by themselves: remove them, or give commit: agent instead of %s", commit.Where)
	case ours || commit.rank > tasks.rank:
		l.warn(tasks.Where, fmt.Sprintf("the SCM tasks do not run: the commits are made by ralph (commit: %s); with commit: agent they would", l.c.Git.Commit))
		l.c.Git.SCM = SCM{}
	default:
		if commit.given() {
			l.warn(commit.Where, "it has no effect: SCM tasks commit by themselves ("+tasks.Where+")")
		}
		l.c.Git.Commit = CommitAgent
		l.c.Sources["commit"] = tasks.source()
	}
}

// validatePublishing refuses what was typed locally for a publication that
// does not happen. A file may hold it: it serves the action, too.
func (l *loader) validatePublishing(values map[string]value) {
	if l.c.Git.Branch != "" && l.c.Git.Branch == l.c.Git.Base {
		l.refuse(values["branch"], "it is also the base: a pull request needs two branches")
	}
	l.validateCommits(values)
	l.validatePullRequest(values)
	if !l.o.Local || l.c.Git.Commit != CommitAgent && l.c.Git.Commit != CommitOff {
		return
	}
	for _, name := range []string{
		"branch", "base", "commit-message", "ask-commit-message", "committer", "author", "include-dirty", "push", "pull-request", "title", "body", "labels", "draft",
		"add-paths", "squash", "branch-suffix", "update-base", "delete-branch", "push-to-fork", "signoff", "sign-commits", "body-path",
		"assignees", "reviewers", "team-reviewers", "milestone", "wait-for-ci", "merge",
	} {
		v := values[name]
		harmless := map[string]bool{
			"include-dirty": !l.c.Git.IncludeDirty, "push": l.c.Git.Push != PushAlways, "pull-request": !l.c.PullRequest.Wanted,
			"ask-commit-message": !l.c.Git.AskMessage, "squash": !l.c.Git.Squash, "branch-suffix": l.c.Git.BranchSuffix == "", "update-base": l.c.Git.UpdateBase == "", "delete-branch": !l.c.PullRequest.DeleteBranch,
			"signoff": !l.c.Git.Signoff, "sign-commits": !l.c.Git.SignCommits, "milestone": l.c.PullRequest.Milestone == 0, "wait-for-ci": !l.c.PullRequest.WaitForCI, "merge": !l.c.PullRequest.AutoMerge,
		}
		if v.from == fromFlag && !harmless[name] && !l.refused(v) {
			l.Report(v.Where, "nothing is published with commit: %s; add %s", l.c.Git.Commit, l.option("commit", string(CommitEach)))
		}
	}
}

// validateCommits checks what is said about our commits.
func (l *loader) validateCommits(values map[string]value) {
	commit, squash := values["commit"], values["squash"]
	if l.c.Git.Squash {
		switch {
		case l.c.Git.Commit == CommitAtEnd:
		case l.c.Git.Commit == CommitEach && (!commit.given() || commit.rank < squash.rank):
			l.c.Git.Commit = CommitAtEnd
			l.c.Sources["commit"] = squash.source()
		case !l.refused(squash):
			l.Report(squash.Where, "it means one commit of ralph at the end, and %s says otherwise: leave one of them out", commit.Where)
		}
	}
	if use := values["use-event"]; l.c.Trigger.Use == EventAlways && (l.mode == ModeTasks || l.mode == ModeIntegrate) {
		l.warn(use.Where, "it has no effect in mode "+l.mode+": the task list is the task")
	}
	if ask := values["ask-commit-message"]; l.c.Git.AskMessage && l.c.Git.Message != "" {
		l.warn(ask.Where, "it has no effect: "+values["commit-message"].Where+" is the message")
		l.c.Git.AskMessage = false
	}
	if !l.c.Git.SignCommits {
		return
	}
	for _, name := range []string{"author", "committer"} {
		if v := values[name]; v.given() {
			l.warn(v.Where, "it has no effect with sign-commits: the forge signs only what is its own")
		}
	}
	if l.c.Git.UpdateBase == UpdateRebase {
		l.Report(values["sign-commits"].Where, "the forge makes commits on top of others only: with it use update-base: merge")
	}
}

// validatePullRequest checks what is said about the pull request.
func (l *loader) validatePullRequest(values map[string]value) {
	if body, file := values["body"], values["body-path"]; body.given() && file.given() && body.rank == file.rank && !l.refused(file) {
		l.warn(body.Where, "it has no effect: "+file.Where+" beats it")
	}
	none := ""
	switch {
	case l.c.Git.Push == PushNever:
		none = "nothing is pushed with " + l.option("push", "false")
	case !l.c.PullRequest.Wanted:
		none = "there is no pull request with " + l.option("pull-request", "none")
	default:
		return
	}
	for _, name := range []string{"wait-for-ci", "merge", "assignees", "reviewers", "team-reviewers", "milestone", "push-to-fork", "delete-branch"} {
		v := values[name]
		if !v.given() || v.Text == "false" || v.Text == "none" || v.Text == "0" || l.refused(v) {
			continue
		}
		if !l.c.PullRequest.Wanted && l.c.Git.Push != PushNever && (name == "push-to-fork" || name == "delete-branch" || name == "wait-for-ci") {
			continue
		}
		l.warn(v.Where, "it has no effect: "+none)
	}
}
