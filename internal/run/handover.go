package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/actions/artifact"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/run/lane"
	"github.com/org/ralph-action/internal/run/rundir"
)

// laneKey is the key of the lane that the run is. Locally it may have none of a plan.
func (p *plan) laneKey() fanout.LaneKey {
	if key := p.cfg.Tasks.Lane.Key; key != (fanout.LaneKey{}) {
		return key
	}
	return fanout.LaneKey{Wave: 1, Lane: "L001", Plan: p.stories.Digest()[:12]}
}

// openLane begins what the run hands over, on top of what an earlier attempt did.
func (b *branch) openLane(ctx context.Context) error {
	if !b.cfg.Tasks.Lane.Bundle || b.Before.Left != nil {
		return nil
	}
	committer := b.committer(ctx)
	unprotected, _ := b.unprotectedReviews(b.box != nil)
	o := lane.Options{
		Key: b.laneKey(), Attempt: cmp.Or(b.site.RunAttempt, "1"), Base: b.repo.CheckedOut(), Digest: b.stories.Digest(), Stories: b.cfg.Tasks.Stories, Unprotected: unprotected,
		Branch: b.repo.Branch(), Dir: filepath.Join(b.temp.store, "lane"),
		Author: repo.Identity(b.author(committer)), Committer: repo.Identity(committer),
		Message: b.storyMessage, List: b.stories.Stories, Mask: b.rec.masked, Warn: b.rec.warn, Started: b.rec.started(),
	}
	if b.local() {
		o.Keep = b.cfg.Tasks.Lane.Dir
	}
	var err error
	if o.Service, err = artifact.Find(b.getenv); err != nil || o.Service == nil && !b.local() {
		why := "the runner offers no service for artifacts (ACTIONS_RESULTS_URL)"
		if err != nil {
			why = b.rec.masked(err.Error())
		}
		b.rec.warn("The lane uploads nothing: " + why + ". Upload the directory that the output lane-dir names.")
	}
	earlier, notes, err := lane.Earlier(ctx, b.cfg.Tasks.Lane.Dir, o)
	for _, n := range notes {
		b.rec.tell(b.rec.masked(n))
	}
	if err != nil {
		return invalid(fmt.Errorf("go on from lanes: %w", err))
	}
	if b.lane = lane.New(o, earlier); earlier != nil {
		done, of := b.lane.Count()
		b.rec.tell(fmt.Sprintf("The lane goes on from its result %d: %d of %d stories are done.", earlier.Sequence, done, of))
	}
	if most := b.cfg.Limits.Cost; most > 0 && b.lane.Spent() >= most {
		return &endError{ralph.OverBudget, fmt.Errorf("earlier attempts of the lane cost %s of %s (max-cost-usd)", b.lane.Spent(), most)}
	}
	return nil
}

// costLeft is what the run may cost: earlier attempts of the lane are part of it.
func (w *work) costLeft() ralph.MicroUSD {
	if w.cfg.Limits.Cost == 0 {
		return 0
	}
	return max(1, w.cfg.Limits.Cost-w.lane.Spent())
}

// storyMessage is the message of a story's commit that a lane hands over.
func (b *branch) storyMessage(it ralph.Iteration, cost ralph.Cost, done bool) string {
	it.Delivery = ralph.Delivery{Message: b.rec.masked(it.Delivery.Message)}
	it.Said = ralph.Said{Commit: b.rec.masked(it.Said.Commit), Title: b.rec.masked(it.Said.Title), Description: b.rec.masked(it.Said.Description)}
	return b.rec.redact.Text(memory.CommitMessage(it, memory.Checkpoint{
		Template: b.cfg.Git.Message, Run: b.runID(), Base: b.start.BaseSHA, StoryDone: done, Before: b.history.Iterations(), Cost: cost, Signoff: b.signoff,
	}))
}

// handingOver is a repository of which each story is handed over that is done.
type handingOver struct {
	*repo.Repo
	lane *lane.Lane
}

func (h handingOver) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	c, err := h.Repo.Checkpoint(ctx, it)
	if err == nil && h.lane.Took(ctx, it) && c.SHA != "" {
		c.Pushing, c.Lane = true, true
	}
	return c, err
}

func (h handingOver) PushCheckpoint(ctx context.Context, c ralph.Commit) ralph.Commit {
	h.lane.SendBeside(ctx)
	c.Pushing = false
	return c
}

// handOver hands over what the lane came to. What does not arrive lies in a directory, from
// which a step of the workflow can upload it.
func (w *work) handOver(ctx context.Context) {
	r := &w.rec.report
	w.lane.End(ctx, r.Outcome, r.Reason, ralph.Blocking(r.Findings))
	if err := w.lane.Send(ctx); err != nil {
		w.couldNot("artifact", err)
		w.rec.warn("What the lane hands over did not arrive: " + w.rec.masked(err.Error()) + ". Upload the directory that the output lane-dir names.")
	}
	dir, arrived := w.lane.Handed()
	l := ralph.Lane{Key: w.laneKey().String(), Dir: w.leftAt(dir)}
	l.Done, l.Of = w.lane.Count()
	if arrived {
		l.Artifact = filepath.Base(dir)
		w.did("artifact", l.Artifact)
	} else {
		w.rec.note("What the lane hands over is in " + l.Dir + ".")
	}
	r.Publication.Lane = l
	r.Publication.Branch, r.Publication.HeadSHA = "", "" // they are nowhere but here
}

// leftAt is where the result of a lane stays after the run.
func (w *work) leftAt(dir string) string {
	if keep := w.cfg.Tasks.Lane.Dir; keep != "" && w.local() {
		return filepath.Join(keep, filepath.Base(dir))
	}
	folder := rundir.Name + "/lane/" + filepath.Base(dir)
	w.temp.leave = func() {
		if err := w.copyOut(dir, folder); err != nil {
			w.rec.out.Warn(fmt.Sprintf("What the lane hands over could not be left in %s: %v", folder, err))
		}
	}
	return folder
}

// copyOut copies the files of a directory into a folder of the workspace.
func (w *work) copyOut(dir, folder string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	to, err := rundir.OpenFolder(w.Workspace, folder, nil, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		return err
	}
	defer to.Close()
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := copyFile(to, filepath.Join(dir, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to *rundir.Dir, from, name string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := to.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return cmp.Or(err, out.Close())
}
