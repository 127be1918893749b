package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/bundle"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/report/memory"
)

const (
	maxDepth   = 3      // of folders below that of the lanes
	maxEntries = 50_000 // files and folders there
)

// Wave is what was downloaded: a plan, and what its lanes handed over. All of it is
// foreign.
type Wave struct {
	Plan   *fanout.Plan
	Part   *fanout.Part
	Offers []fanout.Offer
	Notes  []string // what was found and belongs to no lane

	dir string
}

// Read reads the folder of the lanes: plan.json, and lane.json of every artifact, in
// folders below it. branch names the part; empty: the only one.
func Read(dir, branch string) (*Wave, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("lanes %s: %w", dir, cause(err))
	}
	defer root.Close()
	w := &Wave{dir: dir}
	var found []fanout.Artifact
	var plan []byte
	at := ""
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("it holds more than %d files: give the folder of one wave's artifacts", maxEntries)
		}
		if d.IsDir() {
			if strings.Count(name, "/") >= maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Base(name) {
		case fanout.PlanName:
			data, err := readFile(root, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if plan != nil && string(plan) != string(data) {
				return fmt.Errorf("it holds two plans, %s and %s: give the artifacts of one wave", at, name)
			}
			plan, at = data, name
		case fanout.ResultName:
			a := fanout.Artifact{Name: path.Dir(name)}
			data, err := readFile(root, name)
			if err == nil {
				a.Result, err = fanout.DecodeResult(data)
			}
			a.Err = err
			found = append(found, a)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lanes %s: %w", dir, err)
	}
	if plan == nil {
		return nil, fmt.Errorf("lanes %s: it holds no %s: download the plan's artifact there, beside those of the lanes", dir, fanout.PlanName)
	}
	if w.Plan, err = fanout.DecodePlan(plan); err != nil {
		return nil, fmt.Errorf("lanes %s: %s: %w", dir, at, err)
	}
	if w.Part, err = w.Plan.PartOf(branch); err != nil {
		return nil, fmt.Errorf("lanes %s: %s: %w", dir, at, err)
	}
	w.Offers, w.Notes = w.Plan.Match(w.Part, found)
	return w, nil
}

func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, fanout.MaxFileBytes+1))
}

// open opens a regular file, and waits for none that is not.
func open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	return f, nil
}

// Stories brings what the lanes handed over into the store of a branch, whose commits since
// its base have these messages, and returns the stories to integrate, in their order. What
// cannot be taken is told as part of the wave.
func (o *Owner) Stories(ctx context.Context, w *Wave, objects *objects.Objects, messages []string) ([]integrate.Story, error) {
	data, err := integrate.File(ctx, objects, w.Part.Base, o.path("tasks.json"))
	if err != nil {
		return nil, fmt.Errorf("the commit %.12s, at which the plan begins, cannot be had: check out with fetch-depth: 0: %w", w.Part.Base, err)
	}
	if err := o.setBase(data, w.Part.Digest); err != nil {
		return nil, err
	}
	o.lanes = map[string]*handed{}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	bad := map[string]ralph.WaveStory{}
	for i := range w.Offers {
		of := &w.Offers[i]
		fate, why := o.take(root, objects, of, w.Part)
		for _, id := range of.Lane.Stories {
			d := fanout.Done{ID: id}
			if of.Artifact != nil && of.Why == "" {
				if at := slices.IndexFunc(of.Artifact.Result.Stories, func(d fanout.Done) bool { return d.ID == id }); at >= 0 {
					d = of.Artifact.Result.Stories[at]
				}
			}
			o.lanes[id] = &handed{lane: of, done: d}
			s := o.waveStory(of, d)
			switch {
			case why != "":
				s.Fate, s.Why = fate, why
			case d.Commit == "":
				s.Fate, s.Why = ralph.FateUnfinished, unfinished(of)
			default:
				continue
			}
			bad[id] = s
		}
		o.rest(of)
	}
	settled := map[string]memory.Laned{}
	for _, m := range messages {
		if l, ok := memory.ReadLane(m); ok && l.Lane != "" {
			settled[l.Lane+" "+l.Story] = l
		}
	}
	var stories []integrate.Story
	for _, turn := range fanout.Order(o.base, w.Part) {
		h := o.lanes[turn.Story]
		if before, is := settled[h.lane.Key+" "+memory.StoryTrailer(turn.Story)]; is {
			s := o.waveStory(h.lane, h.done)
			if s.Fate = ralph.FateAlready; !before.In {
				s.Fate, s.Why = ralph.FateReturned, "handed back by an integration that was run before"
			} else if h.done.Commit != "" {
				o.Landed = append(o.Landed, integrate.Story{ID: turn.Story, Commit: h.done.Commit})
			}
			o.Told(s, integrate.Result{})
			continue
		}
		if s, is := bad[turn.Story]; is {
			o.Told(s, integrate.Result{})
			continue
		}
		stories = append(stories, integrate.Story{ID: turn.Story, Commit: h.done.Commit})
	}
	return stories, nil
}

// unfinished says why a story of a lane is not done.
func unfinished(of *fanout.Offer) string {
	r := of.Artifact.Result
	switch {
	case r.Outcome == "":
		return "its lane was ended before it was done"
	case r.Reason != "":
		return "its lane ended: " + printable.Clean(r.Reason, 200)
	}
	return "its lane ended: " + r.Outcome
}

// take brings a lane's bundle into the store. why says what is wrong with it, and fate what
// becomes of its stories then.
func (o *Owner) take(root *os.Root, objects *objects.Objects, of *fanout.Offer, part *fanout.Part) (fate ralph.Fate, why string) {
	switch {
	case of.Artifact == nil:
		return ralph.FateMissing, "its lane handed nothing over"
	case of.Why != "":
		return ralph.FateRefused, of.Why
	case of.Artifact.Result.Bundle == "":
		return "", ""
	}
	var ids []string
	want := bundle.Want{Base: part.Base, Name: of.Key, Digest: of.Artifact.Result.Bundle}
	for _, d := range of.Artifact.Result.Stories {
		if d.Commit != "" {
			want.Commits, ids = append(want.Commits, d.Commit), append(ids, d.ID)
		}
	}
	want.Says = func(i int, message string) error {
		if l, ok := memory.ReadLane(message); !ok || l.Story != memory.StoryTrailer(ids[i]) {
			return fmt.Errorf("its %s is not %q", memory.TrailerStory, ids[i])
		}
		return nil
	}
	f, err := open(root, path.Join(of.Artifact.Name, fanout.BundleName))
	if err != nil {
		return ralph.FateMissing, fmt.Sprintf("its lane says that there is a %s, and there is none (%v)", fanout.BundleName, err)
	}
	defer f.Close()
	if err := bundle.Read(f, objects.Store, want); err != nil {
		return ralph.FateRefused, fanout.BundleName + ": " + printable.Clean(err.Error(), 300)
	}
	return "", ""
}

// rest adds to a lane's last story what the lane cost besides its stories, so that the
// trailers on the branch tell of all of it.
func (o *Owner) rest(of *fanout.Offer) {
	if of.Artifact == nil || of.Why != "" {
		return
	}
	var last *handed
	sum := ralph.MicroUSD(0)
	for _, id := range of.Lane.Stories {
		h := o.lanes[id]
		if h.done.Commit != "" {
			sum += h.done.Cost.MicroUSD
			last = h
		}
	}
	if all := of.Artifact.Result.Cost.MicroUSD; last != nil && all > sum {
		last.more = all - sum
	}
}

// Cost is what the lanes cost, as they say.
func (w *Wave) Cost() ralph.Cost {
	var c ralph.Cost
	for _, of := range w.Offers {
		if of.Artifact != nil {
			c = c.Add(of.Artifact.Result.Cost.Of())
		}
	}
	return c
}

// Report is the wave for people. stories are those of which somebody was told, left is how
// many of the list are not done.
func (w *Wave) Report(stories []ralph.WaveStory, left int) *ralph.Wave {
	r := &ralph.Wave{Number: w.Plan.Wave, Of: w.Plan.Waves, Cost: w.Cost()}
	in := func(s ralph.WaveStory) bool { return s.Fate == ralph.FateIn || s.Fate == ralph.FateAlready }
	for _, yes := range []bool{true, false} {
		for _, s := range stories {
			if in(s) == yes {
				r.Stories = append(r.Stories, s)
			}
		}
	}
	for i := range w.Offers {
		of := &w.Offers[i]
		t := ralph.LaneTime{Name: of.Lane.Name}
		if of.Artifact != nil {
			a := of.Artifact.Result
			t.Started, t.Ended, t.Outcome = a.Started, a.Ended, a.Outcome
			for _, d := range a.Stories {
				one := ralph.StoryTime{ID: d.ID, Started: d.Started, Ended: d.Ended}
				if at := slices.IndexFunc(stories, func(s ralph.WaveStory) bool { return s.ID == d.ID }); at >= 0 {
					one.Fate = stories[at].Fate
				}
				t.Stories = append(t.Stories, one)
			}
		}
		r.Lanes = append(r.Lanes, t)
	}
	for _, l := range w.Plan.Later {
		r.Later = append(r.Later, ralph.Postponed{Story: l.Story, Why: l.Why})
	}
	r.Next, r.Why = w.Plan.Next(left, r)
	return r
}

// Earlier are the stories that other plans brought onto a branch whose commits since its base
// have these messages, the newest first. list is what else is known of them.
func (w *Wave) Earlier(messages []string, list []ralph.Story) []ralph.WaveStory {
	var all []ralph.WaveStory
	for _, m := range slices.Backward(messages) {
		l, ok := memory.ReadLane(m)
		key, err := fanout.ParseLaneKey(l.Lane)
		if !ok || !l.In || err != nil || key.Plan == w.Plan.ID() {
			continue
		}
		s := ralph.WaveStory{ID: l.Story, Lane: key.Lane, Wave: key.Wave, Cost: l.Cost, Fate: ralph.FateAlready, Unprotected: l.Unprotected}
		if at := slices.IndexFunc(list, func(t ralph.Story) bool { return memory.StoryTrailer(t.ID) == l.Story }); at >= 0 {
			s.ID, s.Title, s.Reviews = list[at].ID, list[at].Title, list[at].Reviews
		}
		all = append(all, s)
	}
	return all
}

// Elsewhere reports whether a story belongs to another branch of the plan.
func (w *Wave) Elsewhere(id string) bool {
	for i := range w.Plan.Parts {
		part := &w.Plan.Parts[i]
		for _, l := range part.Lanes {
			if part.Branch != w.Part.Branch && slices.Contains(l.Stories, id) {
				return true
			}
		}
	}
	return false
}
