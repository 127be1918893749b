package store

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// MaxMessageText bounds what a commit of the agent's own says: bigger ones are
// not taken over.
const MaxMessageText = 1 << 20

// Identity is the author or committer of a commit.
type Identity struct{ Name, Email string }

// Signature returns an identity and a time within the syntax of a commit.
func (id Identity) Signature(at time.Time) Signature {
	strip := strings.NewReplacer("<", "", ">", "", "\n", " ", "\r", " ", "\x00", "")
	name := strings.TrimSpace(strip.Replace(id.Name))
	if name == "" {
		name = "ralph"
	}
	return Signature{Name: name, Email: strings.TrimSpace(strip.Replace(id.Email)), When: at}
}

// NewCommit puts a commit of ours into the store.
func (s *Store) NewCommit(by Identity, at time.Time, message string, tree plumbing.Hash, parents ...plumbing.Hash) (plumbing.Hash, error) {
	return s.NewCommitOf(by, by, at, message, tree, parents...)
}

// NewCommitOf is NewCommit with an author who is not the committer.
func (s *Store) NewCommitOf(author, by Identity, at time.Time, message string, tree plumbing.Hash, parents ...plumbing.Hash) (plumbing.Hash, error) {
	return s.WriteCommit(&Commit{
		Author: author.Signature(at), Committer: by.Signature(at), Message: Message(message), TreeHash: tree, ParentHashes: parents,
	})
}

// Message returns the message of a commit, which ends with one line end, as git's own do.
func Message(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\x00", ""), " \t\r\n")
	if s == "" {
		s = "ralph: checkpoint"
	}
	return s + "\n"
}

// Recommit puts a commit into the store with another tree and other parents: same author,
// committer and message.
func (s *Store) Recommit(c *Commit, tree plumbing.Hash, parents ...plumbing.Hash) (plumbing.Hash, error) {
	return s.WriteCommit(&Commit{Author: c.Author, Committer: c.Committer, Message: c.Message, TreeHash: tree, ParentHashes: parents})
}

// ParentTree returns the tree of a commit's first parent; zero if it has no parent.
func (s *Store) ParentTree(c *Commit) (plumbing.Hash, error) {
	if len(c.ParentHashes) == 0 {
		return plumbing.ZeroHash, nil
	}
	p, err := s.Commit(c.ParentHashes[0])
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return p.TreeHash, nil
}

// Since iterates over commits and their ancestors, down to those that have reports. An
// error ends it.
func (s *Store) Since(tips []plumbing.Hash, have func(plumbing.Hash) bool) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		seen := map[plumbing.Hash]bool{}
		queue := slices.Clone(tips)
		for len(queue) > 0 {
			h := queue[0]
			queue = queue[1:]
			if seen[h] || have(h) {
				continue
			}
			seen[h] = true
			c, err := s.Commit(h)
			if !yield(c, err) || err != nil {
				return
			}
			queue = append(queue, c.ParentHashes...)
		}
	}
}

// Chain lists a commit and its ancestors by first parents, newest first, down to where end
// reports that it is reached, which is not in the list. It is an error to find no way there.
func (s *Store) Chain(tip plumbing.Hash, end func(plumbing.Hash) bool) (chain []*Commit, at plumbing.Hash, err error) {
	for at = tip; !end(at); at = chain[len(chain)-1].ParentHashes[0] {
		c, err := s.Commit(at)
		if err != nil {
			return nil, at, err
		}
		if len(c.ParentHashes) == 0 {
			return nil, at, fmt.Errorf("the commit %s has no parent", at)
		}
		chain = append(chain, c)
	}
	return chain, at, nil
}

// ChangesOf is where a commit differs from its first parent, which is what a push
// of it sends.
func (s *Store) ChangesOf(c *Commit) ([]Change, error) {
	parent, err := s.ParentTree(c)
	if err != nil {
		return nil, err
	}
	empty := false
	changes, err := s.Diff(parent, c.TreeHash, func(h plumbing.Hash) { empty = empty || h == EmptyTree && h != c.TreeHash })
	if empty { // its name would be in no change
		return nil, fmt.Errorf("the commit %s holds an empty directory, which git never makes", c.Hash)
	}
	return changes, err
}

// MessageText is a commit without its tree and its parents.
func (s *Store) MessageText(h plumbing.Hash) (string, error) {
	b, err := s.read(plumbing.CommitObject, h)
	if err != nil {
		return "", err
	}
	if len(b) > MaxMessageText {
		return "", fmt.Errorf("the commit %s has a message of more than %d bytes", h, MaxMessageText)
	}
	for bytes.HasPrefix(b, []byte("tree ")) || bytes.HasPrefix(b, []byte("parent ")) {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return string(b), nil
}
