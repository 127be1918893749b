// Package parallel works a task list off in several lanes at a time on one machine. A wave
// is planned, each of its lanes is a process of this program in a repository of its own,
// and what they hand over is integrated in the project, as jobs do it elsewhere.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/usergit"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/tasks"
)

// options are what a parallel run is made of.
type options struct {
	Lanes     int    // at a time
	Project   string // absolute; the list lies in it
	Dir       string // of the project's parallel runs, see dirOf
	RalphDir  string // of the list, in the project
	Rules     tasks.Rules
	Limits    limits
	Sandboxed bool     // the lanes' agents are in a sandbox of ours
	Args      []string // of every lane
	Self      string   // this program
	Environ   []string

	Print       printer
	Interrupted func(text string)                                           // the run was asked to end
	Integrate   func(ctx context.Context, dir string) (ralph.Report, error) // puts what is in dir onto the branch
	Records     string                                                      // where runs are recorded; empty: nowhere
	Record      lastrun.Run                                                 // of this run, as far as others know it
	Resumed     bool
}

// limits are of all lanes of all waves together; 0: none.
type limits struct {
	Cost       ralph.MicroUSD
	Iterations int
	Until      time.Time
}

// printer shows a run to people. It may be used by many goroutines.
type printer interface {
	Say(line string)
	Aside(line string)
	Warn(line string)
}

// ending is how a run ended.
type ending struct {
	Outcome ralph.Outcome
	Reason  string // for people
	Advice  string // what to do next; empty: nothing in particular
	Limit   string // the input that ended it; empty: another reason
	Done    int    // stories of the list that are done
	Of      int
	Cost    ralph.Cost    // of lanes and integrations
	Took    time.Duration // since the run began, or was resumed
	Resumed bool
}

// waves is a parallel run: wave after wave.
type waves struct {
	options
	git      *usergit.Git
	prefix   string // of the project below the top of its work tree, with a slash at its end
	state    string // directory of this list's lanes on this branch
	files    string // .ralph of the project
	last     *lastrun.Recorder
	used     totals     // of the lanes, since this run began
	merged   ralph.Cost // what the integrations cost
	wave     int        // number of the last one that was planned or taken up
	reported bool       // an integration has left its report
}

// totals are what lanes used.
type totals struct {
	iterations int
	cost       ralph.Cost
}

// work works the list off. An error is something the user has to correct.
func work(ctx context.Context, o options) (ending, error) {
	r := &waves{options: o}
	if err := r.openGit(ctx); errors.Is(err, usergit.ErrNoRepository) {
		return ending{}, errors.New("--parallel needs a git repository: each lane begins at a commit")
	} else if err != nil {
		return ending{}, err
	}
	defer func() { r.git.Close() }()
	if err := r.check(); err != nil {
		return ending{}, err
	}
	release, err := r.lock()
	if err != nil {
		return ending{}, err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer rundir.WatchRequest(ctx, o.Project, func() {
		r.Interrupted("Asked to end by ralph cancel: the lanes save their work...")
		cancel()
	})()
	if err := r.remember(); err != nil {
		r.Print.Aside("This run is not recorded for ralph status and ralph resume: " + err.Error())
	}
	end, err := r.loop(ctx)
	if err != nil {
		end = ending{Outcome: ralph.Invalid, Reason: err.Error()}
	}
	end.Cost, end.Took, end.Resumed = r.used.cost.Add(r.merged), time.Since(r.Record.Started), r.Resumed
	r.forget(end)
	return end, err
}

// openGit begins to run git in the project. What is asked of it is short, and is asked of a
// run that ends, too.
func (r *waves) openGit(ctx context.Context) (err error) {
	r.git, err = usergit.Start(context.WithoutCancel(ctx), r.Project, r.Environ)
	return err
}

// loop works on wave after wave.
func (r *waves) loop(ctx context.Context) (ending, error) {
	for {
		w, err := r.next()
		if err != nil {
			return ending{}, err
		}
		lanes := r.shared(w, w.open())
		switch {
		case w.lanes == nil:
			return r.over(ctx, w, nil)
		case len(lanes) > 0:
			r.announce(w, lanes)
			if err := r.workOn(ctx, w, lanes); err != nil {
				return ending{}, err
			}
		}
		report, err := r.integrate(ctx, w)
		if err != nil {
			return ending{}, err
		}
		if report != nil && report.Outcome == ralph.Completed || !slices.ContainsFunc(w.lanes, (*lane).handed) {
			r.tidy(w)
		}
		if end, over, err := r.decide(ctx, w, lanes, report); over || err != nil {
			return end, err
		}
	}
}

// announce says who works on what.
func (r *waves) announce(w *wave, lanes []*lane) {
	stories := 0
	for _, l := range lanes {
		stories += len(l.left())
	}
	r.Print.Say(fmt.Sprintf("Wave %d: %s in %s, at commit %.7s", w.plan.Wave, words.Stories(stories), words.Plural(len(lanes), "lane"), w.part().Base))
	for _, l := range lanes {
		line := fmt.Sprintf("  %s  %s", l.Name, strings.Join(l.left(), ", "))
		if l.budget > 0 {
			line += fmt.Sprintf(" (at most %s)", l.budget-l.spent())
		}
		if l.result != nil {
			line += ", goes on"
		}
		r.Print.Say(line)
	}
	const most = 20
	later := slices.DeleteFunc(slices.Clone(w.plan.Later), func(wait fanout.Wait) bool {
		return len(r.Rules.Only) > 0 && !slices.Contains(r.Rules.Only, wait.Story)
	})
	for _, wait := range later[:min(len(later), most)] {
		r.Print.Say(fmt.Sprintf("  later %s: %s", wait.Story, wait.Why))
	}
	if more := len(later) - most; more > 0 {
		r.Print.Say(fmt.Sprintf("  and later %s more", words.Stories(more)))
	}
}

// integrate has what the lanes handed over put onto the branch; nil: there is nothing.
func (r *waves) integrate(ctx context.Context, w *wave) (*ralph.Report, error) {
	if err := w.read(); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w.lanes, (*lane).handed) {
		return nil, nil //nolint:nilnil // nothing is to be integrated
	}
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil // the next run does it
	}
	r.last.Doing(fmt.Sprintf("integrates wave %d", w.plan.Wave))
	finished, all := 0, 0
	for _, l := range w.lanes {
		finished, all = finished+len(l.Stories)-len(l.left()), all+len(l.Stories)
	}
	r.Print.Say(fmt.Sprintf("Wave %d: the lanes have finished %d of %s. Putting them onto %s", w.plan.Wave, finished, words.Stories(all), printable.Clean(w.part().Branch, 200)))
	r.git.Close() // the integration ends all processes that are not its own
	report, err := r.Integrate(ctx, w.dir)
	r.reported, r.merged = true, r.merged.Add(report.Usage().Cost)
	r.note(r.used)
	return &report, errors.Join(err, r.openGit(ctx))
}

// decide says whether the run is over after a wave, and how it ended.
func (r *waves) decide(ctx context.Context, w *wave, lanes []*lane, report *ralph.Report) (ending, bool, error) {
	landed := 0
	if report != nil && report.Wave != nil {
		for _, s := range report.Wave.Stories {
			if s.Fate == ralph.FateIn {
				landed++
			}
		}
	}
	end, err := r.over(ctx, w, report)
	switch {
	case err != nil || end.Outcome != "":
		return end, true, err
	case landed > 0:
		return end, false, nil
	}
	end.Outcome, end.Reason = ralph.Stalled, "no story was added in this wave: another one would come to the same"
	for _, l := range lanes {
		if l.result != nil && l.result.Outcome != "" && ralph.Outcome(l.result.Outcome) != ralph.Completed {
			end.Outcome, end.Reason = ralph.Outcome(l.result.Outcome), fmt.Sprintf("lane %s: %s", l.Name, l.result.Reason)
			break
		}
	}
	if len(lanes) > 0 && !slices.ContainsFunc(lanes, func(l *lane) bool { return l.result != nil }) {
		end.Outcome, end.Reason = ralph.Invalid, "no lane handed anything over: what they said is above"
	}
	return end, true, nil
}

// over is how the run ends now, with an empty outcome if it goes on.
func (r *waves) over(ctx context.Context, w *wave, report *ralph.Report) (ending, error) {
	list, err := r.list()
	if err != nil {
		return ending{}, err
	}
	end := ending{}
	for _, s := range list.Report(r.Rules) {
		if len(r.Rules.Only) > 0 && !slices.Contains(r.Rules.Only, s.ID) {
			continue
		}
		if end.Of++; s.Done {
			end.Done++
		}
	}
	switch {
	case ctx.Err() != nil:
		end.Outcome, end.Reason, end.Advice = ralph.Interrupted, "the run was cancelled", "Run it again to continue."
		if n := w.waiting(list, r.Rules); n > 0 {
			end.Reason += fmt.Sprintf(": %s finished in the lanes, and not on the branch yet", words.Stories(n)+map[bool]string{true: " is", false: " are"}[n == 1])
		}
	case report != nil && report.Outcome == ralph.Interrupted:
		end.Outcome, end.Reason = ralph.Interrupted, report.Reason
	case list.Done(r.Rules):
		end.Outcome = ralph.Completed
	case report != nil && report.Outcome.Row().Kind == ralph.Misconfigured, report != nil && report.Outcome.Row().Kind == ralph.Failed:
		end.Outcome, end.Reason = report.Outcome, report.Reason+". What the lanes have finished is kept: the same command tries again."
	case r.Limits.Cost > 0 && r.payable() < max(1, r.average()):
		end.Outcome, end.Limit = ralph.OverBudget, "max-cost-usd"
		end.Reason = fmt.Sprintf("%s spent; max-cost-usd is %s: the rest is not enough for another iteration", r.used.cost.Amount, r.Limits.Cost)
	case r.Limits.Iterations > 0 && r.used.iterations >= r.Limits.Iterations:
		end.Outcome, end.Limit, end.Reason = ralph.MaxIterations, "max-iterations", fmt.Sprintf("max-iterations %d is reached", r.Limits.Iterations)
	case !r.Limits.Until.IsZero() && time.Until(r.Limits.Until) < leastTime:
		end.Outcome, end.Limit, end.Reason = ralph.Deadline, "max-duration", "the time of the run (max-duration) is used up"
	case w.lanes == nil:
		end.Outcome, end.Reason = ralph.Stalled, "no story is ready: "+waits(w.plan)
	}
	return end, nil
}

// leastTime is what a wave is started for.
const leastTime = 10 * time.Second

// waits says why stories are in no lane.
func waits(p *fanout.Plan) string {
	var all []string
	for _, w := range p.Later {
		all = append(all, w.Story+": "+w.Why)
	}
	return ralph.Listed(all)
}
