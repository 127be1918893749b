package store

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxLooseObjects = 1000
	maxLooseBytes   = 8 << 20 // of all of them
	maxLooseObject  = 1 << 20
	maxAncestors    = 1000
)

// Loose returns an object of at most limit bytes that is read at little cost; its content is
// that of its id. Where ok is false, another way may have it.
type Loose func(h plumbing.Hash, limit int64) (kind plumbing.ObjectType, content []byte, ok bool)

// ImportLoose takes trees and commits with all they stand on over, but for what known trees
// hold in the same place, and known commits below them. It is for a few small objects: with
// others, and when one cannot be read, it reports false and takes nothing.
func (s *Store) ImportLoose(read Loose, wanted []plumbing.Hash, known ...plumbing.Hash) bool {
	l := looseImport{s: s, read: read, blobs: true, seen: map[plumbing.Hash]bool{}, trees: map[plumbing.Hash][]item{}, known: map[plumbing.Hash]bool{}}
	var beside []plumbing.Hash
	for _, h := range known {
		if c, err := s.Commit(h); err == nil {
			l.know(h)
			h = c.TreeHash
		}
		beside = append(beside, h)
	}
	for _, h := range wanted {
		kind, b, ok := l.get(h)
		if ok = ok && (kind == plumbing.CommitObject && l.commit(h, b, beside) || kind == plumbing.TreeObject && l.tree(h, beside, 0)); !ok {
			return false
		}
	}
	return l.write()
}

// ImportLooseTrees takes a commit and its trees over, without blobs and parents, as ImportLoose does.
func (s *Store) ImportLooseTrees(read Loose, commit plumbing.Hash) bool {
	l := looseImport{s: s, read: read, seen: map[plumbing.Hash]bool{}, trees: map[plumbing.Hash][]item{}}
	kind, b, ok := l.get(commit)
	if !ok || kind != plumbing.CommitObject {
		return false
	}
	c, err := parseCommit(b)
	if err != nil || !l.tree(c.TreeHash, nil, 0) {
		return false
	}
	l.add(commit, kind, b)
	return l.write()
}

// ImportLooseBlobs takes blobs over, and returns those that it could not.
func (s *Store) ImportLooseBlobs(read Loose, blobs []plumbing.Hash) (left []plumbing.Hash) {
	l := looseImport{s: s, read: read, seen: map[plumbing.Hash]bool{}}
	for _, h := range blobs {
		if !l.blob(h) {
			left = append(left, h)
		}
	}
	if !l.write() {
		return blobs
	}
	return left
}

type looseObject struct {
	kind    plumbing.ObjectType
	content []byte
}

// looseImport holds what it found until it has all of it: what is in the store is known to be whole.
type looseImport struct {
	s     *Store
	read  Loose
	blobs bool

	known map[plumbing.Hash]bool   // commits that are not wanted
	seen  map[plumbing.Hash]bool   // objects that were found, with all below them
	trees map[plumbing.Hash][]item // of seen
	found []looseObject            // what others name before them
	count int                      // of what was read
	bytes int64
}

// know notes a known commit and those below it that the store holds.
func (l *looseImport) know(h plumbing.Hash) {
	for queue := []plumbing.Hash{h}; len(queue) > 0 && len(l.known) < maxAncestors; queue = queue[1:] {
		if l.known[queue[0]] {
			continue
		}
		l.known[queue[0]] = true
		if c, err := l.s.Commit(queue[0]); err == nil {
			queue = append(queue, c.ParentHashes...)
		}
	}
}

// get reads a tree, a commit or a blob.
func (l *looseImport) get(h plumbing.Hash) (kind plumbing.ObjectType, content []byte, ok bool) {
	if l.count++; l.count > maxLooseObjects || l.bytes > maxLooseBytes {
		return plumbing.InvalidObject, nil, false
	}
	if o, err := l.s.Object(h); err == nil && o.Size() <= maxLooseObject {
		content, err = ReadObject(o, maxLooseObject)
		kind, ok = o.Type(), err == nil
	} else {
		kind, content, ok = l.read(h, maxLooseObject)
	}
	l.bytes += int64(len(content))
	return kind, content, ok
}

func (l *looseImport) add(h plumbing.Hash, kind plumbing.ObjectType, content []byte) {
	l.seen[h] = true
	l.found = append(l.found, looseObject{kind, content})
}

func (l *looseImport) commit(h plumbing.Hash, b []byte, beside []plumbing.Hash) bool {
	if l.known[h] || l.seen[h] {
		return true
	}
	c, err := parseCommit(b)
	if err != nil {
		return false
	}
	beside = slices.Clone(beside)
	for _, parent := range c.ParentHashes {
		kind, b, ok := l.get(parent)
		if !ok || kind != plumbing.CommitObject || !l.commit(parent, b, beside) {
			return false
		}
		if p, err := parseCommit(b); err == nil {
			beside = append(beside, p.TreeHash)
		}
	}
	if !l.tree(c.TreeHash, beside, 0) {
		return false
	}
	l.add(h, plumbing.CommitObject, b)
	return true
}

// tree takes a directory over, beside those that have the same path elsewhere.
func (l *looseImport) tree(h plumbing.Hash, beside []plumbing.Hash, depth int) bool {
	if h == EmptyTree || l.seen[h] || slices.Contains(beside, h) || !l.blobs && l.s.Has(h) && l.s.Whole(h) {
		return true
	}
	kind, b, ok := l.get(h)
	if !ok || kind != plumbing.TreeObject || depth > maxTreeDepth {
		return false
	}
	items, err := parseTree(b)
	if err != nil {
		return false
	}
	there := map[string][]plumbing.Hash{}
	for _, t := range beside {
		for _, it := range l.items(t) {
			there[it.name] = append(there[it.name], it.Hash)
		}
	}
	for _, it := range items {
		switch {
		case it.IsGitlink() || slices.Contains(there[it.name], it.Hash):
		case it.IsTree():
			if !l.tree(it.Hash, there[it.name], depth+1) {
				return false
			}
		case l.blobs && !l.blob(it.Hash):
			return false
		}
	}
	l.trees[h] = items
	l.add(h, kind, b)
	return true
}

// items lists a known tree; one that cannot be read holds nothing that is known.
func (l *looseImport) items(tree plumbing.Hash) []item {
	if items, ok := l.trees[tree]; ok {
		return items
	}
	items, err := l.s.tree(tree)
	if err != nil {
		return nil
	}
	return items
}

func (l *looseImport) blob(h plumbing.Hash) bool {
	if l.seen[h] || l.s.Has(h) {
		return true
	}
	kind, b, ok := l.get(h)
	if !ok || kind != plumbing.BlobObject {
		return false
	}
	l.add(h, kind, b)
	return true
}

func (l *looseImport) write() bool {
	for _, o := range l.found {
		if _, err := l.s.Write(o.kind, o.content); err != nil {
			return false
		}
	}
	return true
}
