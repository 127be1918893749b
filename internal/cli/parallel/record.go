package parallel

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/run/rundir"
)

// lock takes the project for this run alone, its integrations included, and begins its log.
func (r *waves) lock() (release func(), err error) {
	owner, _ := r.owner()
	d, err := rundir.Open(r.Project, owner)
	if err != nil {
		return nil, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	name, log, err := d.SessionLog(r.Record.Started)
	if err != nil {
		unlock()
		return nil, errors.Join(err, d.Close())
	}
	r.Record.Log, r.files = d.FullPath(name), d.FullPath("")
	r.Print = logged{r.Print, log}
	return func() { // what is lost of a log is lost
		_ = log.Close()
		unlock()
		_ = d.Close()
	}, nil
}

// logged is a printer of which a log is kept, for 'ralph logs'.
type logged struct {
	printer
	log io.Writer
}

func (p logged) Say(line string) {
	_, _ = fmt.Fprintln(p.log, line)
	p.printer.Say(line)
}

func (p logged) Warn(line string) {
	_, _ = fmt.Fprintln(p.log, line)
	p.printer.Warn(line)
}

// remember begins the record for those who ask what goes on.
func (r *waves) remember() (err error) {
	if r.Records == "" {
		return nil
	}
	run := r.Record
	run.Workspace, run.Folder, run.Now, run.Lanes = r.Project, r.Project, "plans the first wave", r.Lanes
	list, err := r.list()
	if err != nil {
		return err
	}
	run.Task = cmp.Or(list.Description, list.Project)
	r.last, err = lastrun.Begin(r.Records, run)
	return err
}

// follow keeps the record up to date with what the lanes have handed over, until it is stopped.
func (r *waves) follow(w *wave, doing func() string) (stop func()) {
	ended := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			now := &wave{dir: w.dir, plan: w.plan}
			now.begin(r.state)
			if now.read() == nil {
				finished := 0
				for _, l := range now.lanes {
					finished += len(l.Stories) - len(l.left())
				}
				r.last.Doing(fmt.Sprintf("%s, %s finished", doing(), words.Stories(finished)))
				r.note(r.used.plus(now, w))
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(ended)
		following.Wait()
	}
}

// plus are totals with what lanes used since they were looked at.
func (t totals) plus(now, before *wave) totals {
	for i, l := range now.lanes {
		more, was := l.used(), before.lanes[i].used()
		t.iterations += max(0, more.iterations-was.iterations)
		more.cost.Amount = max(0, more.cost.Amount-was.cost.Amount)
		t.cost = t.cost.Add(more.cost)
	}
	return t
}

// note notes what the lanes used so far.
func (r *waves) note(used totals) {
	r.last.Note(func(run *lastrun.Run) {
		run.Iteration, run.Done, run.Used = used.iterations, used.iterations, ralph.Usage{Cost: used.cost.Add(r.merged)}
	})
}

// forget ends the record.
func (r *waves) forget(e ending) {
	last := lastrun.End{
		Outcome: e.Outcome, Limit: e.Limit, ExitCode: e.Outcome.ExitCode(false), Headline: e.headline(), Reason: e.Reason, Duration: e.Took,
	}
	if e.Done < e.Of {
		last.Left = []string{fmt.Sprintf("not done: %d of %d stories", e.Of-e.Done, e.Of)}
	}
	if r.reported { // the last integration has left a report
		r.last.Note(func(run *lastrun.Run) { run.Files = r.files })
	}
	r.last.End(last)
}

// headline is how the run ended, in one line.
func (e ending) headline() string {
	what := map[ralph.Outcome]string{
		ralph.Completed: "Completed", ralph.Interrupted: "Interrupted", ralph.OverBudget: "Stopped by the budget", ralph.MaxIterations: "Stopped at the iteration limit",
		ralph.Deadline: "Stopped at the time limit", ralph.Stalled: "Stopped: no progress", ralph.Quota: "Stopped by the provider's usage limit", ralph.AgentFailed: "The agent failed",
	}[e.Outcome]
	if what == "" {
		what = "Stopped"
	}
	text := fmt.Sprintf("%s: %d of %d stories are done", what, e.Done, e.Of)
	if e.Cost == (ralph.Cost{}) && e.Done == 0 {
		return text // no agent ran
	}
	return text + " — " + words.Cost(e.Cost) + ", " + words.Span(e.Took) + words.Since(e.Resumed)
}
