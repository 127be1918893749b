package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// besideTurn is how long the agent works in each turn of the row below.
const besideTurn = 500 * time.Millisecond

// worker is an agent that changes twenty files in each turn.
type worker struct {
	dir    string
	rounds *int
}

func (w worker) Run(ctx context.Context, _ ralph.Prompt, _ func(ralph.Event)) (ralph.Turn, error) {
	timer := time.NewTimer(besideTurn)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ralph.Turn{}, ctx.Err()
	}
	*w.rounds++
	return ralph.Turn{Tools: 1}, change(w.dir, smallFiles, *w.rounds)
}

// waiting is a workspace in which each checkpoint waits for its push.
type waiting struct{ *repo.Repo }

func (w waiting) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	c, err := w.Repo.Checkpoint(ctx, it)
	if err == nil && c.Pushing {
		c = w.PushCheckpoint(ctx, c)
	}
	return c, err
}

// beside compares a loop that pushes beside the next turn with one that waits for each
// push.
func (b *bench) beside(ctx context.Context) ([]row, error) {
	const iterations, rounds, far, name = 6, 5, 200 * time.Millisecond, "beside"
	if err := b.seed(ctx, name, smallFiles); err != nil {
		return nil, err
	}
	children, err := proc.Start(ctx, proc.Options{SpillDir: b.dir})
	if err != nil {
		return nil, err
	}
	defer func() { _ = children.Close() }()
	round := 0
	loop := func(as string, workspace func(*repo.Repo) ralph.Workspace) func() (float64, error) {
		return func() (float64, error) {
			round++
			dir, err := b.checkout(ctx, name, fmt.Sprintf("%s-%d", as, round))
			if err != nil {
				return 0, err
			}
			defer os.RemoveAll(dir)
			r, closeAll, err := b.open(ctx, children, dir, name, fmt.Sprintf("ralph/%s-%d", as, round), nil)
			if err != nil {
				return 0, err
			}
			defer closeAll()
			b.forge.delay.Store(int64(far))
			defer b.forge.delay.Store(0)
			began := time.Now()
			report := (&ralph.Loop{
				Agent: worker{dir, &round}, Workspace: workspace(r), Policy: ralph.Policy{MaxIterations: iterations, Checkpoint: true},
				Prompt: func(ralph.Ask) (ralph.Prompt, error) { return ralph.Prompt{Text: "work"}, nil },
			}).Run(ctx, nil)
			took := ms(time.Since(began))
			for _, it := range report.Iterations {
				if !it.Commit.Pushed {
					err = errors.Join(err, fmt.Errorf("iteration %d was not pushed: %s", it.Number, it.Commit.PushError))
				}
			}
			if len(report.Iterations) != iterations {
				err = fmt.Errorf("%d iterations: %s", len(report.Iterations), report.Reason)
			}
			return took, err
		}
	}
	one, err := row{
		What:       fmt.Sprintf("%d iterations of %s, each pushed, %s per request", iterations, besideTurn, far),
		Comparison: "the same, each waiting for its push", Target: target{AtMost: 0.8, Ratio: true},
		Note: "The loop with a repository of 200 files, 20 changed in each turn. The push goes on beside the next turn.",
	}.compare(rounds,
		loop("beside", func(r *repo.Repo) ralph.Workspace { return r }),
		loop("waiting", func(r *repo.Repo) ralph.Workspace { return waiting{r} }))
	return []row{one}, err
}
