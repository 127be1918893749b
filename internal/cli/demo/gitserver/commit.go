package gitserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is one file of a commit.
type File struct {
	Content    string
	Executable bool
}

// stamp stands in every commit that Commit makes, so that its ids are the same
// every time.
const stamp = "Ralph Demo <demo@localhost> 1767225600 +0000"

// Commit puts a commit on a branch, which is created if it does not exist, and
// returns its id. files is the whole tree, by slash-separated path.
func (r Repository) Commit(branch, message string, files map[string]File) (string, error) {
	if !ValidBranch(branch) {
		return "", fmt.Errorf("%q is no branch name", branch)
	}
	tree, err := r.writeFiles(files)
	if err != nil {
		return "", err
	}
	text := "tree " + tree + "\n"
	if parent := r.Branch(branch); parent != "" {
		text += "parent " + parent + "\n"
	}
	text += "author " + stamp + "\ncommitter " + stamp + "\n\n" + strings.TrimSpace(message) + "\n"
	sha, err := r.Write("commit", []byte(text))
	if err != nil {
		return "", err
	}
	ref := filepath.Join(r.Dir, "refs", "heads", filepath.FromSlash(branch))
	return sha, errors.Join(os.MkdirAll(filepath.Dir(ref), 0o755), os.WriteFile(ref, []byte(sha+"\n"), 0o644))
}

// writeFiles writes the tree of files and everything below it.
func (r Repository) writeFiles(files map[string]File) (string, error) {
	var entries []Entry
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
		sha, err := r.Write("blob", []byte(file.Content))
		if err != nil {
			return "", err
		}
		mode := "100644"
		if file.Executable {
			mode = "100755"
		}
		entries = append(entries, Entry{mode, path, sha})
	}
	for dir, inner := range below {
		sha, err := r.writeFiles(inner)
		if err != nil {
			return "", err
		}
		entries = append(entries, Entry{"40000", dir, sha})
	}
	return r.WriteTree(entries)
}

// ValidBranch reports whether a name can be a branch of a file's name.
func ValidBranch(branch string) bool {
	return fs.ValidPath(branch) && branch != "." && !strings.HasSuffix(branch, ".lock") && !strings.ContainsAny(branch, "\\ ~^:?*[\x00\n")
}

// Branch returns the tip of a branch, or "" if there is no such branch.
func (r Repository) Branch(branch string) string {
	if !ValidBranch(branch) {
		return ""
	}
	if sha, err := os.ReadFile(filepath.Join(r.Dir, "refs", "heads", filepath.FromSlash(branch))); err == nil && len(sha) >= 40 {
		return string(sha[:40])
	}
	return r.Heads()[branch]
}

// Heads returns the branches and their tips. It reads them as git's files backend
// writes them, because they are asked for after every write.
func (r Repository) Heads() map[string]string {
	tips := map[string]string{}
	const prefix = "refs/heads/"
	if packed, err := os.ReadFile(filepath.Join(r.Dir, "packed-refs")); err == nil {
		for line := range strings.Lines(string(packed)) {
			if sha, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(ref, prefix) {
				tips[strings.TrimPrefix(ref, prefix)] = sha
			}
		}
	}
	root := filepath.Join(r.Dir, "refs", "heads")
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil //nolint:nilerr // it went away meanwhile
		}
		if sha, err := os.ReadFile(path); err == nil && len(sha) >= 40 { //nolint:gosec // a folder of the server's own
			name, _ := filepath.Rel(root, path) // it lies below
			tips[filepath.ToSlash(name)] = string(sha[:40])
		}
		return nil
	})
	return tips
}
