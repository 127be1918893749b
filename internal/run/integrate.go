package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/run/integration"
	"github.com/org/ralph-action/internal/run/setup"
	"github.com/org/ralph-action/internal/tasks"
)

// maxReturned bounds the change that is kept of a story that was handed back, in bytes.
const maxReturned = 1 << 20

// integrates reports whether the run puts together what lanes have made, instead of asking an
// agent.
func (p *plan) integrates() bool { return p.cfg.Mode == config.ModeIntegrate }

// asks reports whether the run asks an agent.
func (p *plan) asks() bool { return !p.integrates() || p.cfg.Tasks.Resolve }

// readWave reads what the lanes handed over, before anything is spent.
func (p *plan) readWave() error {
	if !p.integrates() {
		return nil
	}
	wave, err := integration.Read(p.cfg.Tasks.Lane.Dir, p.cfg.Git.Branch)
	if err != nil {
		return invalid(err)
	}
	if dir := p.cfg.Tasks.RalphDir; p.cfg.Sources["ralph-dir"] != "default" && dir != wave.Plan.Dir {
		return invalid(fmt.Errorf("ralph-dir is %s, and the plan is about %s: leave it out, or plan again", dir, wave.Plan.Dir))
	}
	p.wave = wave
	p.cfg.Tasks.RalphDir, p.cfg.Loop.MaxIterations = wave.Plan.Dir, 0
	if kept := wave.Plan.Kept(); kept > 0 && p.cfg.Tasks.Resolve {
		p.cfg.Limits.Cost = min(kept, cmp.Or(p.cfg.Limits.Cost, kept))
	}
	p.rec.configured(p.cfg)
	if !p.cfg.Tasks.Resolve {
		p.rec.report.Agent, p.rec.report.Model = "", "" // nobody asks one
	}
	for _, n := range wave.Notes {
		p.rec.warn(n)
	}
	return nil
}

// integrating is a wave that is being put onto the branch.
type integrating struct {
	*work
	owner    *integration.Owner
	tree     integrate.Workspace
	stories  []integrate.Story // to integrate, in their order
	waves    []ralph.WaveStory
	baseline map[string]bool // whether a guardrail passed before the first story
	checked  int             // commits on which guardrails ran
	green    []ralph.Verdict // of the last commit that passed
}

// takeWave takes over what the lanes handed over, before anything of the repository runs.
func (w *work) takeWave(ctx context.Context) (*integrating, error) {
	in := &integrating{work: w, tree: integrate.Workspace{Branch: w.repo.Branch(), Spare: w.local()}, baseline: map[string]bool{}}
	if err := in.tree.Untouched(ctx); err != nil {
		return in, invalid(err)
	}
	in.owner = &integration.Owner{
		Dir: in.repo.Prefix() + in.wave.Plan.Dir, Run: in.runID(), Judge: in.judge, Keep: in.keep, Told: in.told, Ask: in.ask,
		Rules: tasks.Rules{ReviewCap: in.cfg.Tasks.ReviewCap, SkipReview: in.cfg.Tasks.SkipReview},
	}
	var err error
	in.stories, err = in.owner.Stories(ctx, in.wave, in.repo.Branch().Objects, in.start.Messages)
	return in, invalid(err)
}

// run puts the stories onto the branch, in place of the loop.
func (in *integrating) run(ctx context.Context, baseline []ralph.Verdict) {
	w := in.work
	for _, v := range baseline {
		in.baseline[v.Command] = v.Passed
		if !v.Passed {
			w.rec.tell(fmt.Sprintf("%s fails before the first story, so no story is judged by it.", v.Command))
		}
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if until := loopEnd(w.cfg.Limits, w.rec.started()); !until.IsZero() {
		bounded, cancel = context.WithDeadline(ctx, until)
	}
	defer cancel()
	err := in.integrate(bounded)
	r := &w.rec.report
	r.Outcome, r.Reason = ralph.Completed, ""
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, errHalted):
		r.Outcome, r.Reason = ralph.Interrupted, "the integration was stopped; run again, it goes on"
	case bounded.Err() != nil:
		r.Outcome, r.Reason = ralph.Deadline, "the time of the run (max-duration) was used up"
	default:
		r.Outcome, r.Reason = ralph.GitFailed, err.Error()
		w.rec.out.Warn(err.Error())
	}
	in.report(context.WithoutCancel(ctx))
}

func (in *integrating) integrate(ctx context.Context) error {
	committer := in.committer(ctx)
	var resolve func(context.Context, integrate.Conflict) (integrate.Files, string, error)
	if in.cfg.Tasks.Resolve {
		resolve = in.owner.Resolve
	}
	return integrate.Run(ctx, integrate.Options{
		Resolve: resolve,
		Branch:  in.repo.Branch(), Author: repo.Identity(in.author(committer)), Committer: repo.Identity(committer), Clock: time.Now,
		Inspect: in.inspect.Look, Owner: in.owner, Landed: in.owner.Landed, MaxPatchBytes: maxReturned,
		Cache: content.NewCache().Of,
	}, in.stories)
}

// judge runs the guardrails on a commit, after the setup commands: a story can change what
// they install. What failed before the first story is nobody's fault.
func (in *integrating) judge(ctx context.Context, commit string) (red string, err error) {
	if len(in.checks) == 0 {
		return "", nil
	}
	var inTheWay *integrate.InTheWayError
	if err := in.tree.TryOut(ctx, commit); errors.As(err, &inTheWay) {
		return in.rec.masked(err.Error()), nil
	} else if err != nil {
		return "", err
	}
	if red, err := in.setUpAgain(ctx); red != "" || err != nil {
		return red, err
	}
	in.checked++
	verdicts := (&ralph.Loop{Guardrails: in.guardrails(), Jobs: in.jobs(), Emit: in.emit, Stop: in.Stop.Halt}).Check(ctx, in.checked)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case len(verdicts) < len(in.checks):
		return "", errHalted
	}
	var b strings.Builder
	for _, v := range verdicts {
		passed, known := in.baseline[v.Command]
		if !v.Passed && (passed || !known) {
			fmt.Fprintf(&b, "%s\n", strings.TrimSpace(v.Message))
		}
	}
	if b.Len() == 0 {
		in.green = verdicts
	}
	return in.rec.masked(b.String()), nil
}

// ask asks the agent once to resolve a conflict, on a budget of its own.
func (in *integrating) ask(ctx context.Context, c integrate.Conflict, step ralph.Step, prompt string) (files integrate.Files, cost ralph.Cost, why string, err error) {
	r := &in.rec.report
	l := ralph.Loop{
		Agent: lean{in.agents}, Policy: ralph.Policy{Completion: in.cfg.Loop.Completion},
		Budget: ralph.Budget{Cost: in.costLeft(), Tokens: in.cfg.Limits.Tokens, Total: in.cfg.Limits.TotalCost, Before: in.history.Cost().Amount},
		Emit:   in.emit, Stop: in.Stop.Halt,
	}
	r.Budget = l.Budget
	files, why, err = in.tree.Change(ctx, c.Commit, c.Paths, func() string {
		it := ralph.Iteration{Number: len(r.Iterations) + 1, Started: time.Now(), Step: step}
		in.emit(ralph.Event{Kind: ralph.EventIterationStart, At: it.Started, Iteration: it.Number, Step: step})
		turn, err := l.Once(ctx, ralph.Prompt{Text: prompt, Iteration: it.Number, Attempt: 1}, r.Usage())
		end := ralph.Event{Kind: ralph.EventIterationEnd, At: time.Now(), Iteration: it.Number}
		if err != nil {
			in.emit(end)
			return in.rec.masked(err.Error())
		}
		it.Turns, it.Duration = []ralph.Turn{turn}, time.Since(it.Started)
		failed := ""
		if f := turn.Failure; f != nil {
			it.Rejection, failed = ralph.RejectedTurn, strings.TrimSuffix(f.Kind.String()+": "+f.Message, ": ")
		}
		r.Iterations, cost = append(r.Iterations, it), it.Usage().Cost
		end.Record = &it
		in.emit(end)
		return in.rec.masked(failed)
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err == nil && in.Stop.halted() {
		err = errHalted
	}
	return files, cost, why, err
}

// setUpAgain runs the setup commands on what is in the work tree, with nothing of what they
// exported on something else. They passed before the first story: what fails twice is red.
func (in *integrating) setUpAgain(ctx context.Context) (red string, err error) {
	for range 2 {
		in.setup = setup.Exports{}
		var failed *setup.FailedError
		if err = in.runSetup(ctx); ctx.Err() != nil {
			return "", context.Cause(ctx)
		} else if !errors.As(err, &failed) {
			return "", err
		}
	}
	return in.rec.masked(err.Error()), nil
}

// keep publishes all up to a commit.
func (in *integrating) keep(ctx context.Context, commit string) error {
	if err := in.tree.TryOut(ctx, commit); err != nil {
		return err
	}
	c, err := in.repo.Advance(ctx, commit)
	if err != nil || !c.Pushing {
		return err
	}
	if c = in.loopWorkspace(in.live.Pushed).PushCheckpoint(ctx, c); c.PushError != "" {
		in.rec.out.Say("The push is tried again: " + c.PushError)
	}
	return nil
}

// told shows what became of a story.
func (in *integrating) told(s ralph.WaveStory, r integrate.Result) {
	s.ID, s.Title, s.Why, s.Unprotected = in.rec.masked(s.ID), in.rec.masked(s.Title), in.rec.masked(s.Why), in.rec.masked(s.Unprotected)
	in.waves = append(in.waves, s)
	text := fmt.Sprintf("%s (%s): %s", tasks.Visible(s.ID), s.Lane, s.Fate)
	if s.Why != "" {
		text += ": " + s.Why
	}
	switch s.Fate {
	case ralph.FateRefused, ralph.FateMissing:
		in.rec.out.Warn(text)
	default:
		in.rec.out.Say(text)
	}
}

// report tells what the wave came to.
func (in *integrating) report(ctx context.Context) {
	r := &in.rec.report
	if err := in.tree.Reset(ctx); err != nil {
		in.rec.out.Warn(err.Error())
	}
	if found, err := in.repo.InspectAll(ctx); err != nil {
		in.rec.note("What is on the branch could not be inspected as a whole: " + in.rec.masked(err.Error()))
	} else if r.Findings = found; ralph.Blocking(found) != "" {
		in.withhold(ralph.Blocking(found))
	}
	line := in.repo.Branch()
	if list, err := integrate.File(ctx, line.Objects, line.Tip.String(), in.repo.Prefix()+in.wave.Plan.Dir+"/"+tasks.TasksName); err == nil {
		in.backlog.Reread(list)
	}
	r.Tasks = in.backlog.Report()
	left := 0
	for _, s := range r.Tasks.Stories {
		if !s.Done && !in.wave.Elsewhere(s.ID) {
			left++
		}
	}
	r.Wave = in.wave.Report(in.waves, left)
	r.Wave.Cost = r.Wave.Cost.Add(r.Usage().Cost)
	r.Wave.Verdicts, r.Wave.Earlier = in.green, in.wave.Earlier(in.start.Messages, r.Tasks.Stories)
	for _, s := range slices.Concat(r.Wave.Earlier, in.waves) {
		for i := range r.Tasks.Stories {
			one := &r.Tasks.Stories[i]
			if is := s.Fate == ralph.FateIn || s.Fate == ralph.FateAlready; !is || !one.Done || one.ID != s.ID && in.rec.masked(one.ID) != s.ID {
				continue
			}
			if one.Unprotected = s.Unprotected != ""; one.Unprotected { // the newest counts
				r.Tasks.Unprotected = s.Unprotected
			}
		}
	}
	if r.Outcome == ralph.Completed {
		r.Reason = r.Wave.Why
	}
}

// partial reports whether the branch lacks stories that are still to come.
func (r *Record) partial() bool {
	if r.report.Wave == nil {
		return false
	}
	for _, s := range r.report.Tasks.Stories {
		if !s.Done {
			return true
		}
	}
	return false
}
