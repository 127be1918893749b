package store

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Commit is a commit without the headers that nothing here asks for: signature, merge
// tag, encoding. It is here because go-git's has methods that bring OpenPGP along.
type Commit struct {
	Hash              plumbing.Hash // of a commit that was read
	TreeHash          plumbing.Hash
	ParentHashes      []plumbing.Hash
	Author, Committer Signature
	Message           string
}

// Signature is who made a commit, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// Commit reads a commit.
func (s *Store) Commit(h plumbing.Hash) (*Commit, error) {
	b, err := s.read(plumbing.CommitObject, h)
	if err != nil {
		return nil, err
	}
	c, err := parseCommit(b)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", h, err)
	}
	c.Hash = h
	return c, nil
}

// parseCommit reads as git does: a tree, parents, author and committer, each of these in
// its place or not at all; then other headers up to an empty line.
func parseCommit(b []byte) (*Commit, error) {
	c := &Commit{}
	header := func(name string) ([]byte, bool) {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		key, value, _ := bytes.Cut(line, []byte(" "))
		if string(key) != name {
			return nil, false
		}
		b = rest
		return value, true
	}
	tree, _ := header("tree")
	if !plumbing.IsHash(string(tree)) {
		return nil, errors.New("malformed or missing tree")
	}
	c.TreeHash = plumbing.NewHash(string(tree))
	for {
		parent, ok := header("parent")
		if !ok {
			break
		}
		if !plumbing.IsHash(string(parent)) {
			return nil, errors.New("malformed parent")
		}
		c.ParentHashes = append(c.ParentHashes, plumbing.NewHash(string(parent)))
	}
	if by, ok := header("author"); ok {
		c.Author = parseSignature(by)
	}
	if by, ok := header("committer"); ok {
		c.Committer = parseSignature(by)
	}
	b = append([]byte("\n"), b...)
	_, message, _ := bytes.Cut(b, []byte("\n\n"))
	c.Message = string(message)
	return c, nil
}

// parseSignature reads "Name <email> seconds zone"; what it cannot read is left empty.
func parseSignature(b []byte) (by Signature) {
	start, end := bytes.LastIndexByte(b, '<'), bytes.LastIndexByte(b, '>')
	if start < 0 || end < start {
		return by
	}
	by.Name, by.Email = string(bytes.Trim(b[:start], " ")), string(b[start+1:end])
	seconds, zone, _ := bytes.Cut(bytes.TrimPrefix(b[end+1:], []byte(" ")), []byte(" "))
	at, err := strconv.ParseInt(string(seconds), 10, 64)
	if err != nil {
		return by
	}
	by.When = time.Unix(at, 0).UTC()
	if n, err := strconv.Atoi(string(zone)); err == nil && len(zone) == len("+0000") {
		by.When = by.When.In(time.FixedZone("", (n/100*60+n%100)*60))
	}
	return by
}

// text is a signature as a commit has it.
func (by Signature) text() string {
	return fmt.Sprintf("%s <%s> %d %s", by.Name, by.Email, max(by.When.Unix(), 0), by.When.Format("-0700"))
}

// WriteCommit puts a commit into the store.
func (s *Store) WriteCommit(c *Commit) (plumbing.Hash, error) {
	return s.Write(plumbing.CommitObject, c.encode())
}

func (c *Commit) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.TreeHash)
	for _, parent := range c.ParentHashes {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", c.Author.text(), c.Committer.text(), c.Message)
	return b.Bytes()
}
