package objects

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/store"
)

const maxTextBytes = 1 << 20 // of a file whose lines are merged or counted

// Merge is store.Merge, and merges the lines of a file that both sides changed.
func (o *Objects) Merge(ctx context.Context, base, ours, theirs plumbing.Hash) (tree plumbing.Hash, conflicts []string, err error) {
	return o.Store.Merge(base, ours, theirs, func(was, mine, there store.Entry) (store.Entry, bool) {
		return o.mergeFile(ctx, was, mine, there)
	})
}

// Marked is Merge, with conflict markers in the text files at which it would fail. ok is false
// where there are other conflicts, which no text can hold.
func (o *Objects) Marked(ctx context.Context, base, ours, theirs plumbing.Hash, name string) (tree plumbing.Hash, ok bool, err error) {
	tree, conflicts, err := o.Store.Merge(base, ours, theirs, func(was, mine, there store.Entry) (store.Entry, bool) {
		if out, ok := o.mergeFile(ctx, was, mine, there); ok {
			return out, true
		}
		if was == (store.Entry{}) && mine.Mode == there.Mode {
			was.Mode = mine.Mode
		}
		out, text, ok := o.sides(ctx, was, mine, there)
		if !ok {
			return store.Entry{}, false
		}
		b, ok := lines.Marked(text[0], text[2], text[1], "branch", name)
		if !ok {
			return store.Entry{}, false
		}
		h, err := o.Store.Write(plumbing.BlobObject, b)
		out.Hash = h
		return out, err == nil
	})
	return tree, len(conflicts) == 0, err
}

// mergeFile merges a file that both sides changed. ok is false where the two changes
// touch, and for what is no text of at most maxTextBytes.
func (o *Objects) mergeFile(ctx context.Context, was, mine, there store.Entry) (out store.Entry, ok bool) {
	out, text, ok := o.sides(ctx, was, mine, there)
	if !ok {
		return store.Entry{}, false
	}
	if text == nil {
		return out, true
	}
	b, ok := lines.Merge(text[0], text[1], text[2])
	if !ok {
		return store.Entry{}, false
	}
	h, err := o.Store.Write(plumbing.BlobObject, b)
	if err != nil {
		return store.Entry{}, false
	}
	if h != there.Hash && h != mine.Hash {
		o.merged[h] = true
	}
	out.Hash = h
	return out, true
}

// sides are the texts of a file that both sides changed; nil where one side has it all: out.
// Without a text of each that is to be merged it is false.
func (o *Objects) sides(ctx context.Context, was, mine, there store.Entry) (out store.Entry, text [][]byte, ok bool) {
	sides := []store.Entry{was, mine, there}
	for _, e := range sides {
		if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
			return store.Entry{}, nil, false
		}
	}
	out = there
	if there.Mode == was.Mode {
		out.Mode = mine.Mode
	}
	switch {
	case mine.Hash == was.Hash || mine.Hash == there.Hash:
		return out, nil, true
	case there.Hash == was.Hash:
		out.Hash = mine.Hash
		return out, nil, true
	}
	for _, e := range sides {
		if e.Hash.IsZero() { // both sides added it
			text = append(text, nil)
			continue
		}
		o.ImportBlobs(ctx, 2*maxTextBytes, e)
		b, ok := o.Store.Text(e.Hash, maxTextBytes)
		if !ok {
			return store.Entry{}, nil, false
		}
		text = append(text, b)
	}
	return out, text, true
}

// Adds reports whether merging what changed from one tree to another would change a third.
// With an error it is true.
func (o *Objects) Adds(ctx context.Context, from, to, onto plumbing.Hash) (bool, error) {
	changes, err := o.Store.Diff(from, to, nil)
	if err != nil {
		return true, err
	}
	for _, c := range changes {
		there, err := o.Store.Lookup(onto, c.Path)
		if err != nil {
			return true, err
		}
		if there == c.New {
			continue
		}
		if merged, ok := o.mergeFile(ctx, c.Old, c.New, there); !ok || merged != there {
			return true, nil
		}
	}
	return false, nil
}

const (
	maxCountedFiles = 1000             // of more files no lines are counted
	countTime       = 10 * time.Second // nor after that
)

// Lines is what came and went of a file.
type Lines struct {
	Insertions, Deletions int
	Uncounted             bool
}

// CountLines counts the lines that came and went with each change, for people. Binary and
// large files are not counted, nor those whose old content cannot be had.
func (o *Objects) CountLines(ctx context.Context, changes []store.Change) []Lines {
	counted := make([]Lines, len(changes))
	many := len(changes) > maxCountedFiles
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	if !many {
		o.ImportOld(ctx, changes)
	}
	for i, ch := range changes {
		many = many || ctx.Err() != nil
		if ch.Old.Hash == ch.New.Hash || many {
			counted[i].Uncounted = many
			continue
		}
		a, okA := o.countable(ch.Old)
		b, okB := o.countable(ch.New)
		if counted[i].Uncounted = !okA || !okB; !counted[i].Uncounted {
			counted[i].Insertions, counted[i].Deletions = lines.Count(a, b)
		}
	}
	return counted
}

// countable returns the content of a file whose lines are counted; nothing is an empty text.
func (o *Objects) countable(e store.Entry) ([]byte, bool) {
	if e == (store.Entry{}) {
		return nil, true
	}
	if !e.IsBlob() {
		return nil, false
	}
	return o.Store.Text(e.Hash, maxTextBytes)
}
