package ralph

import (
	"cmp"
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
		Command: "git", Own: true, ExitCode: -1, Reason: err.Error(), Action: Append, Digest: "git: " + err.Error(),
		Message: "The repository is in a state that cannot be committed: " + err.Error() + "\nBring it back into order; do not discard your work.",
	})
}

// checkpoint commits what an iteration did. Where another one follows, the push
// goes on beside its turn.
func (r *run) checkpoint(ctx, shielded context.Context, it *Iteration, follows bool) {
	if !r.Policy.Checkpoint || !r.commit(shielded, it) {
		return
	}
	if follows && it.Commit.Pushing && ctx.Err() == nil {
		r.committed(*it)
		r.pushBeside(ctx, *it)
		return
	}
	r.push(shielded, it)
}

// commit reports whether the last snapshot was committed.
func (r *run) commit(ctx context.Context, it *Iteration) bool {
	if r.Workspace == nil || r.unsaved != nil || r.withheld != "" {
		return false
	}
	commit, err := r.Workspace.Checkpoint(ctx, *it)
	if err != nil {
		r.unsaved = err
		r.emit(Event{Kind: EventWarning, Text: err.Error(), Iteration: it.Number})
		return false
	}
	it.Commit = commit
	return true
}

// push brings the commit of an iteration to the server, and tells of it.
func (r *run) push(ctx context.Context, it *Iteration) {
	if it.Commit.Pushing {
		it.Commit = r.Workspace.PushCheckpoint(ctx, it.Commit)
	}
	if it.Commit.SHA != "" {
		r.committed(*it)
	}
}

func (r *run) committed(it Iteration) {
	r.emit(Event{Kind: EventCheckpoint, Commit: &it.Commit, Iteration: it.Number})
}

// pushing is a push that goes on beside the agent's turn.
type pushing struct {
	of      Iteration
	arrived chan Commit
	done    context.CancelFunc
}

func (r *run) pushBeside(ctx context.Context, it Iteration) {
	ctx, done := outlive(ctx, r.Policy.Grace)
	p := &pushing{of: it, arrived: make(chan Commit, 1), done: done}
	r.pushing = p
	go func() { p.arrived <- r.Workspace.PushCheckpoint(ctx, it.Commit) }()
}

// arrive waits for the push that goes on, if any, and records what became of it.
// What did not arrive as it was told is told again.
func (r *run) arrive() {
	p := r.pushing
	if p == nil {
		return
	}
	r.pushing = nil
	was := p.of.Commit
	p.of.Commit = <-p.arrived
	p.done()
	for i := range r.report.Iterations {
		if r.report.Iterations[i].Number == p.of.Number {
			r.report.Iterations[i].Commit = p.of.Commit
		}
	}
	if p.of.Commit.SHA != was.SHA || p.of.Commit.PushError != "" {
		r.committed(p.of)
	}
}

// atEnd commits what the last snapshot found, when that was left for the end.
func (r *run) atEnd(ctx context.Context) {
	if n := len(r.report.Iterations); r.Policy.CheckpointAtEnd && n > 0 {
		shielded, done := r.shield(ctx)
		defer done()
		was := r.unsaved
		r.unsaved = nil // what an earlier snapshot found is still there to commit
		if it := &r.report.Iterations[n-1]; r.commit(shielded, it) {
			r.push(shielded, it)
		}
		if was != nil {
			r.unsaved = was
		}
	}
}

// shield gives the work of saving a context that outlives ctx by
// Policy.Salvage: a cancelled run still commits what it has.
func (r *run) shield(ctx context.Context) (context.Context, context.CancelFunc) {
	return outlive(ctx, cmp.Or(r.Policy.Salvage, 5*time.Second))
}

// outlive is a context that ends so much later than ctx.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	shielded, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(by)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-shielded.Done():
		}
	})
	return shielded, func() { stop(); cancel() }
}
