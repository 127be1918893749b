package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/printable"
)

// EmptyTree is the tree without entries, which git knows without storing it.
var EmptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)

const (
	maxTreeDepth = 512     // directories in directories
	MaxChanges   = 200_000 // paths of one comparison; crafted trees can name far more
)

// Entry is what a tree holds under a name. The zero entry is nothing.
type Entry struct {
	Mode filemode.FileMode
	Hash plumbing.Hash
}

// IsTree reports whether it is a directory.
func (e Entry) IsTree() bool { return e.Mode == filemode.Dir }

// IsGitlink reports whether it is a commit of a submodule.
func (e Entry) IsGitlink() bool { return e.Mode == filemode.Submodule }

// IsBlob reports whether it is a file or a symbolic link.
func (e Entry) IsBlob() bool { return e != Entry{} && !e.IsTree() && !e.IsGitlink() }

// String describes an entry: its mode and its object.
func (e Entry) String() string { return e.Mode.String() + " " + e.Hash.String() }

// item is an entry of a tree with its name.
type item struct {
	name string
	Entry
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
		it := item{name: string(b[sp+1 : nul]), Entry: Entry{Mode: mode}}
		copy(it.Hash[:], b[nul+1:nul+21])
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
	switch it.Mode {
	case filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Dir, filemode.Submodule:
	default:
		return fmt.Errorf("malformed tree: %q has mode %o", it.name, uint32(it.Mode))
	}
	if it.name == "" || it.name == "." || it.name == ".." || strings.EqualFold(it.name, ".git") || strings.Contains(it.name, "/") {
		return fmt.Errorf("malformed tree: name %q", it.name)
	}
	return nil
}

// sortName is what git sorts by: a directory as if its name ended in a slash.
func sortName(it item) string {
	if it.IsTree() {
		return it.name + "/"
	}
	return it.name
}

func encodeTree(items []item) []byte {
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(sortName(a), sortName(b)) })
	var b bytes.Buffer
	for _, it := range items {
		fmt.Fprintf(&b, "%o %s\x00", uint32(it.Mode), it.name)
		b.Write(it.Hash[:])
	}
	return b.Bytes()
}

// tree reads a tree; the zero hash is an empty one.
func (s *Store) tree(h plumbing.Hash) ([]item, error) {
	if h.IsZero() || h == EmptyTree {
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

// Lookup finds what a tree holds at a path.
func (s *Store) Lookup(root plumbing.Hash, path string) (Entry, error) {
	at := Entry{Mode: filemode.Dir, Hash: root}
	for _, part := range strings.Split(path, "/") {
		if !at.IsTree() {
			return Entry{}, nil
		}
		items, err := s.tree(at.Hash)
		if err != nil {
			return Entry{}, err
		}
		i := slices.IndexFunc(items, func(it item) bool { return it.name == part })
		if i < 0 {
			return Entry{}, nil
		}
		at = items[i].Entry
	}
	return at, nil
}

// Change is a path, never a directory, at which two trees differ.
type Change struct {
	Path     string
	Old, New Entry
}

// Diff lists where two trees differ, sorted by path. newTree, when not nil, is
// called for each directory of b that a does not hold in the same place.
func (s *Store) Diff(a, b plumbing.Hash, newTree func(plumbing.Hash)) ([]Change, error) {
	d := differ{s: s, newTree: newTree}
	if err := d.trees("", a, b, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(d.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return d.changes, nil
}

type differ struct {
	s       *Store
	newTree func(plumbing.Hash)
	changes []Change
}

func (d *differ) trees(prefix string, a, b plumbing.Hash, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxTreeDepth {
		return fmt.Errorf("directories nested deeper than %d below %q", maxTreeDepth, printable.Line(prefix, 100))
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
	was := make(map[string]Entry, len(old))
	for _, it := range old {
		was[it.name] = it.Entry
	}
	for _, it := range now {
		before := was[it.name]
		delete(was, it.name)
		if err := d.pair(prefix+it.name, before, it.Entry, depth); err != nil {
			return err
		}
	}
	for name, before := range was {
		if err := d.pair(prefix+name, before, Entry{}, depth); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) pair(path string, a, b Entry, depth int) error {
	if a == b {
		return nil
	}
	var ta, tb plumbing.Hash
	if a.IsTree() {
		ta, a = a.Hash, Entry{}
	}
	if b.IsTree() {
		tb, b = b.Hash, Entry{}
	}
	if ta != tb {
		if err := d.trees(path+"/", ta, tb, depth+1); err != nil {
			return err
		}
	}
	if a != b {
		d.changes = append(d.changes, Change{Path: path, Old: a, New: b})
		if len(d.changes) > MaxChanges {
			return fmt.Errorf("more than %d changed files", MaxChanges)
		}
	}
	return nil
}

// Edit returns the tree with the entries at the given paths replaced; the zero
// entry removes a file. Folders that become empty disappear, as in git.
func (s *Store) Edit(root plumbing.Hash, set map[string]Entry) (plumbing.Hash, error) {
	if len(set) == 0 {
		return root, nil
	}
	items, err := s.tree(root)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	at := make(map[string]Entry, len(items))
	for _, it := range items {
		at[it.name] = it.Entry
	}
	below := map[string]map[string]Entry{}
	for path, e := range set {
		name, rest, deep := strings.Cut(path, "/")
		switch {
		case deep && below[name] == nil:
			below[name] = map[string]Entry{rest: e}
		case deep:
			below[name][rest] = e
		case e != Entry{}:
			at[name] = e
		case !at[name].IsTree():
			delete(at, name)
		}
	}
	for name, sub := range below {
		var old plumbing.Hash
		if at[name].IsTree() {
			old = at[name].Hash
		} else if !slices.ContainsFunc(slices.Collect(maps.Values(sub)), func(e Entry) bool { return e != Entry{} }) {
			continue
		}
		h, err := s.Edit(old, sub)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if h == EmptyTree {
			delete(at, name)
		} else {
			at[name] = Entry{Mode: filemode.Dir, Hash: h}
		}
	}
	items = items[:0]
	for name, e := range at {
		items = append(items, item{name: name, Entry: e})
	}
	return s.Write(plumbing.TreeObject, encodeTree(items))
}

// Merge brings what changed from base to ours into theirs, path by path. A
// path both sides changed differently is a conflict, unless file merges it. With
// conflicts, which are sorted, there is no tree.
func (s *Store) Merge(base, ours, theirs plumbing.Hash, file func(was, ours, theirs Entry) (Entry, bool)) (tree plumbing.Hash, conflicts []string, err error) {
	mine, err := s.Diff(base, ours, nil)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	set := make(map[string]Entry, len(mine))
	for _, c := range mine {
		there, err := s.Lookup(theirs, c.Path)
		if err != nil {
			return plumbing.ZeroHash, nil, err
		}
		if there != c.Old && there != c.New {
			merged, ok := file(c.Old, c.New, there)
			if !ok {
				conflicts = append(conflicts, c.Path)
			}
			set[c.Path] = merged
			continue
		}
		p, err := s.blockedBy(base, theirs, c)
		if err != nil {
			return plumbing.ZeroHash, nil, err
		}
		if p != "" {
			conflicts = append(conflicts, p)
		}
		set[c.Path] = c.New
	}
	if len(conflicts) > 0 {
		slices.Sort(conflicts)
		return plumbing.ZeroHash, slices.Compact(conflicts), nil
	}
	tree, err = s.Edit(theirs, set)
	return tree, nil, err
}

// blockedBy finds a file of theirs that stands where ours needs a directory.
func (s *Store) blockedBy(base, theirs plumbing.Hash, c Change) (string, error) {
	if c.New == (Entry{}) {
		return "", nil
	}
	for i, b := range []byte(c.Path) {
		if b != '/' {
			continue
		}
		there, err := s.Lookup(theirs, c.Path[:i])
		if err != nil {
			return "", err
		}
		was, err := s.Lookup(base, c.Path[:i])
		if err != nil {
			return "", err
		}
		if there != (Entry{}) && !there.IsTree() && there != was {
			return c.Path[:i], nil
		}
	}
	return "", nil
}

// Mark notes which of the blobs a tree holds, anywhere.
func (s *Store) Mark(root plumbing.Hash, blobs map[plumbing.Hash]bool) error {
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{root}
	for len(queue) > 0 {
		h := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[h] {
			continue
		}
		seen[h] = true
		items, err := s.tree(h)
		if err != nil {
			return err
		}
		for _, it := range items {
			if _, asked := blobs[it.Hash]; asked {
				blobs[it.Hash] = true
			}
			if it.IsTree() {
				queue = append(queue, it.Hash)
			}
		}
	}
	return nil
}
