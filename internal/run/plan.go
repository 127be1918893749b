package run

import (
	"context"
	"path/filepath"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/actions/trigger"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/run/integration"
	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// plan is what a run is going to do: the configuration in force, the task, and
// where its work goes. Nothing was changed or spent to make it.
type plan struct {
	*Input
	rec       *Record
	undo      *cleanup
	cfg       config.Config    // the base's, where a pull request changed it
	isolation config.Isolation // of ours
	docker    config.Isolation // docker-sandbox: the agent has to run in one; auto: it may; empty: neither
	decision  trigger.Decision
	checks    []config.Guardrail // guardrails, those of a task list included
	site      actions.Context    // of the repository that is checked out
	usualBase string             // the repository's default branch, if the event says it
	inspect   *inspect.Inspector // of what is about to be published
	prices    *prices
	stories   *stories.List     // nil without a task list
	wave      *integration.Wave // what lanes handed over; nil: the run asks an agent
	api       *forge.Client     // of the workflow's repository; made when it is needed
}

// makePlan decides what the run does, and whether it may.
func makePlan(ctx context.Context, in *Input, rec *Record, undo *cleanup) (*plan, error) {
	p := &plan{Input: in, rec: rec, undo: undo, cfg: in.Config, site: in.Site, usualBase: in.Event.DefaultBranch, prices: &prices{}}
	problem, err := p.followBase(ctx)
	if err != nil {
		return p, err
	}
	rec.configured(p.cfg)
	p.isolation, p.docker = in.Isolation(p.cfg)
	rec.report.Isolation = string(p.isolation)
	if err := p.checkConfiguration(problem); err != nil {
		return p, err
	}
	if err := p.decide(ctx); err != nil {
		return p, err
	}
	p.checks = p.cfg.Checks.Guardrails
	if p.Before.Left == nil {
		if err := p.readWave(); err != nil {
			return p, err
		}
		if err := p.readTaskList(); err != nil {
			return p, err
		}
	}
	for _, g := range p.checks {
		rec.report.Guardrails = append(rec.report.Guardrails, g.Command)
	}
	return p, p.followCheckout()
}

// dir is where the agent works.
func (p *plan) dir() string {
	return filepath.Join(p.Workspace, filepath.FromSlash(p.cfg.Git.WorkingDirectory))
}

// getenv looks a variable up in the environment of this process.
func (in *Input) getenv(name string) string { return proc.Getenv(in.Environ, name) }
