package fakegithub

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// read reads a loose object itself, because it is asked for often, and a packed
// one by git.
func (r *Repository) read(sha string) (kind string, data []byte, err error) {
	kind, data, err = r.Object(sha)
	if !errors.Is(err, os.ErrNotExist) {
		return kind, data, err
	}
	if kind, err = r.git("cat-file", "-t", sha); err != nil {
		return "", nil, err
	}
	data, err = r.gitRaw("cat-file", kind, sha)
	return kind, data, err
}

// is reports whether an id is that of an object of this kind.
func (r *Repository) is(sha, kind string) bool {
	have, _, err := r.read(sha)
	return err == nil && have == kind
}

// kindOf is the type of an entry as the API has it.
func kindOf(e gitserver.Entry) string {
	switch e.Mode {
	case "40000":
		return "tree"
	case "160000":
		return "commit"
	}
	return "blob"
}

// treeOf reads a tree, or the tree of a commit.
func (r *Repository) treeOf(sha string) (tree string, entries []gitserver.Entry, err error) {
	kind, data, err := r.read(sha)
	if err == nil && kind == "commit" {
		sha = parseCommit(data).tree
		kind, data, err = r.read(sha)
	}
	if err == nil && kind != "tree" {
		err = fmt.Errorf("%s is a %s", sha, kind)
	}
	if err == nil {
		entries, err = gitserver.ParseTree(data)
	}
	return sha, entries, err
}

// change puts one path into a tree, or takes it out when its id is empty, and
// returns the new tree; empty when nothing is left of it.
func (r *Repository) change(tree, path string, to gitserver.Entry) (string, error) {
	var entries []gitserver.Entry
	if tree != "" {
		var err error
		if _, entries, err = r.treeOf(tree); err != nil {
			return "", err
		}
	}
	name, rest, deeper := strings.Cut(path, "/")
	at := slices.IndexFunc(entries, func(e gitserver.Entry) bool { return e.Name == name })
	if deeper {
		below := ""
		if at >= 0 && entries[at].IsTree() {
			below = entries[at].ID
		}
		sha, err := r.change(below, rest, to)
		if err != nil {
			return "", err
		}
		to = gitserver.Entry{Mode: "40000", ID: sha}
	}
	to.Name = name
	if at >= 0 {
		entries = slices.Delete(entries, at, at+1)
	}
	if to.ID != "" {
		entries = append(entries, to)
	}
	if len(entries) == 0 {
		return "", nil
	}
	return r.WriteTree(entries)
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

// write stores the commit.
func (r *Repository) write(c commitObject) (string, error) { return r.Write("commit", c.bytes()) }
