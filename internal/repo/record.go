package repo

import (
	"slices"

	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// keepRecord writes the record anew, for the case that the run is killed. A failure is
// noted once.
func (r *Repo) keepRecord(working bool) {
	if tip := r.branch.Tip; !tip.IsZero() && r.tree.BranchFile() == tip {
		r.at = tip
	}
	rec := killed.Record{At: r.at.String(), Branch: r.asked, Name: r.opt.Branch, Base: r.start.Base, Working: working}
	own, err := r.uncommitted()
	rec.List(r.state.held, r.state.made, own)
	r.record = rec
	if err == nil {
		err = r.recorder.Write(rec)
	}
	if err != nil && !r.recordFailed {
		r.recordFailed = true
		r.branch.Note("the record of the run's own files could not be written; should the run be killed, the next one cannot tell them from others: %s", printable.Line(err.Error(), 200))
	}
}

// uncommitted returns the run's own changes that no commit of the workspace holds, as
// far as the last snapshot has seen them.
func (r *Repo) uncommitted() ([]store.Change, error) {
	l := &r.state
	seen := l.lastTree
	if seen.IsZero() {
		seen = l.begun
	}
	changes, err := r.store.Diff(l.headTree, seen, nil)
	return slices.DeleteFunc(changes, func(ch store.Change) bool {
		held, ok := l.held[ch.Path]
		return l.made[ch.Path] || ok && held == ch.New
	}), err
}

// KeepRecord writes the record anew. With stays, it is there after Close: somebody is to
// go on with the run.
func (r *Repo) KeepRecord(stays bool) {
	r.recorder.Stays = stays
	r.keepRecord(false)
}

// Work notes that the agent, or a program of its, is about to change the work tree,
// until the next Checkpoint or Push. It writes what keepRecord wrote last.
func (r *Repo) Work() {
	if !r.recorder.Working() {
		r.record.Working = true
		_ = r.recorder.Write(r.record) // keepRecord notes a failure
		r.recorder.Work()
	}
}

// settle ends what Work began: no program of the agent runs now.
func (r *Repo) settle() {
	if r.recorder.Working() {
		r.recorder.Rest()
		r.keepRecord(false)
	}
}
