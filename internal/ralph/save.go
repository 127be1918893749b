package ralph

import (
	"context"
	"errors"
	"time"
)

// snapshot looks at the tree. What cannot be looked at cannot be published, so
// the agent is told as a guardrail would tell it.
func (r *run) snapshot(ctx context.Context, it *Iteration) state {
	if r.Workspace == nil {
		return state{}
	}
	change, err := r.Workspace.Snapshot(ctx)
	if err != nil {
		r.fail(it, err)
		return state{}
	}
	r.unsaved = nil
	it.Change = change
	r.withhold(it, change.Findings)
	return state{head: change.Head, tree: change.Tree, work: change.work(), ok: true, fresh: change.SinceStart}
}

// tellNotes tells people what the last snapshot of an iteration notes, once.
func (r *run) tellNotes(it *Iteration) {
	for _, note := range it.Change.Notes {
		if !r.noted[note] {
			r.noted[note] = true
			r.emit(Event{Kind: EventNotice, Text: note, Iteration: it.Number})
		}
	}
}

// fail records a tree that could not be looked at or committed.
func (r *run) fail(it *Iteration, err error) {
	r.unsaved = err
	r.emit(Event{Kind: EventWarning, Text: err.Error(), Iteration: it.Number})
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	it.Verdicts = append(it.Verdicts, Verdict{
		Command: "git", ExitCode: -1, Reason: err.Error(), Action: Append, Digest: "git: " + err.Error(),
		Message: "The repository is in a state that cannot be committed: " + err.Error() + "\nBring it back into order; do not discard your work.",
	})
}

func (r *run) checkpoint(ctx context.Context, it *Iteration) {
	if r.Policy.Checkpoint {
		r.commit(ctx, it)
	}
}

func (r *run) commit(ctx context.Context, it *Iteration) {
	if r.Workspace == nil || r.unsaved != nil || r.withheld != "" {
		return
	}
	commit, err := r.Workspace.Checkpoint(ctx, *it)
	if err != nil {
		r.unsaved = err
		r.emit(Event{Kind: EventWarning, Text: err.Error(), Iteration: it.Number})
		return
	}
	it.Commit = commit
	if commit.SHA != "" {
		r.emit(Event{Kind: EventCheckpoint, Commit: &commit, Iteration: it.Number})
	}
}

// atEnd commits what the last snapshot found, when that was left for the end.
func (r *run) atEnd(ctx context.Context) {
	if n := len(r.report.Iterations); r.Policy.CheckpointAtEnd && n > 0 {
		shielded, done := r.shield(ctx)
		defer done()
		was := r.unsaved
		r.unsaved = nil // what an earlier snapshot found is still there to commit
		r.commit(shielded, &r.report.Iterations[n-1])
		if was != nil {
			r.unsaved = was
		}
	}
}

// shield gives the work of saving a context that outlives ctx by
// Policy.Salvage: a cancelled run still commits what it has.
func (r *run) shield(ctx context.Context) (context.Context, context.CancelFunc) {
	shielded, cancel := context.WithCancel(context.WithoutCancel(ctx))
	salvage := r.Policy.Salvage
	if salvage == 0 {
		salvage = 5 * time.Second
	}
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(salvage)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-shielded.Done():
		}
	})
	return shielded, func() { stop(); cancel() }
}
