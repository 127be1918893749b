package repo

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// inspected is what has been looked at and may leave the machine.
type inspected struct {
	entries map[placed]bool
	blobs   map[plumbing.Hash]bool
	texts   map[[sha256.Size]byte]bool

	merged   bool                   // the agent may have merged something
	theirs   map[plumbing.Hash]bool // commits of the base that the agent merged
	fork     plumbing.Hash          // where the branch left its base; zero: not asked for yet
	base     plumbing.Hash          // tree of the base's tip; zero: not asked for, or not to be had
	asked    plumbing.Hash          // the tip base was asked for
	last     [4]plumbing.Hash
	findings []ralph.Finding // of last
	kept     []ralph.Finding // about commits that are published
	refused  []ralph.Finding // by the gate before a push
}

// placed is something under a name.
type placed struct {
	path string
	store.Entry
}

func newInspected() inspected {
	return inspected{entries: map[placed]bool{}, blobs: map[plumbing.Hash]bool{}, texts: map[[sha256.Size]byte]bool{}}
}

func (i *inspected) pass(changes []store.Change, messages []Message) {
	for _, ch := range changes {
		i.entries[placed{ch.Path, ch.New}] = true
		i.blobs[ch.New.Hash] = true
	}
	for _, m := range messages {
		i.texts[sha256.Sum256([]byte(m.Text))] = true
	}
}

// inspect lets the caller look at a snapshot, and looks at links itself. What
// nobody objects to may be published from then on.
func (r *Repo) inspect(ctx context.Context, s *snapshot, changes []store.Change) ([]ralph.Finding, error) {
	if r.opt.Inspect == nil {
		return nil, nil
	}
	key := [4]plumbing.Hash{s.public, s.parent, r.line.tip, s.tree}
	if key == r.insp.last {
		return r.insp.findings, nil
	}
	in := Inspection{Branch: r.State().Branch, LeftOut: s.left}
	found, all, err := r.since(ctx, s, changes, &in)
	if err != nil {
		return nil, err
	}
	if in.Run, in.Total, err = r.runAndTotal(ctx, s); err != nil {
		return nil, err
	}
	r.lack(in.Since, in.Total)
	more, err := r.opt.Inspect(ctx, in)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	if blocked(found) == nil {
		r.insp.pass(all, in.Messages)
	}
	for _, f := range r.insp.kept {
		if !slices.ContainsFunc(found, func(o ralph.Finding) bool { return tells(o, f) }) {
			found = append(found, f)
		}
	}
	r.insp.last, r.insp.findings = key, found
	return found, nil
}

// since fills in what would be published for the first time.
func (r *Repo) since(ctx context.Context, s *snapshot, changes []store.Change, in *Inspection) (found []ralph.Finding, all []store.Change, err error) {
	told := make(map[store.Change]bool, len(changes))
	take := func(list []store.Change, tree, commit plumbing.Hash) error {
		all = append(all, list...)
		list = slices.DeleteFunc(slices.Clone(list), func(ch store.Change) bool {
			was := told[ch]
			told[ch] = true
			return was || r.inBase(ctx, ch)
		})
		links, err := r.links(ctx, list, tree, commit)
		if err != nil {
			return err
		}
		found = append(found, links...)
		in.Since = append(in.Since, r.describeAll(list, commit)...)
		return nil
	}
	if err := take(changes, s.public, plumbing.ZeroHash); err != nil {
		return nil, nil, err
	}
	for _, h := range s.commits {
		if r.insp.theirs[h] {
			continue
		}
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return nil, nil, err
		}
		list, err := r.objects.Store.ChangesOf(c)
		if err != nil {
			return nil, nil, err
		}
		if err := take(list, c.TreeHash, h); err != nil {
			return nil, nil, err
		}
		text, err := r.objects.Store.MessageText(h)
		if err != nil {
			return nil, nil, err
		}
		in.Messages = append(in.Messages, Message{Commit: h.String(), Text: text})
	}
	return found, all, nil
}

// findTheirs finds which commits are not the agent's but the base's, when it
// merged something.
func (r *Repo) findTheirs(ctx context.Context, commits []plumbing.Hash) error {
	merged := false
	for _, h := range commits {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return err
		}
		merged = merged || len(c.ParentHashes) > 1
	}
	if !merged {
		return nil
	}
	r.insp.merged = true
	if r.objects.Remote == nil || r.baseTip.IsZero() || r.baseTip == r.line.startHead {
		return nil // the workspace alone would say so
	}
	sp, err := r.span(ctx, r.baseTip, r.line.startHead)
	if err != nil {
		return nil //nolint:nilerr // they are inspected as if they were the agent's
	}
	r.insp.theirs = sp.own
	return nil
}

// runAndTotal are the run's changes and those a pull request would show.
func (r *Repo) runAndTotal(ctx context.Context, s *snapshot) (run, total []Changed, err error) {
	list := func(from plumbing.Hash) ([]Changed, error) {
		c, err := r.objects.Store.Commit(from)
		if err != nil {
			return nil, err
		}
		changes, err := r.objects.Store.Diff(c.TreeHash, s.public, nil)
		if err != nil {
			return nil, err
		}
		changes = slices.DeleteFunc(changes, func(ch store.Change) bool { return r.inBase(ctx, ch) })
		return r.describeAll(changes, plumbing.ZeroHash), nil
	}
	if run, err = list(r.line.startHead); err != nil {
		return nil, nil, err
	}
	fork := r.fork(ctx)
	if fork == r.line.startHead {
		return run, run, nil
	}
	total, err = list(fork)
	return run, total, err
}

// fork is the commit at which the branch left its base, as far as it can be
// known; else the one the run began with.
func (r *Repo) fork(ctx context.Context) plumbing.Hash {
	if !r.insp.fork.IsZero() {
		return r.insp.fork
	}
	r.insp.fork = r.line.startHead
	if !r.start.Resumed && !r.start.Updated || r.baseTip.IsZero() {
		return r.insp.fork
	}
	w, err := r.workOf(ctx, r.line.startHead)
	if err == nil && !w.fork.IsZero() {
		if _, err = r.objects.Commit(ctx, w.fork); err == nil {
			r.insp.fork = w.fork
		}
	}
	if err != nil {
		r.note("what the branch %s holds besides this run could not be compared with %s, and is not inspected: %s", r.opt.Branch, r.start.Base, printable.Line(err.Error(), 300))
	}
	return r.insp.fork
}

// inBase says that a change only makes a path what it is in the base, which the branch
// was behind: the agent merged it, and it is published there.
func (r *Repo) inBase(ctx context.Context, ch store.Change) bool {
	if !r.insp.merged || r.baseTip.IsZero() || r.baseTip == r.line.startHead {
		return false
	}
	if r.insp.asked != r.baseTip {
		r.insp.asked, r.insp.base = r.baseTip, plumbing.ZeroHash
		if c, err := r.objects.Commit(ctx, r.baseTip); err == nil {
			r.insp.base = c.TreeHash
		}
	}
	if r.insp.base.IsZero() {
		return false
	}
	now, err := r.objects.Store.Lookup(r.insp.base, ch.Path)
	if err != nil || now != ch.New {
		return false
	}
	if ch.New != (store.Entry{}) {
		return true
	}
	// It is gone there, too: did the base ever have it?
	c, err := r.objects.Store.Commit(r.fork(ctx))
	if err != nil {
		return false
	}
	was, err := r.objects.Store.Lookup(c.TreeHash, ch.Path)
	return err == nil && was == ch.Old
}

// describeAll describes changes, and finds files that were only moved: such a one is a
// change of the place where it is now.
func (r *Repo) describeAll(changes []store.Change, commit plumbing.Hash) []Changed {
	gone := map[plumbing.Hash][]store.Change{}
	for _, ch := range changes {
		if ch.New == (store.Entry{}) && ch.Old.IsBlob() {
			gone[ch.Old.Hash] = append(gone[ch.Old.Hash], ch)
		}
	}
	list := make([]Changed, 0, len(changes))
	moved := map[string]bool{}
	for _, ch := range changes {
		c := r.changed(ch, commit)
		if from := gone[ch.New.Hash]; ch.Old == (store.Entry{}) && len(from) > 0 {
			gone[ch.New.Hash] = from[1:]
			c = r.changed(store.Change{Path: ch.Path, Old: from[0].Old, New: ch.New}, commit)
			c.From = from[0].Path
			moved[c.From] = true
		}
		list = append(list, c)
	}
	return slices.DeleteFunc(list, func(c Changed) bool { return c.NewMode == ModeNone && moved[c.Path] })
}
