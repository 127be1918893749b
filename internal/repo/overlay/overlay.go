// Package overlay puts other versions of files into a work tree for a while, and what was
// there back.
package overlay

import (
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

// Overlay is what was put into a work tree.
type Overlay struct {
	top   *os.Root
	files []overlaid
	dirs  []string // made for them, the upper ones first
}

type overlaid struct {
	was []files.Saved // what stood there, directories before what they hold
	now files.Saved   // what was put there
}

// Put makes changes in the work tree at top, with the owner of the work tree, and remembers
// what was there. contents are those of new versions, by their id. touched are the paths
// that differ now, sorted. With an error, the Overlay holds what was done until then.
func Put(top *os.Root, changes []store.Change, contents map[plumbing.Hash][]byte) (o *Overlay, touched []string, err error) {
	o = &Overlay{top: top}
	touched, err = o.put(changes, contents)
	return o, touched, err
}

func (o *Overlay) put(changes []store.Change, contents map[plumbing.Hash][]byte) (touched []string, err error) {
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
		if ch.New == (store.Entry{}) && files.RealDirs(o.top, path.Dir(ch.Path)) {
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
			if err := files.MakeDirs(o.top, dir); err != nil {
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

// Restore puts back what Put replaced, where it is still as Put left it, and closes the
// work tree. kept are the paths that somebody changed since, which stay.
func (o *Overlay) Restore() (kept []string, err error) {
	var back []overlaid
	var errs []error
	for _, f := range slices.Backward(o.files) {
		same, err := f.now.Unchanged(o.top)
		switch {
		case f.now.Kind == "": // a directory of ours may still stand there
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

// hasRoom reports whether nothing of anybody else's stands where something is to be put
// back.
func (f overlaid) hasRoom(top *os.Root) (bool, error) {
	if info, err := top.Lstat(f.now.Name); err == nil && info.IsDir() && f.was[0].Kind == files.KindDir {
		return files.RealDirs(top, path.Dir(f.now.Name)), nil
	}
	return files.Saved{Name: f.now.Name}.Unchanged(top)
}
