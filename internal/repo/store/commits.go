package store

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// MaxMessageText bounds what a commit of the agent's own says: bigger ones are
// not taken over.
const MaxMessageText = 1 << 20

// Identity is the author or committer of a commit.
type Identity struct{ Name, Email string }

// Signature returns an identity and a time within the syntax of a commit.
func (id Identity) Signature(at time.Time) object.Signature {
	strip := strings.NewReplacer("<", "", ">", "", "\n", " ", "\r", " ", "\x00", "")
	name := strings.TrimSpace(strip.Replace(id.Name))
	if name == "" {
		name = "ralph"
	}
	return object.Signature{Name: name, Email: strings.TrimSpace(strip.Replace(id.Email)), When: at}
}

// ChangesOf is where a commit differs from its first parent, which is what a push
// of it sends.
func (s *Store) ChangesOf(c *object.Commit) ([]Change, error) {
	var parent plumbing.Hash
	if len(c.ParentHashes) > 0 {
		p, err := s.Commit(c.ParentHashes[0])
		if err != nil {
			return nil, err
		}
		parent = p.TreeHash
	}
	empty := false
	changes, err := s.Diff(parent, c.TreeHash, func(h plumbing.Hash) { empty = empty || h == EmptyTree && h != c.TreeHash })
	if empty { // its name would be in no change
		return nil, fmt.Errorf("the commit %s holds an empty folder, which git never makes", c.Hash)
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
