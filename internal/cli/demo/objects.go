package demo

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names its objects by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// File is one file of a commit made by the forge.
type File struct {
	Content    string
	Executable bool
}

// Commit is one commit of a pull request.
type Commit struct {
	SHA     string
	Subject string
	Author  string // "Name <mail>"
}

// commitStamp stands in every commit the forge makes itself, so that its ids
// are the same every time.
const commitStamp = "Ralph Demo <demo@localhost> 1767225600 +0000"

// Commit puts a commit on a branch of the forge, creating the branch when
// needed, and returns its id. files is the whole tree, by slash-separated path.
func (f *Forge) Commit(owner, name, branch, message string, files map[string]File) (string, error) {
	repo := f.lookup(owner, name)
	if repo == nil || !validBranch(branch) {
		return "", fmt.Errorf("demo forge: no branch %q in %s/%s", branch, owner, name)
	}
	tree, err := repo.writeTree(files)
	if err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	text := "tree " + tree + "\n"
	if parent := repo.branch(branch); parent != "" {
		text += "parent " + parent + "\n"
	}
	text += "author " + commitStamp + "\ncommitter " + commitStamp + "\n\n" + strings.TrimSpace(message) + "\n"
	sha, err := repo.writeObject("commit", []byte(text))
	if err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	ref := filepath.Join(repo.dir, "refs", "heads", filepath.FromSlash(branch))
	if err := os.MkdirAll(filepath.Dir(ref), 0o755); err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	if err := os.WriteFile(ref, []byte(sha+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	return sha, nil
}

// Branch is the commit id at the tip of a branch; "" when there is no such
// branch.
func (f *Forge) Branch(owner, name, branch string) string {
	repo := f.lookup(owner, name)
	if repo == nil {
		return ""
	}
	return repo.branch(branch)
}

func validBranch(branch string) bool {
	return fs.ValidPath(branch) && branch != "." && !strings.HasSuffix(branch, ".lock") && !strings.ContainsAny(branch, "\\ ~^:?*[\x00\n")
}

func (r *repository) branch(branch string) string {
	if !validBranch(branch) {
		return ""
	}
	if raw, err := os.ReadFile(filepath.Join(r.dir, "refs", "heads", filepath.FromSlash(branch))); err == nil {
		return strings.TrimSpace(string(raw))
	}
	packed, err := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == "refs/heads/"+branch {
			return sha
		}
	}
	return ""
}

// maxWalk bounds how much history is read to tell a pull request's commits.
const maxWalk = 2000

// commitsBetween lists what head has and base has not, newest first. Commits
// that stand in a pack are not read: history ends there, and a head that does
// is listed by its id alone.
func (r *repository) commitsBetween(base, head string) []Commit {
	seen := map[string]bool{}
	r.walk(base, seen, func(Commit) {})
	var list []Commit
	r.walk(head, seen, func(c Commit) { list = append(list, c) })
	return list
}

func (r *repository) walk(from string, seen map[string]bool, visit func(Commit)) {
	queue := []string{from}
	for n := 0; len(queue) > 0 && n < maxWalk; n++ {
		sha := queue[0]
		queue = queue[1:]
		if sha == "" || seen[sha] {
			continue
		}
		seen[sha] = true
		kind, data, err := r.readObject(sha)
		if err != nil || kind != "commit" {
			if sha == from {
				visit(Commit{SHA: sha})
			}
			continue
		}
		commit, parents := parseCommit(sha, data)
		visit(commit)
		queue = append(queue, parents...)
	}
}

func parseCommit(sha string, data []byte) (Commit, []string) {
	commit := Commit{SHA: sha}
	var parents []string
	header, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(header) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "parent":
			parents = append(parents, rest)
		case "author":
			if end := strings.LastIndex(rest, "> "); end >= 0 {
				commit.Author = rest[:end+1]
			}
		}
	}
	commit.Subject, _, _ = strings.Cut(message, "\n")
	return commit, parents
}

var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (r *repository) objectPath(sha string) string {
	return filepath.Join(r.dir, "objects", sha[:2], sha[2:])
}

func (r *repository) readObject(sha string) (kind string, data []byte, err error) {
	if !objectID.MatchString(sha) {
		return "", nil, fmt.Errorf("%q is no object id", sha)
	}
	file, err := os.Open(r.objectPath(sha))
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

func (r *repository) writeObject(kind string, data []byte) (string, error) {
	raw := fmt.Appendf(nil, "%s %d\x00", kind, len(data))
	raw = append(raw, data...)
	sum := sha1.Sum(raw) //nolint:gosec // git names its objects by SHA-1
	sha := hex.EncodeToString(sum[:])
	path := r.objectPath(sha)
	if _, err := os.Stat(path); err == nil {
		return sha, nil
	}
	var deflated bytes.Buffer
	writer := zlib.NewWriter(&deflated)
	if _, err := writer.Write(raw); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return sha, os.WriteFile(path, deflated.Bytes(), 0o444)
}

type treeEntry struct{ mode, name, sha string }

// writeTree writes the tree of files and everything below it.
func (r *repository) writeTree(files map[string]File) (string, error) {
	var entries []treeEntry
	below := map[string]map[string]File{}
	for path, file := range files {
		if !fs.ValidPath(path) || path == "." {
			return "", fmt.Errorf("%q is no path", path)
		}
		dir, rest, deeper := strings.Cut(path, "/")
		if deeper {
			if below[dir] == nil {
				below[dir] = map[string]File{}
			}
			below[dir][rest] = file
			continue
		}
		sha, err := r.writeObject("blob", []byte(file.Content))
		if err != nil {
			return "", err
		}
		mode := "100644"
		if file.Executable {
			mode = "100755"
		}
		entries = append(entries, treeEntry{mode, path, sha})
	}
	for dir, inner := range below {
		sha, err := r.writeTree(inner)
		if err != nil {
			return "", err
		}
		entries = append(entries, treeEntry{"40000", dir, sha})
	}
	// Git sorts a directory as if its name ended in a slash.
	sortName := func(e treeEntry) string {
		if e.mode == "40000" {
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
