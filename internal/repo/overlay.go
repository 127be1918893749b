package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	maxOverlaid      = 2000
	maxOverlaidBytes = 64 << 20
)

// overlay is what stands in the work tree for the time of a run and is the
// base's.
type overlay struct {
	top   *os.Root
	files []overlaid
	dirs  []string // made for them, the upper ones first
}

type overlaid struct {
	was []files.Saved // what stood there, folders before what they hold
	now files.Saved   // what was put there
}

// Overlay puts the base's version of the paths that match picks into the work
// tree: files that the base lacks are removed, files that it has are written, as git
// stores them (no filter and no conversion of line ends is run), with the owner of the
// work tree. A link or file that stands where the base has a folder is taken away. The
// index and what is committed stay as they are, and git status shows the difference.
//
// A path that is still so at a snapshot is no change: the commit keeps the branch's
// version. A path that the agent changes is a change of the agent's, against the
// branch's version, as every other; commits of the agent's own that hold the base's
// version are published as one commit without it. Changed are the paths that differed,
// sorted; foreign text.
//
// RestoreOverlay puts back what was there; a run that is killed before leaves it to
// the next checkout. Call Overlay once, after Begin, before anything of the agent's
// runs. A desk that knows no base has nothing to overlay.
func (r *Repo) Overlay(ctx context.Context, match func(path string) bool) (changed []string, err error) {
	if r.over.top != nil {
		return nil, errors.New("overlaid already")
	}
	if r.baseTip.IsZero() {
		return nil, nil
	}
	base, err := r.objects.Commit(ctx, r.baseTip)
	if err != nil {
		return nil, err
	}
	changes, err := r.objects.Store.Diff(r.line.startTree, base.TreeHash, nil)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool {
		return ch.Old.IsGitlink() || ch.New.IsGitlink() || r.tree.IsRunFile(ch.Path) || !match(ch.Path)
	})
	if len(changes) == 0 {
		return nil, nil
	}
	if len(changes) > maxOverlaid {
		return nil, fmt.Errorf("%d files that have to come from %s differ there, more than %d: update the branch first", len(changes), r.start.Base, maxOverlaid)
	}
	contents, err := r.baseContents(ctx, changes)
	if err != nil {
		return nil, err
	}
	if r.over.top, err = os.OpenRoot(r.tree.Top); err != nil {
		return nil, err
	}
	touched, err := r.over.put(changes, contents)
	if err == nil {
		err = r.hold(ctx, touched)
	}
	if err != nil {
		_, rerr := r.RestoreOverlay()
		return nil, errors.Join(fmt.Errorf("take the configuration of agents from %s: %w", r.start.Base, err), rerr)
	}
	return touched, nil
}

// baseContents are the new contents of changes, by their id.
func (r *Repo) baseContents(ctx context.Context, changes []store.Change) (map[plumbing.Hash][]byte, error) {
	entries := make([]store.Entry, len(changes))
	for i, ch := range changes {
		entries[i] = ch.New
	}
	r.objects.ImportBlobs(ctx, 2*maxOverlaidBytes, entries...)
	contents := map[plumbing.Hash][]byte{}
	size := 0
	for _, ch := range changes {
		if !ch.New.IsBlob() {
			continue
		}
		b, err := r.objects.Content(ctx, ch.New)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", printable.Line(ch.Path, 200), err)
		}
		if size += len(b); size > maxOverlaidBytes {
			return nil, fmt.Errorf("the files that have to come from %s have more than %d bytes", r.start.Base, maxOverlaidBytes)
		}
		contents[ch.New.Hash] = b
	}
	return contents, nil
}

// put changes the work tree, and remembers what was there.
func (o *overlay) put(changes []store.Change, contents map[plumbing.Hash][]byte) (touched []string, err error) {
	info, err := o.top.Stat(".")
	if err != nil {
		return nil, err
	}
	owner := files.MetaOf(info)
	size := 0
	replace := func(name string, now files.Saved) error {
		f := overlaid{now: now}
		if err := files.Save(o.top, name, &f.was, &size); err != nil {
			return fmt.Errorf("%q: %w", printable.Line(name, 200), err)
		}
		o.files = append(o.files, f)
		mine := &o.files[len(o.files)-1].now
		if !slices.Contains(touched, name) {
			touched = append(touched, name)
		}
		if err := o.top.RemoveAll(name); err != nil {
			return err
		}
		if now.Kind == "" {
			return nil
		}
		if err := now.Put(o.top); err != nil {
			return err
		}
		info, err := o.top.Lstat(name)
		if err == nil {
			mine.Meta = files.MetaOf(info)
		}
		return err
	}
	// What goes makes place for what comes.
	for _, ch := range changes {
		if ch.New == (store.Entry{}) && files.RealFolders(o.top, path.Dir(ch.Path)) {
			if err := replace(ch.Path, files.Saved{Name: ch.Path}); err != nil {
				return touched, err
			}
		}
	}
	for _, ch := range changes {
		if ch.New == (store.Entry{}) {
			continue
		}
		for i, c := range []byte(ch.Path) {
			if c != '/' {
				continue
			}
			dir := ch.Path[:i]
			info, err := o.top.Lstat(dir)
			if err == nil && info.IsDir() {
				continue
			}
			if err == nil {
				if err := replace(dir, files.Saved{Name: dir}); err != nil {
					return touched, err
				}
			}
			o.dirs = append(o.dirs, dir)
			if err := files.MakeFolders(o.top, dir); err != nil {
				return touched, err
			}
		}
		now := files.Saved{Name: ch.Path, Kind: files.KindFile, Content: contents[ch.New.Hash], Meta: files.Meta{Mode: 0o644, UID: owner.UID, GID: owner.GID}}
		switch ch.New.Mode {
		case filemode.Executable:
			now.Meta.Mode = 0o755
		case filemode.Symlink:
			now.Kind, now.Link, now.Content = files.KindLink, string(now.Content), nil
		}
		if err := replace(ch.Path, now); err != nil {
			return touched, err
		}
	}
	slices.Sort(touched)
	return touched, nil
}

// hold takes the overlaid paths as they are staged now for what was there before
// the run.
func (r *Repo) hold(ctx context.Context, touched []string) error {
	tree, _, err := r.tree.Stage(ctx)
	if err != nil {
		return err
	}
	l := &r.line
	if err := r.objects.ImportNew(ctx, []plumbing.Hash{tree}, l.tipTree, l.startTree); err != nil {
		return err
	}
	for _, name := range touched {
		e, err := r.objects.Store.Lookup(tree, name)
		if err != nil {
			return err
		}
		if e.IsTree() {
			e = store.Entry{}
		}
		l.held[name] = e
	}
	l.startTree, l.seenTree, l.lastTree = tree, tree, tree
	return nil
}

// RestoreOverlay puts back into the work tree what Overlay replaced, where it is
// still as Overlay left it; kept are the paths that the agent changed, which stay.
// Call it on every way out, when the agent is dead; a second call does nothing.
func (r *Repo) RestoreOverlay() (kept []string, err error) {
	o := r.over
	if o.top == nil {
		return nil, nil
	}
	r.over = overlay{}
	var back []overlaid
	var errs []error
	for _, f := range slices.Backward(o.files) {
		same, err := f.now.Unchanged(o.top)
		switch {
		case f.now.Kind == "": // a folder of ours may still stand there
		case err != nil || !same:
			kept = append(kept, f.now.Name)
			continue
		default:
			errs = append(errs, o.top.RemoveAll(f.now.Name))
		}
		back = append(back, f)
	}
	for _, dir := range slices.Backward(o.dirs) {
		_ = o.top.Remove(dir) // when it is empty
	}
	for _, f := range slices.Backward(back) {
		switch free, err := f.hasRoom(o.top); {
		case f.was[0].Kind == "":
			continue
		case err != nil || !free:
			kept = append(kept, f.now.Name)
			continue
		}
		for _, was := range f.was {
			errs = append(errs, was.Put(o.top))
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept), errors.Join(append(errs, o.top.Close())...)
}

// hasRoom says that nothing of the agent's stands where something is to be put
// back.
func (f overlaid) hasRoom(top *os.Root) (bool, error) {
	if info, err := top.Lstat(f.now.Name); err == nil && info.IsDir() && f.was[0].Kind == files.KindDir {
		return files.RealFolders(top, path.Dir(f.now.Name)), nil
	}
	return files.Saved{Name: f.now.Name}.Unchanged(top)
}
