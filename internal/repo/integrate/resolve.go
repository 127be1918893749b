package integrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// Conflict is a story that does not merge.
type Conflict struct {
	Story
	// Commit is the merge with conflict markers, on the tip: for a work tree, never for
	// the branch.
	Commit string
	Paths  []string   // that have markers; foreign text
	By     [][]string // the stories of this integration that changed each of them
}

// errNotAlone says that a conflict is resolved only once what came before is checked: an
// answer is not paid for twice.
var errNotAlone = errors.New("what came before is not checked yet")

// resolve has a conflict resolved. Without a tree the story is handed back; why says what
// was wrong, if somebody was asked.
func (in *Integrator) resolve(ctx context.Context, c Conflict, t three, ours plumbing.Hash, alone bool) (tree plumbing.Hash, why string, err error) {
	if in.Resolve == nil {
		return tree, "", nil
	}
	marked, ok, err := in.o.Marked(ctx, t.before, ours, t.tip, "story")
	if err != nil {
		return tree, "", err
	}
	if !ok {
		return tree, "not only lines of text files conflict", nil
	}
	if !alone {
		return tree, "", errNotAlone
	}
	h, err := in.o.Store.NewCommit(in.Committer, in.Clock(), "conflicts", marked, in.tip)
	if err != nil {
		return tree, "", err
	}
	c.Commit = h.String()
	files, why, err := in.Resolve(ctx, c)
	if err != nil || why != "" {
		return tree, why, err
	}
	set := map[string]store.Entry{}
	for _, path := range c.Paths {
		content, there := files[path]
		if !there {
			return tree, fmt.Sprintf("%q is gone", printable.Line(path, 200)), nil
		}
		if in.marks(ctx, content, path, ours, t.tip) {
			return tree, fmt.Sprintf("%q still has a conflict marker", printable.Line(path, 200)), nil
		}
		e, err := in.o.Store.Lookup(marked, path)
		if err != nil {
			return tree, "", err
		}
		if e.Hash, err = in.o.Store.Write(plumbing.BlobObject, content); err != nil {
			return tree, "", err
		}
		set[path] = e
	}
	tree, err = in.o.Store.Edit(marked, set)
	return tree, "", err
}

// marks reports whether a text has more lines like conflict markers than each of the two
// texts that it was made of.
func (in *Integrator) marks(ctx context.Context, text []byte, path string, sides ...plumbing.Hash) bool {
	most := map[string]int{}
	for _, tree := range sides {
		e, err := in.o.Store.Lookup(tree, path)
		if err != nil {
			continue
		}
		b, err := in.o.Blob(ctx, e.Hash, maxFile)
		if err != nil {
			continue
		}
		for mark, n := range lines.Marks(b) {
			most[mark] = max(most[mark], n)
		}
	}
	for mark, n := range lines.Marks(text) {
		if n > most[mark] {
			return true
		}
	}
	return false
}

// Change gives the work tree the files of a commit, has somebody work on some of them, and
// returns what became of these. why says why that cannot be used: what work says, or what
// else it did.
func (w *Workspace) Change(ctx context.Context, commit string, paths []string, work func() (why string)) (files Files, why string, err error) {
	if err := w.TryOut(ctx, commit); err != nil {
		if inTheWay, is := errors.AsType[*InTheWayError](err); is {
			return nil, inTheWay.Error(), nil
		}
		return nil, "", err
	}
	before, why, err := w.staged(ctx)
	if err != nil || why != "" {
		return nil, why, err
	}
	head, err := w.Branch.Tree.Head(ctx)
	if err != nil {
		return nil, "", err
	}
	failed := work()
	ctx = context.WithoutCancel(ctx)
	after, why, err := w.staged(ctx)
	if err != nil || why != "" {
		return nil, why, err
	}
	other, err := w.others(ctx, before, after, paths)
	if err != nil || failed != "" || other != "" {
		if failed == "" {
			failed = other
		}
		return nil, failed, err
	}
	if now, err := w.Branch.Tree.Head(ctx); err != nil || now != head {
		return nil, "the agent made a commit", err
	}
	files = Files{}
	for _, path := range paths {
		e, err := w.Branch.Store.Lookup(after, path)
		if err != nil {
			return nil, "", err
		}
		if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
			continue
		}
		if files[path], err = w.Branch.Store.ReadBlob(e.Hash, maxFile); err != nil {
			return nil, fmt.Sprintf("%q cannot be read: %s", printable.Line(path, 200), printable.Line(err.Error(), 200)), nil
		}
	}
	return files, "", nil
}

// others says what was changed besides some paths. What was made is noted, so that the next
// commit that is tried out removes it.
func (w *Workspace) others(ctx context.Context, before, after plumbing.Hash, paths []string) (why string, err error) {
	changes, err := w.Branch.Store.Diff(before, after, nil)
	if err != nil {
		return "", err
	}
	allowed, made := map[string]bool{}, map[string]store.Entry{}
	for _, path := range paths {
		allowed[path] = true
	}
	for _, ch := range changes {
		if allowed[ch.Path] {
			continue
		}
		if ch.Old == (store.Entry{}) {
			made[ch.Path] = ch.New
		}
		if why == "" && !w.Branch.Tree.IsRunFile(ch.Path) {
			why = fmt.Sprintf("%q was changed, too, which does not conflict", printable.Line(ch.Path, 200))
		}
	}
	if len(made) == 0 {
		return why, nil
	}
	at := w.at
	if w.at, err = w.Branch.Store.Edit(at, made); err != nil {
		return "", err
	}
	var trees []plumbing.Hash
	if _, err := w.Branch.Store.Diff(at, w.at, func(h plumbing.Hash) { trees = append(trees, h) }); err != nil {
		return "", err
	}
	return why, w.Branch.Export(ctx, trees)
}

// staged is the tree of what is in the work tree. why says that there is none.
func (w *Workspace) staged(ctx context.Context) (tree plumbing.Hash, why string, err error) {
	t := w.Branch.Tree
	if !w.Spare {
		t.RemoveLocks()
	}
	if err := t.Unfinished(ctx); err != nil {
		return tree, "the work tree cannot be read: " + printable.Line(err.Error(), 300), nil
	}
	tree, _, err = t.StageCopy(ctx)
	if err != nil {
		return tree, "the work tree cannot be read: " + printable.Line(err.Error(), 300), ctx.Err()
	}
	return tree, "", w.Branch.ImportNew(ctx, []plumbing.Hash{tree}, w.at)
}
