package repo

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// inspected is what is known from inspections before.
type inspected struct {
	merged   bool          // the agent may have merged something
	fork     plumbing.Hash // where the branch left its base; zero: not asked for yet
	base     plumbing.Hash // tree of the base's tip; zero: not asked for, or not to be had
	asked    plumbing.Hash // the tip base was asked for
	last     [4]plumbing.Hash
	findings []ralph.Finding // of last
}

// inspect lets the caller look at a snapshot, and looks at links itself. What
// nobody objects to may be published from then on.
func (r *Repo) inspect(ctx context.Context, s *snapshot, changes []store.Change) ([]ralph.Finding, error) {
	if r.opt.Inspect == nil {
		return nil, nil
	}
	key := [4]plumbing.Hash{s.public, s.parent, r.branch.Tip, s.tree}
	if key == r.insp.last {
		return r.insp.findings, nil
	}
	in := inspection.Request{Branch: r.State().Branch, LeftOut: s.left}
	found, all, err := r.since(ctx, s, changes, &in)
	if err != nil {
		return nil, err
	}
	if in.Run, in.Total, err = r.runAndTotal(ctx, s); err != nil {
		return nil, err
	}
	r.branch.Lacking(inspection.Entries(in.Since, in.Total))
	more, err := r.opt.Inspect(ctx, in)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	if inspection.Blocked(found) == nil {
		r.branch.Pass(all, in.Messages)
	}
	for _, f := range r.branch.Kept {
		if !slices.ContainsFunc(found, func(o ralph.Finding) bool { return tells(o, f) }) {
			found = append(found, f)
		}
	}
	r.insp.last, r.insp.findings = key, found
	return found, nil
}

// since fills in what would be published for the first time.
func (r *Repo) since(ctx context.Context, s *snapshot, changes []store.Change, in *inspection.Request) (found []ralph.Finding, all []store.Change, err error) {
	told := make(map[store.Change]bool, len(changes))
	take := func(list []store.Change, tree, commit plumbing.Hash) error {
		all = append(all, list...)
		list = slices.DeleteFunc(slices.Clone(list), func(ch store.Change) bool {
			was := told[ch]
			told[ch] = true
			return was || r.inBase(ctx, ch)
		})
		links, err := inspection.Links(ctx, r.branch.Objects, list, tree, commit)
		if err != nil {
			return err
		}
		found = append(found, links...)
		in.Since = append(in.Since, inspection.Describe(r.branch.Objects, list, commit)...)
		return nil
	}
	if err := take(changes, s.public, plumbing.ZeroHash); err != nil {
		return nil, nil, err
	}
	for _, h := range s.commits {
		if r.branch.Theirs[h] {
			continue
		}
		c, err := r.store.Commit(h)
		if err != nil {
			return nil, nil, err
		}
		list, err := r.store.ChangesOf(c)
		if err != nil {
			return nil, nil, err
		}
		if err := take(list, c.TreeHash, h); err != nil {
			return nil, nil, err
		}
		text, err := r.store.MessageText(h)
		if err != nil {
			return nil, nil, err
		}
		in.Messages = append(in.Messages, inspection.Message{Commit: h.String(), Text: text})
	}
	return found, all, nil
}

// findTheirs finds which commits are not the agent's but the base's, when it
// merged something.
func (r *Repo) findTheirs(ctx context.Context, commits []plumbing.Hash) error {
	merged := false
	for _, h := range commits {
		c, err := r.store.Commit(h)
		if err != nil {
			return err
		}
		merged = merged || len(c.ParentHashes) > 1
	}
	if !merged {
		return nil
	}
	r.insp.merged = true
	if r.branch.Remote == nil || r.branch.BaseTip.IsZero() || r.branch.BaseTip == r.branch.Start {
		return nil // the workspace alone would say so
	}
	sp, err := r.branch.Between(ctx, r.branch.BaseTip, r.branch.Start)
	if err != nil {
		return nil //nolint:nilerr // they are inspected as if they were the agent's
	}
	r.branch.Theirs = sp.Own
	return nil
}

// runAndTotal returns the run's changes and those a pull request would show.
func (r *Repo) runAndTotal(ctx context.Context, s *snapshot) (run, total []inspection.Changed, err error) {
	list := func(from plumbing.Hash) ([]inspection.Changed, error) {
		changes, err := r.total(ctx, from, s.public)
		if err != nil {
			return nil, err
		}
		return inspection.Describe(r.branch.Objects, changes, plumbing.ZeroHash), nil
	}
	if run, err = list(r.branch.Start); err != nil {
		return nil, nil, err
	}
	fork := r.fork(ctx)
	if fork == r.branch.Start {
		return run, run, nil
	}
	total, err = list(fork)
	return run, total, err
}

// total is where a tree differs from a commit, but for what was merged from the base.
func (r *Repo) total(ctx context.Context, from, tree plumbing.Hash) ([]store.Change, error) {
	c, err := r.store.Commit(from)
	if err != nil {
		return nil, err
	}
	changes, err := r.store.Diff(c.TreeHash, tree, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(ch store.Change) bool { return r.inBase(ctx, ch) }), nil
}

// fork returns the commit at which the branch left its base, as far as it can be
// known; else the one the run began with.
func (r *Repo) fork(ctx context.Context) plumbing.Hash {
	if !r.insp.fork.IsZero() {
		return r.insp.fork
	}
	r.insp.fork = r.branch.Start
	if !r.start.Resumed && !r.start.Updated || r.branch.BaseTip.IsZero() {
		return r.insp.fork
	}
	w, err := r.branch.Work(ctx, r.branch.Start)
	if err == nil && !w.Fork.IsZero() {
		if _, err = r.branch.Commit(ctx, w.Fork); err == nil {
			r.insp.fork = w.Fork
		}
	}
	if err != nil {
		r.branch.Note("what the branch %s holds besides this run could not be compared with %s, and is not inspected: %s", r.opt.Branch, r.start.Base, printable.Line(err.Error(), 300))
	}
	return r.insp.fork
}

// inBase reports whether a change only makes a path what it is in the base, which the branch
// was behind: the agent merged it, and it is published there.
func (r *Repo) inBase(ctx context.Context, ch store.Change) bool {
	if !r.insp.merged || r.branch.BaseTip.IsZero() || r.branch.BaseTip == r.branch.Start {
		return false
	}
	if r.insp.asked != r.branch.BaseTip {
		r.insp.asked, r.insp.base = r.branch.BaseTip, plumbing.ZeroHash
		if c, err := r.branch.Commit(ctx, r.branch.BaseTip); err == nil {
			r.insp.base = c.TreeHash
		}
	}
	if r.insp.base.IsZero() {
		return false
	}
	now, err := r.store.Lookup(r.insp.base, ch.Path)
	if err != nil || now != ch.New {
		return false
	}
	if ch.New != (store.Entry{}) {
		return true
	}
	// It is gone there, too: did the base ever have it?
	c, err := r.store.Commit(r.fork(ctx))
	if err != nil {
		return false
	}
	was, err := r.store.Lookup(c.TreeHash, ch.Path)
	return err == nil && was == ch.Old
}

// published keeps what was found about the commits of a snapshot, and about its
// files: the commit that is made of it holds them, whatever later ones change. Of files,
// only what a commit holds: whether one reads another way is a matter of the last.
func (r *Repo) published(s *snapshot) {
	for _, f := range s.findings {
		switch {
		case f.Severity == ralph.Block || f.Severity == ralph.LeftOut:
			continue
		case f.Where == "" && f.Kind != ralph.FindingSecret && f.Kind != ralph.FindingUnknown && f.Kind != ralph.FindingProtected:
			continue
		case f.Where == "":
			f.Where = earlierCommit
		}
		r.branch.Keep(f)
	}
}

const earlierCommit = "in an earlier commit of this run"

// tells reports whether a finding tells what one that was kept does.
func tells(now, kept ralph.Finding) bool {
	if kept.Where == earlierCommit {
		kept.Where = now.Where
	}
	return now.Kind == kept.Kind && now.Path == kept.Path && now.Line == kept.Line && now.Rule == kept.Rule && now.Where == kept.Where
}
