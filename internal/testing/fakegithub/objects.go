package fakegithub

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names its objects by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writeObject puts one loose object into the bare repository.
func (r *Repository) writeObject(kind string, data []byte) (string, error) {
	header := fmt.Appendf(nil, "%s %d\x00", kind, len(data))
	sum := sha1.New() //nolint:gosec // git names its objects by SHA-1
	sum.Write(header)
	sum.Write(data)
	sha := hex.EncodeToString(sum.Sum(nil))
	path := filepath.Join(r.dir(), "objects", sha[:2], sha[2:])
	if _, err := os.Stat(path); err == nil {
		return sha, nil
	}
	var deflated bytes.Buffer
	writer, err := zlib.NewWriterLevel(&deflated, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	for _, part := range [][]byte{header, data} {
		if _, err := writer.Write(part); err != nil {
			return "", err
		}
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temp, deflated.Bytes(), 0o444); err != nil {
		return "", err
	}
	return sha, os.Rename(temp, path)
}

// readObject reads a loose object itself, because it is asked for often, and a
// packed one by git.
func (r *Repository) readObject(sha string) (kind string, data []byte, err error) {
	if len(sha) != 40 {
		return "", nil, fmt.Errorf("%q is no object id", sha)
	}
	file, err := os.Open(filepath.Join(r.dir(), "objects", sha[:2], sha[2:]))
	if errors.Is(err, os.ErrNotExist) {
		return r.readPacked(sha)
	}
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	inflated, err := zlib.NewReader(file)
	if err != nil {
		return "", nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(inflated, maxBody))
	if err != nil {
		return "", nil, err
	}
	header, data, ok := bytes.Cut(raw, []byte{0})
	if !ok {
		return "", nil, errors.New("object without a header")
	}
	kind, _, _ = strings.Cut(string(header), " ")
	return kind, data, nil
}

func (r *Repository) readPacked(sha string) (kind string, data []byte, err error) {
	if kind, err = r.git("cat-file", "-t", sha); err != nil {
		return "", nil, err
	}
	text, err := r.gitRaw("cat-file", kind, sha)
	return kind, text, err
}

type treeEntry struct{ mode, name, sha string }

func (e treeEntry) isTree() bool { return e.mode == "40000" }

func (e treeEntry) kind() string {
	switch e.mode {
	case "40000":
		return "tree"
	case "160000":
		return "commit"
	}
	return "blob"
}

// treeOf reads a tree, or the tree of a commit.
func (r *Repository) treeOf(sha string) (tree string, entries []treeEntry, err error) {
	kind, data, err := r.readObject(sha)
	if err == nil && kind == "commit" {
		sha = parseCommit(data).tree
		kind, data, err = r.readObject(sha)
	}
	if err == nil && kind != "tree" {
		err = fmt.Errorf("%s is a %s", sha, kind)
	}
	for len(data) > 0 && err == nil {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, found := strings.Cut(string(head), " ")
		if !ok || !found || len(rest) < 20 {
			return "", nil, fmt.Errorf("tree %s is broken", sha)
		}
		entries = append(entries, treeEntry{mode, name, hex.EncodeToString(rest[:20])})
		data = rest[20:]
	}
	return sha, entries, err
}

func (r *Repository) writeTree(entries []treeEntry) (string, error) {
	// Git sorts a directory as if its name ended in a slash.
	sortName := func(e treeEntry) string {
		if e.isTree() {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	var data []byte
	for _, e := range entries {
		id, err := hex.DecodeString(e.sha)
		if err != nil {
			return "", err
		}
		data = fmt.Appendf(data, "%s %s\x00", e.mode, e.name)
		data = append(data, id...)
	}
	return r.writeObject("tree", data)
}

// change puts one path into a tree, or takes it out when sha is empty, and
// returns the new tree; empty when nothing is left of it.
func (r *Repository) change(tree, path string, to treeEntry) (string, error) {
	var entries []treeEntry
	if tree != "" {
		var err error
		if _, entries, err = r.treeOf(tree); err != nil {
			return "", err
		}
	}
	name, rest, deeper := strings.Cut(path, "/")
	at := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name })
	if deeper {
		below := ""
		if at >= 0 && entries[at].isTree() {
			below = entries[at].sha
		}
		sha, err := r.change(below, rest, to)
		if err != nil {
			return "", err
		}
		to = treeEntry{"40000", name, sha}
	}
	to.name = name
	if at >= 0 {
		entries = slices.Delete(entries, at, at+1)
	}
	if to.sha != "" {
		entries = append(entries, to)
	}
	if len(entries) == 0 {
		return "", nil
	}
	return r.writeTree(entries)
}

type commitObject struct {
	tree, message, signature string
	parents                  []string
	author, committer        person
}

type person struct{ name, email, date string } // date: seconds and zone

func parsePerson(line string) person {
	name, rest, _ := strings.Cut(line, " <")
	email, date, _ := strings.Cut(rest, "> ")
	return person{name, email, date}
}

func (p person) String() string { return p.name + " <" + p.email + "> " + p.date }

func parseCommit(data []byte) commitObject {
	var c commitObject
	header, message, _ := strings.Cut(string(data), "\n\n")
	c.message = message
	for line := range strings.Lines(header) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "tree":
			c.tree = rest
		case "parent":
			c.parents = append(c.parents, rest)
		case "author":
			c.author = parsePerson(rest)
		case "committer":
			c.committer = parsePerson(rest)
		case "gpgsig":
			c.signature = rest
		}
	}
	return c
}

func (c commitObject) bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.author, c.committer)
	if c.signature != "" {
		fmt.Fprintf(&b, "gpgsig -----BEGIN PGP SIGNATURE-----\n \n %s\n -----END PGP SIGNATURE-----\n \n", c.signature)
	}
	b.WriteString("\n" + c.message)
	return []byte(b.String())
}
