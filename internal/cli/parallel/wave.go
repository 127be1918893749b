package parallel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/rmtree"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// What lies in the state directory.
const (
	waveDir  = "wave"  // plan.json, and what its lanes handed over
	treesDir = "lanes" // a repository for each lane, by its key
	asideDir = "aside" // waves that nobody goes on with, by their plan
)

// wave is a plan and what has become of it.
type wave struct {
	dir   string
	plan  *fanout.Plan
	lanes []*lane // none: there is nothing to work on
	fresh bool    // it was planned by this run, with what is left of its limits
}

// lane is one of a wave's.
type lane struct {
	*fanout.Lane
	key        string
	tree       string         // its repository
	result     *fanout.Result // the last that it handed over; nil: none
	budget     ralph.MicroUSD // that it may have cost at its end; 0: no limit
	iterations int            // that it may take now; 0: as many as its stories need
	ran        bool           // now, so that it may have cost something
}

func (w *wave) part() *fanout.Part { return &w.plan.Parts[0] }

// open are the lanes that have something left to do, and were not given up.
func (w *wave) open() []*lane {
	return slices.DeleteFunc(slices.Clone(w.lanes), func(l *lane) bool { return !l.open() })
}

func (l *lane) open() bool { return len(l.left()) > 0 && !l.givenUp() }

// givenUp reports whether the lane ended for a reason that it would meet again.
func (l *lane) givenUp() bool {
	if l.result == nil {
		return false
	}
	switch ralph.Outcome(l.result.Outcome) {
	case ralph.Completed, ralph.Stalled, ralph.Blocked, ralph.Invalid, ralph.GitFailed:
		return true
	}
	return false
}

// left are the stories that the lane has not handed over.
func (l *lane) left() []string {
	return slices.DeleteFunc(slices.Clone(l.Stories), func(id string) bool {
		return l.result != nil && slices.ContainsFunc(l.result.Stories, func(d fanout.Done) bool { return d.ID == id && d.Commit != "" })
	})
}

// waiting is how many stories the lanes have handed over that are not done in a list.
func (w *wave) waiting(list *tasks.List, rules tasks.Rules) int {
	n := 0
	for _, l := range w.lanes {
		for _, s := range list.Report(rules) {
			if !s.Done && slices.Contains(l.Stories, s.ID) && !slices.Contains(l.left(), s.ID) {
				n++
			}
		}
	}
	return n
}

// handed reports whether the lane has handed a story over.
func (l *lane) handed() bool { return len(l.left()) < len(l.Stories) }

// withheld reports whether work of the lane is in its repository alone.
func (l *lane) withheld() bool {
	return l.result != nil && ralph.Outcome(l.result.Outcome) == ralph.Blocked || l.result != nil && slices.ContainsFunc(l.result.Stories, func(d fanout.Done) bool { return d.Withheld != "" })
}

// spent is what the lane has cost so far.
func (l *lane) spent() ralph.MicroUSD {
	if l.result == nil {
		return 0
	}
	return l.result.Cost.MicroUSD
}

// used is what the lane has used so far.
func (l *lane) used() totals {
	var t totals
	if l.result != nil {
		t.cost = ralph.Cost{Amount: l.result.Cost.MicroUSD, Unknown: l.result.Cost.Unknown, Estimated: l.result.Cost.Estimated}
		for _, s := range l.result.Stories {
			t.iterations += s.Iterations
		}
	}
	return t
}

// next is the wave that is to be worked on: the open one, else a new one.
func (r *waves) next() (*wave, error) {
	w, err := r.lastWave()
	if err != nil {
		return nil, err
	}
	if w != nil {
		r.wave = w.plan.Wave
		return w, nil
	}
	if err := os.RemoveAll(filepath.Join(r.state, waveDir)); err != nil {
		return nil, err
	}
	plan, err := r.plan()
	if err != nil {
		return nil, err
	}
	r.wave = plan.Wave
	w = &wave{dir: filepath.Join(r.state, waveDir), plan: plan, fresh: true}
	w.begin(r.state)
	if len(w.lanes) == 0 {
		return w, nil
	}
	// Whole or not at all: what has a plan is a wave.
	part := w.dir + ".part"
	err = errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o700))
	if err == nil {
		err = os.WriteFile(filepath.Join(part, fanout.PlanName), plan.Encode(), 0o600)
	}
	if err == nil {
		err = os.Rename(part, w.dir)
	}
	return w, err
}

// begin lists the lanes of the plan.
func (w *wave) begin(state string) {
	part := w.part()
	for i := range part.Lanes {
		key := w.plan.Key(&part.Lanes[i])
		w.lanes = append(w.lanes, &lane{Lane: &part.Lanes[i], key: key, tree: filepath.Join(state, treesDir, key)})
	}
}

// lastWave is the wave of this run or of an earlier one that is not over; nil: there is none.
// One that cannot go on, because people have changed what it builds on, is put aside.
func (r *waves) lastWave() (*wave, error) {
	dir := filepath.Join(r.state, waveDir)
	data, err := os.ReadFile(filepath.Join(dir, fanout.PlanName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	} else if err != nil {
		return nil, err
	}
	w := &wave{dir: dir}
	if w.plan, err = fanout.DecodePlan(data); err == nil && len(w.plan.Parts) != 1 {
		err = errors.New("it has several branches")
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which an earlier run left, is no plan (%w): remove %s to start anew", filepath.Join(dir, fanout.PlanName), err, dir)
	}
	w.begin(r.state)
	if err := w.read(); err != nil {
		return nil, err
	}
	why, err := r.outdated(w)
	if err != nil || why == "" {
		return w, err
	}
	return nil, r.putAside(w, why)
}

// putAside keeps what is there of a wave that nobody goes on with.
func (r *waves) putAside(w *wave, why string) error {
	aside := filepath.Join(r.state, asideDir, w.plan.ID())
	if err := errors.Join(rmtree.Remove(aside), os.MkdirAll(aside, 0o700)); err != nil {
		return err
	}
	kept := slices.ContainsFunc(w.lanes, (*lane).handed)
	for _, l := range w.lanes {
		err := os.Rename(l.tree, filepath.Join(aside, l.key))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		kept = kept || err == nil
	}
	if err := os.Rename(w.dir, filepath.Join(aside, waveDir)); err != nil {
		return err
	}
	if !kept {
		return rmtree.Remove(aside)
	}
	r.Print.Warn(fmt.Sprintf("What an earlier parallel run has not finished is not used: %s. It is kept in %s: remove that when you don't need it.", why, aside))
	return nil
}

// outdated says why a wave cannot be worked on any more; empty: it can.
func (r *waves) outdated(w *wave) (string, error) {
	if on, err := r.git.Yes("merge-base", "--is-ancestor", w.part().Base, "HEAD"); err != nil || !on {
		return fmt.Sprintf("it began at %.7s, which %s does not have any more", w.part().Base, w.part().Branch), nil //nolint:nilerr // nor does the repository
	}
	now, err := r.list()
	if err != nil {
		return "", err
	}
	text, err := r.file(w.part().Base)
	if err != nil {
		return "", err
	}
	then, err := tasks.Read([]byte(text))
	if err != nil {
		return "", err
	}
	for _, l := range w.open() {
		for _, id := range l.left() {
			if a, b := then.Story(id), now.Story(id); a == nil || b == nil || !a.Asks(b) {
				return fmt.Sprintf("story %s was changed in the list since", id), nil
			}
		}
	}
	return "", nil
}

// read looks at what the lanes handed over.
func (w *wave) read() error {
	names, err := fs.Glob(os.DirFS(w.dir), "L*/*/"+fanout.ResultName)
	if err != nil {
		return err
	}
	var found []fanout.Artifact
	for _, name := range names {
		a := fanout.Artifact{Name: name}
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err == nil {
			a.Result, err = fanout.DecodeResult(data)
		}
		a.Err = err
		found = append(found, a)
	}
	offers, _ := w.plan.Match(w.part(), found)
	for i, o := range offers {
		if w.lanes[i].result = nil; o.Artifact != nil && o.Why == "" {
			w.lanes[i].result = o.Artifact.Result
		}
	}
	return nil
}

// plan is a new wave: all of it goes onto the branch that is checked out.
func (r *waves) plan() (*fanout.Plan, error) {
	branch, err := r.branch()
	if err != nil {
		return nil, err
	}
	head, err := r.git.Run("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	list, err := r.list()
	if err != nil {
		return nil, err
	}
	in := fanout.Input{
		Options: fanout.Options{Wave: r.wave + 1, Lanes: r.Lanes, Rules: r.Rules, Branch: branch},
		Dir:     r.RalphDir, Base: fanout.At{Commit: strings.TrimSpace(head), List: list},
	}
	if r.Limits.Cost > 0 {
		left := max(0, r.Limits.Cost-r.used.cost.Amount)
		in.Budget = &left
	}
	return fanout.Make(in)
}

// list is the task list of the commit that is checked out.
func (r *waves) list() (*tasks.List, error) {
	text, err := r.file("HEAD")
	if err != nil {
		return nil, err
	}
	list, err := tasks.Read([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s/%s, as it is committed: %w", r.RalphDir, tasks.TasksName, err)
	}
	return list, nil
}

// file is tasks.json of a commit.
func (r *waves) file(commit string) (string, error) {
	return r.git.Run("cat-file", "blob", commit+":./"+r.RalphDir+"/"+tasks.TasksName)
}

func (r *waves) branch() (string, error) {
	name, err := r.git.Run("symbolic-ref", "--quiet", "--short", "HEAD")
	return strings.TrimSpace(name), err
}

// average is what an iteration of this run has cost.
func (r *waves) average() ralph.MicroUSD {
	return r.used.cost.Amount / ralph.MicroUSD(max(1, r.used.iterations))
}

// payable is what lanes may cost now: a fifth of what is left is kept for the integration.
func (r *waves) payable() ralph.MicroUSD {
	return max(0, r.Limits.Cost-r.used.cost.Amount) / 5 * 4
}

// shared gives lanes their part of what is left of the limits, by their estimates. Those that
// would get nothing are left out.
func (r *waves) shared(w *wave, lanes []*lane) []*lane {
	if average := r.average(); r.Limits.Cost > 0 && !w.fresh && average > 0 {
		lanes = lanes[:min(len(lanes), max(1, int(r.payable()/average)))]
	}
	all := 0
	for _, l := range lanes {
		all += max(1, l.Estimate)
	}
	iterations := r.Limits.Iterations - r.used.iterations
	left := iterations
	for _, l := range lanes {
		l.budget, l.iterations = 0, 0
		switch {
		case r.Limits.Cost == 0:
		case w.fresh:
			l.budget = l.Budget
		default:
			l.budget = l.spent() + r.payable()*ralph.MicroUSD(max(1, l.Estimate))/ralph.MicroUSD(all)
		}
		if r.Limits.Iterations > 0 {
			l.iterations = iterations * max(1, l.Estimate) / all
			left -= l.iterations
		}
	}
	if r.Limits.Iterations > 0 {
		for i := 0; i < len(lanes) && left > 0; i, left = i+1, left-1 {
			lanes[i].iterations++
		}
	}
	return slices.DeleteFunc(lanes, func(l *lane) bool { return r.Limits.Iterations > 0 && l.iterations == 0 })
}

// workOn runs lanes, as many at a time as were asked for.
func (r *waves) workOn(ctx context.Context, w *wave, lanes []*lane) error {
	if err := r.runAll(ctx, w, lanes); err != nil {
		return err
	}
	now := &wave{dir: w.dir, plan: w.plan}
	now.begin(r.state)
	if err := now.read(); err != nil {
		return err
	}
	r.used = r.used.plus(now, w)
	for i, l := range now.lanes {
		if w.lanes[i].ran && l.result == nil {
			r.used.cost.Unknown = true
		}
		w.lanes[i].result = l.result
	}
	r.note(r.used)
	return nil
}

// tidy removes what nobody needs any more: repositories of lanes that are over and integrated,
// and a wave of which all lanes are.
func (r *waves) tidy(w *wave) {
	var errs []error
	for _, l := range w.lanes {
		switch {
		case l.open():
		case l.withheld():
			r.Print.Warn(fmt.Sprintf("Lane %s has work that was not handed over. It is in %s: remove that when you don't need it.", l.Name, l.tree))
		default:
			errs = append(errs, rmtree.Remove(l.tree))
		}
	}
	if len(w.open()) == 0 {
		errs = append(errs, rmtree.Remove(w.dir))
	}
	for _, dir := range []string{filepath.Join(r.state, treesDir), r.state, r.Dir} {
		_ = os.Remove(dir) // unless there is something
	}
	if err := errors.Join(errs...); err != nil {
		r.Print.Warn(err.Error())
	}
}
