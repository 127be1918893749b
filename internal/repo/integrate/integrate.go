// Package integrate puts the work of others onto a branch, story by story, in the private
// store: merged, inspected, checked in groups, and handed back where it does not fit. It
// knows no work tree; the lists of stories are the caller's.
package integrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
)

// every is how many stories are checked together while all goes well.
const every = 8

// Story is one commit of somebody else's, as a change of its parent.
type Story struct {
	ID     string
	Commit string
}

// Files are files that a commit has whatever was merged, by path; nil removes one.
type Files map[string][]byte

// Read reads a file of at most 16 MiB from one of the trees at hand; nil if it is not there.
type Read func(path string) []byte

// Trees are what is known when a story's turn has come.
type Trees struct {
	Before, After Read // of the story's own change
	Tip           Read // of the branch
}

// Return is why a story is not in.
type Return struct {
	Paths []string   // that conflict; foreign text
	By    [][]string // the stories of this integration that changed each of them
	// Unresolved is why the conflict is not resolved, though somebody was to; foreign text.
	Unresolved string
	Red        string // what the checks say; foreign text
	Waits      string // why it cannot be in; empty: paths or checks are why
	Patch      []byte // its change, for who goes on with it
}

// Refusal is a story of which nothing may be used.
type Refusal struct {
	Why     string
	Already bool // it is done without it
}

func (r *Refusal) Error() string { return r.Why }

// Owner decides what is not merged as text. What it is handed is foreign.
type Owner interface {
	// Owns reports whether a path is the owner's: what a story changes there is not merged.
	Owns(path string) bool
	// Waits says why a story cannot be in yet, or any more; empty: it can. A *Refusal
	// says that nothing of it may be used.
	Waits(s Story, t Trees) (why string, err error)
	// In gives the owner's files with the story in, and the commit's message.
	In(s Story, t Trees) (Files, string, error)
	// Back gives the owner's files with the story handed back, and the commit's message.
	Back(s Story, t Trees, r Return) (Files, string, error)
	// Check judges a commit. red is what is wrong with it, empty: nothing. An error ends the
	// integration with what was checked before.
	Check(ctx context.Context, commit string) (red string, err error)
	// Take publishes all up to a commit, which is checked.
	Take(ctx context.Context, commit string) error
	// Tell is told what became of a story, once that is settled.
	Tell(s Story, r Result)
}

// Result is what became of a story.
type Result struct {
	Commit   string // on the branch, of the story or of its return; empty: there is none
	In       bool
	Resolved bool // in, by somebody who resolved its conflict
	Already  bool // somebody else had it done
	Refused  bool
	Why      string   // it is not in; one line, foreign text
	Paths    []string // that it changes, but for the owner's; foreign text
}

// Options say how the stories come in.
type Options struct {
	Branch            *publish.Branch
	Author, Committer store.Identity
	Clock             func() time.Time
	Inspect           func(context.Context, inspection.Request) ([]ralph.Finding, error)
	Cache             func(path string) string // the cache that a path lies in; empty: in none
	Owner             Owner
	Landed            []Story // that are in already, by an integration before
	MaxPatchBytes     int64
	// Resolve has somebody resolve a conflict; nil: the story is handed back. why says that
	// nobody could. An error ends the integration.
	Resolve func(context.Context, Conflict) (files Files, why string, err error)
}

// Integrator puts stories onto a branch.
type Integrator struct {
	Options
	o      *objects.Objects
	tip    plumbing.Hash
	landed []placed // what is in, up to the tip
}

// placed is a story whose turn was.
type placed struct {
	Story
	done  Result
	below plumbing.Hash // the tip before it
}

// Run puts stories onto the branch, in their order. The error is why it ended before the
// last of them: those of which Owner was not told stay as they were.
func Run(ctx context.Context, opt Options, stories []Story) error {
	in := &Integrator{Options: opt, o: opt.Branch.Objects, tip: opt.Branch.Tip}
	if err := in.prefetch(ctx, stories); err != nil {
		return err
	}
	for _, s := range opt.Landed {
		p := placed{Story: s}
		if t, err := in.trees(s); err == nil {
			changes, _ := in.o.Store.Diff(t.before, t.after, nil) // for people: what cannot be told is left out
			for _, ch := range changes {
				p.done.Paths = append(p.done.Paths, ch.Path)
			}
		}
		in.landed = append(in.landed, p)
	}
	step := every
	for len(stories) > 0 {
		good := in.tip
		group, n, err := in.group(ctx, stories, step)
		if err != nil {
			return err
		}
		red := ""
		if slices.ContainsFunc(group, func(p placed) bool { return p.done.In }) {
			if red, err = in.Owner.Check(ctx, in.tip.String()); err != nil {
				return err
			}
		}
		step = min(2*step, every)
		if red != "" {
			if group, n, err = in.throwOut(ctx, group, red); err != nil {
				return err
			}
			step = 1
		}
		if in.tip != good {
			if err := in.Owner.Take(ctx, in.tip.String()); err != nil {
				return err
			}
		}
		for _, p := range group {
			in.Owner.Tell(p.Story, p.done)
		}
		stories = stories[n:]
	}
	return nil
}

// group places stories until so many are in, or one is in whose conflict was resolved: it is
// checked by itself, on what is checked. n is how many have had their turn.
func (in *Integrator) group(ctx context.Context, stories []Story, most int) (group []placed, n int, err error) {
	for before := len(in.landed); most > 0 && n < len(stories); {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		p := placed{Story: stories[n], below: in.tip}
		if p.done, err = in.place(ctx, p.Story, len(in.landed) == before); errors.Is(err, errNotAlone) {
			return group, n, nil
		} else if err != nil {
			return nil, 0, err
		}
		if p.done.In {
			in.landed = append(in.landed, p)
			most--
		}
		group = append(group, p)
		n++
		if p.done.Resolved {
			return group, n, nil
		}
	}
	return group, n, nil
}

// throwOut finds a story of a group with which the checks turn red, by halves, and hands it
// back. What came before it stays, what comes after it has its turn again.
func (in *Integrator) throwOut(ctx context.Context, group []placed, red string) (left []placed, n int, err error) {
	var inside []int // of group
	for i, p := range group {
		if p.done.In {
			inside = append(inside, i)
		}
	}
	low, high := 0, len(inside) // so many are green, so many red
	for high-low > 1 {
		middle := (low + high) / 2
		again, err := in.Owner.Check(ctx, group[inside[middle-1]].done.Commit)
		if err != nil {
			return nil, 0, err
		}
		if again == "" {
			low = middle
		} else {
			high, red = middle, again
		}
	}
	i := inside[high-1]
	p := group[i]
	in.tip, in.landed = p.below, in.landed[:len(in.landed)-len(inside)+high-1]
	if p.done, err = in.back(ctx, p.Story, Return{Red: red}, "checks fail with it: "+firstLine(red)); err != nil {
		return nil, 0, err
	}
	return append(group[:i:i], p), i + 1, nil
}

// place merges a story onto the tip, or hands it back. alone says that the tip is checked.
func (in *Integrator) place(ctx context.Context, s Story, alone bool) (Result, error) {
	trees, err := in.trees(s)
	if err != nil {
		return refused(err.Error()), nil //nolint:nilerr // what cannot be read of it is foreign
	}
	read := in.read(ctx, trees)
	why, err := in.Owner.Waits(s, read)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.result(), nil
	case err != nil:
		return Result{}, err
	}
	// What is wrong with the change itself is the graver news: a patch of it would be
	// published, too.
	own, err := in.o.Store.Diff(trees.before, trees.after, nil)
	if err != nil {
		return refused(printable.Line(err.Error(), 300)), nil //nolint:nilerr // it is about foreign trees
	}
	own = slices.DeleteFunc(own, func(ch store.Change) bool { return in.Owner.Owns(ch.Path) })
	if bad, err := in.inspect(ctx, own, trees.before, trees.after); err != nil || bad != "" {
		return refused(bad), err
	}
	if why != "" {
		return in.back(ctx, s, Return{Waits: why}, why)
	}
	ours, err := in.without(own, trees.before)
	if err != nil {
		return Result{}, err
	}
	tree, paths, err := in.o.Merge(ctx, trees.before, ours, trees.tip)
	if err != nil {
		return Result{}, fmt.Errorf("merge story %s: %w", s.ID, err)
	}
	if len(paths) > 0 {
		c := Conflict{Story: s, Paths: paths, By: in.by(paths)}
		var why string
		if tree, why, err = in.resolve(ctx, c, trees, ours, alone); err != nil {
			return Result{}, err
		}
		if tree.IsZero() {
			said := "conflicts in " + shown(paths)
			if why != "" {
				said += "; not resolved: " + why
			}
			return in.back(ctx, s, Return{Paths: paths, By: c.By, Unresolved: why}, said)
		}
	}
	files, message, err := in.Owner.In(s, read)
	if errors.As(err, &refusal) {
		return refusal.result(), nil
	}
	if err != nil {
		return Result{}, err
	}
	done, err := in.commit(ctx, trees.tip, tree, files, message)
	done.Resolved = len(paths) > 0
	for _, ch := range own {
		done.Paths = append(done.Paths, ch.Path)
	}
	return done, err
}

// File reads a file of a commit, which comes from the workspace or the server if need be.
func File(ctx context.Context, o *objects.Objects, commit, path string) ([]byte, error) {
	c, err := o.Commit(ctx, plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	e, err := o.Store.Lookup(c.TreeHash, path)
	if err != nil {
		return nil, err
	}
	if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return o.Blob(ctx, e.Hash, maxFile)
}

// by are the stories that changed each of some paths.
func (in *Integrator) by(paths []string) [][]string {
	all := make([][]string, len(paths))
	for _, p := range in.landed {
		for i, path := range paths {
			if slices.Contains(p.done.Paths, path) {
				all[i] = append(all[i], p.ID)
			}
		}
	}
	return all
}

// commit puts a merged tree with the owner's files on the tip, if it may be published.
func (in *Integrator) commit(ctx context.Context, from, tree plumbing.Hash, files Files, message string) (Result, error) {
	tree, err := in.with(tree, files)
	if err != nil {
		return Result{}, err
	}
	changes, err := in.o.Store.Diff(from, tree, nil)
	if err != nil {
		return Result{}, err
	}
	if bad, err := in.inspect(ctx, changes, from, tree); err != nil || bad != "" {
		return refused(bad), err
	}
	h, err := in.o.Store.NewCommitOf(in.Author, in.Committer, in.Clock(), message, tree, in.tip)
	if err != nil {
		return Result{}, err
	}
	text, err := in.o.Store.MessageText(h)
	if err != nil {
		return Result{}, err
	}
	if bad, err := in.inspectMessage(ctx, h, text); err != nil || bad != "" {
		return refused(bad), err
	}
	in.tip = h
	in.Branch.Pass(changes, []inspection.Message{{Commit: h.String(), Text: text}})
	return Result{Commit: h.String(), In: true}, nil
}

// back hands a story back: its change stays on the branch as a patch.
func (in *Integrator) back(ctx context.Context, s Story, r Return, why string) (Result, error) {
	trees, err := in.trees(s)
	if err != nil {
		return Result{}, err
	}
	if r.Patch, err = in.patch(ctx, trees); err != nil {
		return Result{}, err
	}
	files, message, err := in.Owner.Back(s, in.read(ctx, trees), r)
	if err != nil {
		return Result{}, err
	}
	done, err := in.commit(ctx, trees.tip, trees.tip, files, message)
	if done.Refused && err == nil { // the patch is in the way: without it the story is handed back all the same
		r.Patch = nil
		if files, message, err = in.Owner.Back(s, in.read(ctx, trees), r); err != nil {
			return Result{}, err
		}
		done, err = in.commit(ctx, trees.tip, trees.tip, files, message)
	}
	done.In, done.Why = false, why
	return done, err
}

func (r *Refusal) result() Result { return Result{Refused: !r.Already, Already: r.Already, Why: r.Why} }

func refused(why string) Result { return Result{Refused: true, Why: why} }

// three are the trees of a story's merge.
type three struct{ before, after, tip plumbing.Hash }

func (in *Integrator) trees(s Story) (three, error) {
	c, err := in.o.Store.Commit(plumbing.NewHash(s.Commit))
	if err != nil {
		return three{}, err
	}
	before, err := in.o.Store.ParentTree(c)
	if err != nil {
		return three{}, err
	}
	tip, err := in.o.Store.Commit(in.tip)
	if err != nil {
		return three{}, err
	}
	return three{before, c.TreeHash, tip.TreeHash}, nil
}

// maxFile bounds a file of the owner's, in bytes.
const maxFile = 16 << 20

func (in *Integrator) read(ctx context.Context, t three) Trees {
	of := func(tree plumbing.Hash) Read {
		return func(path string) []byte {
			e, err := in.o.Store.Lookup(tree, path)
			if err != nil || e.Mode != filemode.Regular && e.Mode != filemode.Executable {
				return nil
			}
			if in.o.Tree == nil && !in.o.Store.Has(e.Hash) {
				return nil
			}
			b, err := in.o.Blob(ctx, e.Hash, maxFile)
			if err != nil {
				return nil
			}
			return b
		}
	}
	return Trees{of(t.before), of(t.after), of(t.tip)}
}

// without is a story's tree with nothing changed but what is merged as text.
func (in *Integrator) without(changes []store.Change, before plumbing.Hash) (plumbing.Hash, error) {
	set := make(map[string]store.Entry, len(changes))
	for _, ch := range changes {
		set[ch.Path] = ch.New
	}
	return in.o.Store.Edit(before, set)
}

// with is a tree with the owner's files.
func (in *Integrator) with(tree plumbing.Hash, files Files) (plumbing.Hash, error) {
	set := map[string]store.Entry{}
	for path, content := range files {
		if content == nil {
			set[path] = store.Entry{}
			continue
		}
		h, err := in.o.Store.Write(plumbing.BlobObject, content)
		if err != nil {
			return tree, err
		}
		set[path] = store.Entry{Mode: filemode.Regular, Hash: h}
	}
	return in.o.Store.Edit(tree, set)
}

// firstLine is the beginning of a foreign text, for people.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return printable.Line(line, 200)
}

// shown names paths, in quotes.
func shown(paths []string) string {
	var names []string
	for _, p := range paths {
		names = append(names, fmt.Sprintf("%q", printable.Line(p, 200)))
	}
	return ralph.Listed(names)
}
