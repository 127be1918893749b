package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/content"
	"github.com/org/ralph-action/internal/repo"
)

// followBase takes the configuration of a run on a pull request from its base:
// what is checked out is the pull request's own, and who wrote that would decide
// what judges it.
func (j *plan) followBase(ctx context.Context) (problem, _ error) {
	pull := j.Event.PullRequest
	if j.local() || pull == nil || pull.BaseRef == "" || !j.cfg.Token.IsSet() || j.cfg.Isolation == config.IsolationOff {
		return j.Problem, nil
	}
	client, err := j.client()
	if err != nil {
		return j.Problem, invalid(err)
	}
	instead := map[string][]byte{}
	var changed []string
	for _, name := range j.configFiles() {
		base, ok, err := client.File(ctx, name, pull.BaseRef)
		if err != nil {
			return j.Problem, invalid(err)
		}
		if !ok {
			base = nil
		}
		here, err := os.ReadFile(filepath.Join(j.Workspace, filepath.FromSlash(name)))
		if ok == (err == nil) && bytes.Equal(base, here) {
			continue
		}
		instead[name] = base
		changed = append(changed, name)
	}
	if len(changed) == 0 {
		return j.Problem, nil
	}
	sources := j.Sources
	sources.Instead = instead
	j.cfg, problem = config.Load(sources)
	n := fmt.Sprintf("The pull request changes the configuration of ralph (%s): this run follows that of its base, %s.", strings.Join(changed, ", "), pull.BaseRef)
	j.rec.tell(n)
	return problem, nil
}

// configFiles are the files of the workspace that configure a run, whether they
// are there or not.
func (j *plan) configFiles() []string {
	names := []string{config.DefaultFile, config.SettingsFile}
	if j.cfg.Variables != nil {
		names = append(names, path.Join(j.cfg.Home, "config"))
	}
	for _, name := range j.cfg.Loaded {
		if filepath.IsLocal(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// overlayBase puts the base's version of what agents read of a repository into
// the work tree, where a run goes on from commits that nobody has merged: what is
// checked out there tells the agent what to start, and whom to believe.
func (j *branch) overlayBase(ctx context.Context) error {
	if j.repo == nil || j.local() || j.isolation == config.IsolationOff {
		return nil
	}
	whose, paths := j.notFromHere()
	if len(paths) == 0 {
		return nil
	}
	agents, err := content.Parse(paths)
	if err != nil {
		return err
	}
	changed, err := j.repo.Overlay(ctx, func(path string) bool { return agents.Match(path) != "" })
	if errors.Is(err, repo.ErrNoBase) {
		return nil
	}
	if err != nil {
		return invalid(fmt.Errorf("take what agents read from the base: %w", err))
	}
	j.undo.atEnd(func() {
		kept, err := j.repo.RestoreOverlay()
		if err != nil {
			j.rec.out.Warn("What agents read could not be put back to what " + whose + " has: " + err.Error())
		}
		if len(kept) > 0 {
			j.rec.note("The agent changed what the run had taken from the base: " + listed(kept))
		}
	})
	if len(changed) == 0 {
		return nil
	}
	n := fmt.Sprintf("%s%s changes what agents read of a repository; for this run the agent found the version of the base, %s: %s", strings.ToUpper(whose[:1]), whose[1:], j.start.Base, listed(changed))
	j.rec.tell(n)
	return nil
}

// notFromHere are the paths that come from the base instead of from what is
// checked out, and whose that is. On somebody's pull request it is everything that
// agents read. On a branch of ours, prose is what earlier runs were asked to write,
// or their memory; what starts programs is a leftover that no person has agreed to.
func (j *branch) notFromHere() (whose string, paths []string) {
	switch {
	case j.decision.Existing || j.Event.PullRequest != nil:
		return "the pull request", content.AgentConfig()
	case j.start.Resumed && j.cfg.ProtectedPolicy != config.ContentAllow:
		return "the branch", content.AgentPrograms()
	}
	return "", nil
}
