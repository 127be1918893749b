package repo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/printable"
)

// emptyTree is the tree without entries, which git knows without storing it.
var emptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)

const (
	maxTreeDepth = 512     // folders in folders
	maxChanges   = 200_000 // paths of one comparison; crafted trees can name far more
)

// entry is what a tree holds under a name. The zero entry is nothing.
type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

func (e entry) isTree() bool    { return e.mode == filemode.Dir }
func (e entry) isGitlink() bool { return e.mode == filemode.Submodule }
func (e entry) isBlob() bool    { return e != entry{} && !e.isTree() && !e.isGitlink() }

type item struct {
	name string
	entry
}

// parseTree reads a tree object and refuses what git never writes: the agent
// can store any bytes as a tree.
func parseTree(b []byte) ([]item, error) {
	var items []item
	for len(b) > 0 {
		sp := bytes.IndexByte(b, ' ')
		if sp < 0 || sp > 7 {
			return nil, errors.New("malformed tree: no mode")
		}
		nul := bytes.IndexByte(b, 0)
		if nul < sp || len(b) < nul+21 {
			return nil, errors.New("malformed tree: cut entry")
		}
		mode, err := filemode.New(string(b[:sp]))
		if err != nil {
			return nil, fmt.Errorf("malformed tree: %w", err)
		}
		// Written by git before 2005; every later git reads it as 100644.
		if mode == filemode.Deprecated {
			mode = filemode.Regular
		}
		it := item{name: string(b[sp+1 : nul]), entry: entry{mode: mode}}
		copy(it.hash[:], b[nul+1:nul+21])
		if err := checkItem(it); err != nil {
			return nil, err
		}
		if n := len(items); n > 0 && cmp.Compare(sortName(items[n-1]), sortName(it)) >= 0 {
			return nil, fmt.Errorf("malformed tree: %q is out of order or twice", it.name)
		}
		items = append(items, it)
		b = b[nul+21:]
	}
	return items, nil
}

func checkItem(it item) error {
	switch it.mode {
	case filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Dir, filemode.Submodule:
	default:
		return fmt.Errorf("malformed tree: %q has mode %o", it.name, uint32(it.mode))
	}
	if it.name == "" || it.name == "." || it.name == ".." || strings.EqualFold(it.name, ".git") || strings.Contains(it.name, "/") {
		return fmt.Errorf("malformed tree: name %q", it.name)
	}
	return nil
}

// sortName is what git sorts by: a folder as if its name ended in a slash.
func sortName(it item) string {
	if it.isTree() {
		return it.name + "/"
	}
	return it.name
}

func encodeTree(items []item) []byte {
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(sortName(a), sortName(b)) })
	var b bytes.Buffer
	for _, it := range items {
		fmt.Fprintf(&b, "%o %s\x00", uint32(it.mode), it.name)
		b.Write(it.hash[:])
	}
	return b.Bytes()
}

// tree reads a tree; the zero hash is an empty one.
func (s *store) tree(h plumbing.Hash) ([]item, error) {
	if h.IsZero() || h == emptyTree {
		return nil, nil
	}
	b, err := s.read(plumbing.TreeObject, h)
	if err != nil {
		return nil, err
	}
	items, err := parseTree(b)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	return items, nil
}

// lookup finds what a tree holds at a path.
func (s *store) lookup(root plumbing.Hash, path string) (entry, error) {
	at := entry{mode: filemode.Dir, hash: root}
	for _, part := range strings.Split(path, "/") {
		if !at.isTree() {
			return entry{}, nil
		}
		items, err := s.tree(at.hash)
		if err != nil {
			return entry{}, err
		}
		i := slices.IndexFunc(items, func(it item) bool { return it.name == part })
		if i < 0 {
			return entry{}, nil
		}
		at = items[i].entry
	}
	return at, nil
}

// change is a path, never a folder, at which two trees differ.
type change struct {
	path     string
	old, new entry
}

// diff lists where two trees differ, sorted by path. newTree, when not nil, is
// called for each folder of b that a does not hold in the same place.
func (s *store) diff(a, b plumbing.Hash, newTree func(plumbing.Hash)) ([]change, error) {
	d := differ{s: s, newTree: newTree}
	if err := d.trees("", a, b, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(d.changes, func(a, b change) int { return cmp.Compare(a.path, b.path) })
	return d.changes, nil
}

type differ struct {
	s       *store
	newTree func(plumbing.Hash)
	changes []change
}

func (d *differ) trees(prefix string, a, b plumbing.Hash, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxTreeDepth {
		return fmt.Errorf("folders nested deeper than %d below %q", maxTreeDepth, printable.Line(prefix, 100))
	}
	if d.newTree != nil && !b.IsZero() {
		d.newTree(b)
	}
	old, err := d.s.tree(a)
	if err != nil {
		return err
	}
	now, err := d.s.tree(b)
	if err != nil {
		return err
	}
	was := make(map[string]entry, len(old))
	for _, it := range old {
		was[it.name] = it.entry
	}
	for _, it := range now {
		before := was[it.name]
		delete(was, it.name)
		if err := d.pair(prefix+it.name, before, it.entry, depth); err != nil {
			return err
		}
	}
	for name, before := range was {
		if err := d.pair(prefix+name, before, entry{}, depth); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) pair(path string, a, b entry, depth int) error {
	if a == b {
		return nil
	}
	var ta, tb plumbing.Hash
	if a.isTree() {
		ta, a = a.hash, entry{}
	}
	if b.isTree() {
		tb, b = b.hash, entry{}
	}
	if ta != tb {
		if err := d.trees(path+"/", ta, tb, depth+1); err != nil {
			return err
		}
	}
	if a != b {
		d.changes = append(d.changes, change{path: path, old: a, new: b})
		if len(d.changes) > maxChanges {
			return fmt.Errorf("more than %d changed files", maxChanges)
		}
	}
	return nil
}

// edit returns the tree with the entries at the given paths replaced; the zero
// entry removes a file. Folders that become empty disappear, as in git.
func (s *store) edit(root plumbing.Hash, set map[string]entry) (plumbing.Hash, error) {
	if len(set) == 0 {
		return root, nil
	}
	items, err := s.tree(root)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	at := make(map[string]entry, len(items))
	for _, it := range items {
		at[it.name] = it.entry
	}
	below := map[string]map[string]entry{}
	for path, e := range set {
		name, rest, deep := strings.Cut(path, "/")
		switch {
		case deep && below[name] == nil:
			below[name] = map[string]entry{rest: e}
		case deep:
			below[name][rest] = e
		case e != entry{}:
			at[name] = e
		case !at[name].isTree():
			delete(at, name)
		}
	}
	for name, sub := range below {
		var old plumbing.Hash
		if at[name].isTree() {
			old = at[name].hash
		} else if !slices.ContainsFunc(values(sub), func(e entry) bool { return e != entry{} }) {
			continue
		}
		h, err := s.edit(old, sub)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if h == emptyTree {
			delete(at, name)
		} else {
			at[name] = entry{mode: filemode.Dir, hash: h}
		}
	}
	items = items[:0]
	for name, e := range at {
		items = append(items, item{name: name, entry: e})
	}
	return s.write(plumbing.TreeObject, encodeTree(items))
}

func values(m map[string]entry) []entry {
	var v []entry
	for _, e := range m {
		v = append(v, e)
	}
	return v
}

// merge brings what changed from base to ours into theirs, path by path. A
// path both sides changed differently is a conflict; its name is returned.
func (s *store) merge(base, ours, theirs plumbing.Hash) (tree plumbing.Hash, conflict string, err error) {
	return s.mergeWith(base, ours, theirs, nil)
}

// mergeWith is merge with a function for a path both sides changed differently,
// which is false where it is a conflict.
func (s *store) mergeWith(base, ours, theirs plumbing.Hash, file func(was, ours, theirs entry) (entry, bool)) (tree plumbing.Hash, conflict string, err error) {
	mine, err := s.diff(base, ours, nil)
	if err != nil {
		return plumbing.ZeroHash, "", err
	}
	set := make(map[string]entry, len(mine))
	for _, c := range mine {
		there, err := s.lookup(theirs, c.path)
		if err != nil {
			return plumbing.ZeroHash, "", err
		}
		if there != c.old && there != c.new {
			merged, ok := entry{}, false
			if file != nil {
				merged, ok = file(c.old, c.new, there)
			}
			if !ok {
				return plumbing.ZeroHash, c.path, nil
			}
			set[c.path] = merged
			continue
		}
		if p, err := s.blockedBy(base, theirs, c); p != "" || err != nil {
			return plumbing.ZeroHash, p, err
		}
		set[c.path] = c.new
	}
	tree, err = s.edit(theirs, set)
	return tree, "", err
}

// blockedBy finds a file of theirs that stands where ours needs a folder.
func (s *store) blockedBy(base, theirs plumbing.Hash, c change) (string, error) {
	if c.new == (entry{}) {
		return "", nil
	}
	for i, b := range []byte(c.path) {
		if b != '/' {
			continue
		}
		there, err := s.lookup(theirs, c.path[:i])
		if err != nil {
			return "", err
		}
		was, err := s.lookup(base, c.path[:i])
		if err != nil {
			return "", err
		}
		if there != (entry{}) && !there.isTree() && there != was {
			return c.path[:i], nil
		}
	}
	return "", nil
}
