package fakegithub

import (
	"errors"
	"fmt"
	"maps"

	"github.com/org/ralph-action/internal/testing/barerepo"
)

// settle brings the pull requests to what the branches are.
func (r *Repository) settle() {
	r.locked(r.settleLocked)
}

// settleLocked closes the pull requests whose head branch is gone, and marks
// those as merged whose commits the base has gained.
func (r *Repository) settleLocked() {
	heads := r.Heads()
	if maps.Equal(heads, r.tips) {
		return
	}
	before := r.tips
	r.tips = heads
	for _, base := range r.forge.repos {
		for _, one := range base.issues {
			p := one.pull
			if p == nil || one.state != "open" {
				continue
			}
			if p.headRepo == r {
				if heads[p.head] == "" {
					one.state = "closed"
					continue
				}
				p.headSHA = heads[p.head]
			}
			if base == r && heads[p.base] != before[p.base] && before[p.base] != "" {
				if barerepo.Reaches(r.Repository, heads[p.base], p.headSHA) {
					one.state, p.merged = "closed", heads[p.base]
				}
			}
		}
	}
}

// between lists what head has and base has not, newest first.
func (r *Repository) between(base, head string) []Commit {
	return barerepo.Between(r.Repository, base, head)
}

// contains reports whether base has all of head, which may lie in a fork: then it is
// brought over first, as GitHub's forks share their objects.
func (r *Repository) contains(from *Repository, base, head string) bool {
	if from != r {
		if _, err := r.git("fetch", "-q", from.Dir, head+":refs/forks/"+head); err != nil {
			return false
		}
	}
	return barerepo.Reaches(r.Repository, base, head)
}

// SquashMerge does what the button does: one commit on the base with the tree of
// the merge. The head branch stays.
func (r *Repository) SquashMerge(number int) (string, error) { return r.merge(number, true) }

// Merge merges with a merge commit.
func (r *Repository) Merge(number int) (string, error) { return r.merge(number, false) }

func (r *Repository) merge(number int, squash bool) (string, error) {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	one, err := r.pullLocked(number)
	if err != nil {
		return "", err
	}
	p := one.pull
	base := r.Branch(p.base)
	tree, err := r.git("merge-tree", "--write-tree", base, p.headSHA)
	if err != nil {
		return "", err
	}
	who := person{"A Person", "person@example.com", "1767225600 +0000"}
	commit := commitObject{tree: tree, parents: []string{base}, author: who, committer: who, message: fmt.Sprintf("%s (#%d)\n", one.title, one.number)}
	if !squash {
		commit.parents = append(commit.parents, p.headSHA)
		commit.message = fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s\n", one.number, p.headRepo.Owner, p.head, one.title)
	}
	sha, err := r.write(commit)
	if err != nil {
		return "", err
	}
	return sha, r.merged(one, base, sha)
}

// merged moves the base of a pull request from a commit to the one it came in with.
func (r *Repository) merged(one *issue, from, to string) error {
	if _, err := r.git("update-ref", "refs/heads/"+one.pull.base, to, from); err != nil {
		return err
	}
	one.state, one.pull.merged = "closed", to
	r.settleLocked()
	return nil
}

// ClosePull closes a pull request without merging it.
func (r *Repository) ClosePull(number int) error {
	return r.changePull(number, func(one *issue) { one.state = "closed" })
}

// changePull does something to a pull request.
func (r *Repository) changePull(number int, do func(*issue)) error {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	one, err := r.pullLocked(number)
	if err == nil {
		do(one)
	}
	return err
}

var errNoPull = errors.New("no such pull request")

func (r *Repository) pullLocked(number int) (*issue, error) {
	if number < 1 || number > len(r.issues) || r.issues[number-1].pull == nil {
		return nil, fmt.Errorf("#%d: %w", number, errNoPull)
	}
	return r.issues[number-1], nil
}

// NewPull opens somebody's own pull request and returns its number.
func (r *Repository) NewPull(author, head, base, title, body string) int {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	return r.add(&issue{title: title, body: body, author: r.forge.userLocked(author), pull: &pull{
		head: head, headRepo: r, headSHA: r.Branch(head), base: base,
	}}).number
}

// SetDraft makes a pull request a draft.
func (r *Repository) SetDraft(number int) {
	r.locked(func() { r.issues[number-1].pull.draft = true })
}

// NewForkPull opens a pull request from a fork.
func (r *Repository) NewForkPull(fork *Repository, author, head, base, title, body string) int {
	number := r.NewPull(author, head, base, title, body)
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	p := r.issues[number-1].pull
	p.headRepo, p.headSHA = fork, fork.Branch(head)
	r.contains(fork, r.Branch(base), p.headSHA)
	return number
}
