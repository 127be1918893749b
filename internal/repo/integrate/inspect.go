package integrate

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/patch"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// prefetch brings the files of the branch that merges will read into the store, together:
// the workspace has them, and each request is a program that is started. What a story only
// claims to be there is not asked for.
func (in *Integrator) prefetch(ctx context.Context, stories []Story) error {
	lacking := map[plumbing.Hash]bool{}
	trees := map[plumbing.Hash]bool{}
	want := func(e store.Entry) {
		if e.IsBlob() && !in.o.Store.Has(e.Hash) {
			lacking[e.Hash] = false
		}
	}
	for _, s := range stories {
		t, err := in.trees(s)
		if err != nil {
			continue // its turn will say so
		}
		changes, err := in.o.Store.Diff(t.before, t.after, nil)
		if err != nil {
			continue
		}
		trees[t.before], trees[t.tip] = true, true
		for _, ch := range changes {
			want(ch.Old)
			want(ch.New) // it may have been moved
			if there, err := in.o.Store.Lookup(t.tip, ch.Path); err == nil {
				want(there)
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	for tree := range trees {
		if err := in.o.Store.Mark(tree, lacking); err != nil {
			return err
		}
	}
	var entries []store.Entry
	for h, there := range lacking {
		if there {
			entries = append(entries, store.Entry{Mode: filemode.Regular, Hash: h})
		}
	}
	if len(entries) > 0 {
		in.o.ImportBlobs(ctx, maxPrefetch, entries...)
	}
	return nil
}

// maxPrefetch bounds what is brought together, packed, in bytes.
const maxPrefetch = 256 << 20

// inspect says what of changes may not be published, in one line.
func (in *Integrator) inspect(ctx context.Context, changes []store.Change, from, tree plumbing.Hash) (bad string, err error) {
	for _, ch := range changes {
		if why := in.unfit(ch); why != "" {
			return told(ralph.Finding{Path: ch.Path, Text: why}), nil
		}
	}
	findings, err := inspection.Links(ctx, in.o, changes, tree, plumbing.ZeroHash)
	if err == nil {
		var opened []ralph.Finding
		opened, err = inspection.Opened(ctx, in.o, changes, from, tree)
		findings = append(findings, opened...)
	}
	if err != nil {
		return printable.Line(err.Error(), 300), nil //nolint:nilerr // it is about foreign trees
	}
	list := inspection.Describe(in.o, changes, plumbing.ZeroHash)
	more, err := in.Inspect(ctx, inspection.Request{Since: list, Run: list, Total: list, Branch: in.Branch.Name})
	if err != nil {
		return "", fmt.Errorf("look at what would be published: %w", err)
	}
	findings = append(findings, more...)
	if i := slices.IndexFunc(findings, func(f ralph.Finding) bool { return f.Severity == ralph.Block || f.Severity == ralph.LeftOut }); i >= 0 {
		return told(findings[i]), nil
	}
	return "", nil
}

func (in *Integrator) inspectMessage(ctx context.Context, commit plumbing.Hash, text string) (bad string, err error) {
	found, err := in.Inspect(ctx, inspection.Request{Messages: []inspection.Message{{Commit: commit.String(), Text: text}}, Branch: in.Branch.Name, Last: true})
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(found, func(f ralph.Finding) bool { return f.Severity == ralph.Block }); i >= 0 {
		return told(found[i]), nil
	}
	return "", nil
}

// told is a finding in one line.
func told(f ralph.Finding) string {
	text := f.Text
	if f.Path != "" {
		text = fmt.Sprintf("%q: %s", printable.Line(f.Path, 200), text)
	} else if f.Where != "" {
		text = printable.Line(f.Where, 200) + ": " + text
	}
	return text
}

// unfit says why git or the forge would not take a change, or nobody may bring it; empty:
// all would. An honest lane has left such out.
func (in *Integrator) unfit(ch store.Change) string {
	if ch.New == (store.Entry{}) {
		return ""
	}
	if why := inspection.Unfit(ch); why != "" {
		return why
	}
	switch {
	case in.o.Tree != nil && in.o.Tree.IsRunFile(ch.Path):
		return "ralph's own state"
	case in.Cache(ch.Path) != "":
		return "a cache, which no honest lane hands over"
	}
	if !ch.New.IsBlob() {
		return ""
	}
	size, err := in.o.Store.Size(ch.New.Hash)
	switch {
	case err != nil:
		return "its content was not handed over"
	case !in.o.Store.IsBlob(ch.New.Hash):
		return "its content is no file but another object of git's, which git never makes"
	case size > store.MaxBlobBytes:
		return fmt.Sprintf("larger than %d MB, which the forge does not take", store.MaxBlobBytes>>20)
	}
	if _, _, pointer := lfs.ReadPointer(in.o.Store, ch.New.Hash); pointer && ch.New.Hash != ch.Old.Hash {
		return "it stands for a file of Git LFS, which no lane hands over"
	}
	return ""
}

// patch is a story's change, for who goes on with it.
func (in *Integrator) patch(ctx context.Context, t three) ([]byte, error) {
	changes, err := in.o.Store.Diff(t.before, t.after, nil)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool { return in.Owner.Owns(ch.Path) })
	var b bytes.Buffer
	err = patch.Write(&b, "", changes, func(e store.Entry) ([]byte, error) { return in.o.Content(ctx, e) }, in.MaxPatchBytes)
	return b.Bytes(), err
}
