package repo

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/printable"
)

// IsRepository says, without running git, whether dir lies in a git repository.
// The error is gitdir.ErrNotRepository when it does not.
func IsRepository(dir string) error {
	_, err := gitdir.Locate(dir)
	return err
}

// Watcher sees whether a workspace changes, for a run that publishes nothing:
// it takes over nothing, commits nothing and moves no branch.
type Watcher struct {
	r     *Repo
	start ralph.Change
	tree  string
}

// Watch notes the workspace as it is now. Of the options it needs Dir, Guest,
// Temp, RunFiles and Cache.
func Watch(ctx context.Context, opt Options) (*Watcher, error) {
	w := &Watcher{r: &Repo{opt: opt}}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Watcher) open(ctx context.Context) error {
	at, err := gitdir.Locate(w.r.opt.Dir)
	if err != nil {
		return err
	}
	if w.r.gitDir, err = os.OpenRoot(at.Git); err != nil {
		return err
	}
	if w.r.common, err = os.OpenRoot(at.Common); err != nil {
		return err
	}
	if w.r.temp, err = os.OpenRoot(w.r.opt.Temp); err != nil {
		return err
	}
	c, err := w.r.supported()
	if unsupported := (*UnsupportedError)(nil); err != nil && !errors.As(err, &unsupported) {
		return err // a kind of repository that cannot be published can still be looked at
	}
	if err := w.r.findTop(ctx, c); err != nil {
		return err
	}
	w.start, err = w.look(ctx)
	return err
}

// Close releases what Watch took.
func (w *Watcher) Close() error { return w.r.Close() }

// Tree is the id of the tree of the last snapshot; empty before the first.
func (w *Watcher) Tree() string { return w.tree }

// Seen is the id of the tree as it was seen last: by a snapshot, or when the run
// began.
func (w *Watcher) Seen() string { return cmp.Or(w.tree, w.start.Tree) }

// Snapshot says what the tree is now. Files are not counted. A merge in progress
// is the agent's own business here.
func (w *Watcher) Snapshot(ctx context.Context) (ralph.Change, error) {
	now, err := w.look(ctx)
	if err != nil && ctx.Err() == nil {
		// Nothing was to be committed: whatever the agent did to it, it is a change.
		return ralph.Change{SinceStart: true, Notes: []string{"the repository cannot be looked at any more: " + printable.Line(err.Error(), 300)}}, nil
	}
	if err != nil {
		return ralph.Change{}, err
	}
	w.tree = now.Tree
	work, err := w.work(ctx, now.Tree)
	if err != nil {
		return ralph.Change{}, err
	}
	now.Work, now.SinceStart = work.id(), now.Head != w.start.Head || !work.none()
	return now, nil
}

// Checkpoint commits nothing.
func (w *Watcher) Checkpoint(context.Context, ralph.Iteration) (ralph.Commit, error) {
	return ralph.Commit{}, nil
}

func (w *Watcher) look(ctx context.Context) (ralph.Change, error) {
	head, err := w.r.ref(ctx, "HEAD")
	if err != nil {
		return ralph.Change{}, err
	}
	if err := w.r.copyIndex(); err != nil {
		return ralph.Change{}, err
	}
	if head.IsZero() { // no commit yet
		if err := w.r.gitEnv(ctx, w.r.indexEnv(), nil, nil, "read-tree", "--empty"); err != nil {
			return ralph.Change{}, err
		}
	}
	tree, _, err := w.r.stageCopy(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	return ralph.Change{Head: head.String(), Tree: tree.String()}, nil
}
