package config

import "fmt"

// validateSCM decides between the team's SCM tasks and our commits. Whichever
// was given in the higher layer stands.
func (l *loader) validateSCM(values map[string]value) {
	tasks, command, commit := values["scm-tasks"], values["scm-command"], values["commit"]
	switch {
	case len(l.c.SCM.Tasks) == 0:
		if len(l.c.SCM.Command) > 0 && !l.refused(tasks) {
			l.warn(command.where, "it has no effect without scm-tasks")
		}
		l.c.SCM = SCM{}
		return
	case len(l.c.SCM.Command) == 0 || l.c.SCM.Command[0] == "":
		if !l.refused(command) {
			l.report(tasks.where, "there is no program to run them: give scm-command, such as git")
		}
		return
	case l.c.Commit != CommitEach && l.c.Commit != CommitAtEnd:
		return
	}
	ours := !commit.given() && !l.o.Desk && tasks.kind == settingsFile // of the action, unless the action itself is told
	switch {
	case commit.given() && commit.rank == tasks.rank:
		l.report(tasks.where, "SCM tasks commit by themselves: remove them, or give commit: agent instead of %s", commit.where)
	case ours || commit.rank > tasks.rank:
		l.warn(tasks.where, fmt.Sprintf("the SCM tasks do not run: the commits are made by ralph (commit: %s); with commit: agent they would", l.c.Commit))
		l.c.SCM = SCM{}
	default:
		if commit.given() {
			l.warn(commit.where, "it has no effect: SCM tasks commit by themselves ("+tasks.where+")")
		}
		l.c.Commit = CommitAgent
		l.c.Sources["commit"] = tasks.source()
	}
}

// validatePublishing refuses what was typed at a desk for a publication that
// does not happen. A file may hold it: it serves the action, too.
func (l *loader) validatePublishing(values map[string]value) {
	if l.c.Branch != "" && l.c.Branch == l.c.Base {
		l.refuse(values["branch"], "it is also the base: a pull request needs two branches")
	}
	if !l.o.Desk || l.c.Commit != CommitAgent && l.c.Commit != CommitOff {
		return
	}
	for _, name := range []string{
		"branch", "base", "commit-message", "committer", "author", "include-dirty", "push", "pull-request", "title", "body", "labels", "draft",
	} {
		v := values[name]
		harmless := map[string]bool{
			"include-dirty": !l.c.IncludeDirty, "push": l.c.Push != PushAlways, "pull-request": !l.c.PullRequest,
		}
		if v.from == fromFlag && !harmless[name] && !l.refused(v) {
			l.report(v.where, "nothing is published with commit: %s; add %s", l.c.Commit, l.option("commit", string(CommitEach)))
		}
	}
}
