package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

// followBase takes the configuration of a run on a pull request from its base:
// what is checked out is the pull request's own, and who wrote that would decide
// what judges it.
func (p *plan) followBase(ctx context.Context) (problem, _ error) {
	pull := p.Event.PullRequest
	if p.local() || pull == nil || pull.BaseRef == "" || !p.cfg.Git.Token.IsSet() || p.cfg.Sandbox.Isolation == config.IsolationOff {
		return p.Problem, nil
	}
	client, err := p.client()
	if err != nil {
		return p.Problem, invalid(err)
	}
	instead := maps.Clone(p.Sources.Instead)
	if instead == nil {
		instead = map[string][]byte{}
	}
	var changed []string
	for _, name := range p.configFiles() {
		base, ok, err := client.File(ctx, name, pull.BaseRef)
		if err != nil {
			return p.Problem, invalid(err)
		}
		if !ok {
			base = nil
		}
		if here := p.here(name); ok == (here != nil) && bytes.Equal(base, here) {
			continue
		}
		instead[name] = base
		changed = append(changed, name)
	}
	if len(changed) == 0 {
		return p.Problem, nil
	}
	sources := p.Sources
	sources.Instead = instead
	p.cfg, problem = config.Load(sources)
	p.rec.tell(fmt.Sprintf("The pull request changes the configuration of ralph (%s): this run uses the configuration of its base, %s.", strings.Join(changed, ", "), pull.BaseRef))
	return problem, nil
}

// here is a file as the run found it; nil if there was none.
func (p *plan) here(name string) []byte {
	if data, ok := p.Sources.Instead[name]; ok {
		return data
	}
	data, err := os.ReadFile(filepath.Join(p.Workspace, filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	return data
}

// configFiles are the files of the workspace that configure a run, whether they
// are there or not.
func (p *plan) configFiles() []string {
	names := []string{config.DefaultFile, config.SettingsFile}
	if p.cfg.Prompt.Variables != nil {
		names = append(names, path.Join(p.cfg.Prompt.Home, "config"))
	}
	for _, name := range p.cfg.Loaded {
		if filepath.IsLocal(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// overlayBase puts the base's version of what agents read of a repository into
// the work tree, where a run goes on from commits that nobody has merged: what is
// checked out there tells the agent what to start, and whom to believe.
func (b *branch) overlayBase(ctx context.Context) error {
	if b.repo == nil || b.integrates() || b.local() || b.isolation == config.IsolationOff {
		return nil
	}
	whose, paths := b.notFromHere()
	if len(paths) == 0 {
		return nil
	}
	agents, err := content.Parse(paths)
	if err != nil {
		return err
	}
	changed, err := b.repo.Overlay(ctx, func(path string) bool { return agents.Match(path) != "" })
	if errors.Is(err, repo.ErrNoBase) {
		return nil
	}
	if err != nil {
		return invalid(fmt.Errorf("take what agents read from the base: %w", err))
	}
	b.undo.atEnd(func() {
		kept, err := b.repo.RestoreOverlay()
		if err != nil {
			b.rec.out.Warn("The agent configuration files could not be restored to what " + whose + " has: " + err.Error())
		}
		if len(kept) > 0 {
			b.rec.note("The agent changed files that the run had taken from the base: " + ralph.Listed(kept))
		}
	})
	if len(changed) == 0 {
		return nil
	}
	b.rec.tell(fmt.Sprintf("%s%s changes what agents read of a repository; for this run the agent found the version of the base, %s: %s", strings.ToUpper(whose[:1]), whose[1:], b.start.Base, ralph.Listed(changed)))
	return nil
}

// notFromHere are the paths that come from the base instead of from what is
// checked out, and whose that is. On somebody's pull request it is everything that
// agents read. On a branch of ours, prose is what earlier runs were asked to write,
// or their memory; what starts programs is a leftover that no person has agreed to.
func (b *branch) notFromHere() (whose string, paths []string) {
	switch {
	case b.decision.Existing || b.Event.PullRequest != nil:
		return "the pull request", content.AgentConfig()
	case b.start.Resumed && b.cfg.Content.ProtectedPolicy != config.ContentAllow:
		return "the branch", content.AgentPrograms()
	}
	return "", nil
}
