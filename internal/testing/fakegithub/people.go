package fakegithub

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit is what a person does to a file of a branch, which begins at the default
// branch when it is a new one: a commit with new content, or without the file when
// that is nil.
func (r *Repository) Edit(branch, path string, content *string) error {
	return r.edit(branch, path, content, false)
}

// Amend is Edit within the last commit, force-pushed.
func (r *Repository) Amend(branch, path, content string) error {
	return r.edit(branch, path, &content, true)
}

func (r *Repository) edit(branch, path string, content *string, amend bool) error {
	tip := cmp.Or(r.Branch(branch), r.Branch(r.DefaultBranch))
	change := []string{"update-index", "--force-remove", path}
	if content != nil {
		blob, err := r.Write("blob", []byte(*content))
		if err != nil {
			return err
		}
		change = []string{"update-index", "--add", "--cacheinfo", "100644," + blob + "," + path}
	}
	tree, err := r.staged(tip, change...)
	if err != nil {
		return err
	}
	who := person{"A Person", "person@example.com", "1767225600 +0000"}
	commit := commitObject{tree: tree, parents: []string{tip}, author: who, committer: who, message: fmt.Sprintf("%s: %s\n", branch, path)}
	if amend {
		_, data, err := r.read(tip)
		if err != nil {
			return err
		}
		commit.parents = parseCommit(data).parents
	}
	sha, err := r.write(commit)
	if err == nil {
		_, err = r.git("update-ref", "refs/heads/"+branch, sha)
	}
	r.settle()
	return err
}

// staged is the tree of a commit after a command of git has changed its index.
func (r *Repository) staged(commit string, change ...string) (tree string, err error) {
	dir, err := os.MkdirTemp(r.Dir, "index-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var out []byte
	for _, args := range [][]string{{"read-tree", commit}, change, {"write-tree"}} {
		if out, err = r.gitEnv([]string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_WORK_TREE=" + dir}, args...); err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// picked is the tree of a commit with what another one changed.
func (r *Repository) picked(onto, sha string) (tree string, err error) {
	patch, err := r.gitRaw("diff-tree", "-p", "--binary", "--full-index", sha+"^", sha)
	if err != nil {
		return "", err
	}
	if len(patch) == 0 {
		return r.git("rev-parse", onto+"^{tree}")
	}
	file, err := os.CreateTemp(r.Dir, "patch-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(patch)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return r.staged(onto, "apply", "--cached", file.Name())
}

// Proposed are the files that a pull request from a branch would show.
func (r *Repository) Proposed(branch, base string) []string {
	out, err := r.git("diff", "--name-only", base+"..."+branch)
	if err != nil || out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// RebaseMerge does what the button does: the commits anew on the base.
func (r *Repository) RebaseMerge(number int) (string, error) {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	one, err := r.pullLocked(number)
	if err != nil {
		return "", err
	}
	p := one.pull
	base := r.Branch(p.base)
	list, err := r.git("rev-list", "--reverse", base+".."+p.headSHA)
	if err != nil {
		return "", err
	}
	at := base
	for _, sha := range strings.Fields(list) {
		_, data, err := r.read(sha)
		if err != nil {
			return "", err
		}
		commit := parseCommit(data)
		tree, err := r.picked(at, sha)
		if err != nil {
			return "", err
		}
		commit.tree, commit.parents, commit.committer = tree, []string{at}, person{"GitHub", "noreply@github.com", "1767225600 +0000"}
		if at, err = r.write(commit); err != nil {
			return "", err
		}
	}
	return at, r.merged(one, base, at)
}

// Retarget gives a pull request another base.
func (r *Repository) Retarget(number int, base string) error {
	return r.changePull(number, func(one *issue) { one.pull.base = base })
}

// Retitle gives a pull request another title.
func (r *Repository) Retitle(number int, title string) error {
	return r.changePull(number, func(one *issue) { one.title = title })
}
