package repo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// gate is the last look before a push: what goes out with a commit, below it
// down to what the server has, was inspected, or is inspected now. The error is a
// *BlockedError when something may not go.
func (r *Repo) gate(ctx context.Context, tip plumbing.Hash, have func(plumbing.Hash) bool) error {
	if r.opt.Inspect == nil {
		return nil
	}
	there := have
	have = func(h plumbing.Hash) bool { return there(h) || r.objects.Upstream[h] || r.insp.theirs[h] }
	var changes []store.Change
	var messages []Message
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{tip}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if seen[h] || have(h) {
			continue
		}
		seen[h] = true
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return err
		}
		list, err := r.objects.Store.ChangesOf(c)
		if err != nil {
			return err
		}
		for _, ch := range list {
			if !r.there(c, ch, have) {
				changes = append(changes, ch)
			}
		}
		text, err := r.objects.Store.MessageText(h)
		if err != nil {
			return err
		}
		messages = append(messages, Message{Commit: h.String(), Text: text})
		queue = append(queue, c.ParentHashes...)
	}
	return r.judge(ctx, changes, messages)
}

// there says that a merge has something from a parent that the server has.
func (r *Repo) there(c *object.Commit, ch store.Change, have func(plumbing.Hash) bool) bool {
	for _, p := range c.ParentHashes[min(1, len(c.ParentHashes)):] {
		if !have(p) {
			continue
		}
		parent, err := r.objects.Store.Commit(p)
		if err != nil {
			continue
		}
		if e, err := r.objects.Store.Lookup(parent.TreeHash, ch.Path); err == nil && e == ch.New {
			return true
		}
	}
	return false
}

// judge inspects what no snapshot has shown. Nothing can be said about what goes
// away.
func (r *Repo) judge(ctx context.Context, changes []store.Change, messages []Message) error {
	if r.opt.Inspect == nil {
		return nil
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool {
		return ch.New == (store.Entry{}) || r.insp.entries[placed{ch.Path, ch.New}]
	})
	messages = slices.DeleteFunc(messages, func(m Message) bool { return r.insp.texts[sha256.Sum256([]byte(m.Text))] })
	for _, ch := range changes {
		if !ch.New.IsBlob() || !r.objects.Store.Has(ch.New.Hash) {
			continue // nothing of it is sent
		}
		if !r.objects.Store.IsBlob(ch.New.Hash) {
			return fmt.Errorf("%q is no file but another object of git's", printable.Line(ch.Path, 200))
		}
	}
	if len(changes) == 0 && len(messages) == 0 {
		return nil
	}
	found, err := r.opt.Inspect(ctx, Inspection{
		Since: r.describeAll(changes, plumbing.ZeroHash), Messages: messages, Branch: r.server.branch, Last: true,
	})
	if err != nil {
		return err
	}
	if err := blocked(found); err != nil {
		r.insp.refused = found
		return err
	}
	r.insp.refused = nil
	r.insp.pass(changes, messages)
	for _, f := range found {
		r.keep(f)
	}
	return nil
}

// keep remembers a finding that no later look at the tree would bring back.
func (r *Repo) keep(f ralph.Finding) {
	if !slices.Contains(r.insp.kept, f) {
		r.insp.kept = append(r.insp.kept, f)
	}
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
		r.keep(f)
	}
}

const earlierCommit = "in an earlier commit of this run"

// tells says that a finding tells what one that was kept does.
func tells(now, kept ralph.Finding) bool {
	if kept.Where == earlierCommit {
		kept.Where = now.Where
	}
	return now.Kind == kept.Kind && now.Path == kept.Path && now.Line == kept.Line && now.Rule == kept.Rule && now.Where == kept.Where
}
