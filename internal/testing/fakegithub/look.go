package fakegithub

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/testing/barerepo"
)

// Commit is one commit of a branch.
type Commit = barerepo.Commit

// PullRequest is a copy of a pull request as the forge holds it.
type PullRequest struct {
	Number                        int
	Title, Body, State, Author    string
	Head, HeadRepository, HeadSHA string // branch, owner/name, commit
	Base                          string // branch
	Draft, Locked, Merged         bool
	MaintainerCanModify           bool
	AutoMerge                     string // method; empty: off
	Labels, Assignees             []string
	Reviewers, Teams              []string
	Milestone                     int
	Comments                      []Comment
	Commits                       []Commit // what head has and base has not, newest first
}

// Comment is a comment of an issue or a pull request.
type Comment struct {
	ID           int64
	Author, Body string
	Edits        int
}

// Pulls are the pull requests, oldest first.
func (r *Repository) Pulls() []PullRequest {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	var list []PullRequest
	for _, one := range r.issues {
		p := one.pull
		if p == nil {
			continue
		}
		list = append(list, PullRequest{
			Number: one.number, Title: one.title, Body: one.body, State: one.state, Author: one.author.login,
			Head: p.head, HeadRepository: p.headRepo.FullName(), HeadSHA: p.headSHA, Base: p.base,
			Draft: p.draft, Locked: one.locked, Merged: p.merged != "", MaintainerCanModify: p.mayEdit, AutoMerge: p.auto,
			Labels: slices.Clone(one.labels), Assignees: slices.Clone(one.assignees), Reviewers: slices.Clone(p.asked), Teams: slices.Clone(p.teams),
			Milestone: one.milestone, Comments: one.said(), Commits: r.between(r.Branch(p.base), p.headSHA),
		})
	}
	return list
}

// Open are the open pull requests.
func (r *Repository) Open() []PullRequest {
	return slices.DeleteFunc(r.Pulls(), func(p PullRequest) bool { return p.State != "open" })
}

func (i *issue) said() []Comment {
	return list(i.comments, func(c *comment) Comment { return Comment{c.id, c.author.login, c.body, c.edits} })
}

// Issues is how many issues and pull requests there are; their numbers begin at 1.
func (r *Repository) Issues() int {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	return len(r.issues)
}

// Comments are those of an issue or pull request, oldest first.
func (r *Repository) Comments(number int) []Comment {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	if number < 1 || number > len(r.issues) {
		return nil
	}
	return r.issues[number-1].said()
}

// Log lists what a branch has and another has not, newest first.
func (r *Repository) Log(base, branch string) []Commit {
	return r.between(r.Branch(base), r.Branch(branch))
}

// Tree is the id of a branch's tree; empty when there is no such branch.
func (r *Repository) Tree(branch string) string {
	out, _ := r.git("rev-parse", "-q", "--verify", "refs/heads/"+branch+"^{tree}") // "" is none
	return out
}

// Files lists a branch's files with their modes, as "100644 path", sorted.
func (r *Repository) Files(branch string) []string {
	out, err := r.git("-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(path)", "refs/heads/"+branch)
	if err != nil || out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// Content is a file of a branch; empty when there is none.
func (r *Repository) Content(branch, path string) string {
	out, _ := r.gitRaw("cat-file", "blob", "refs/heads/"+branch+":"+path) // nothing is none
	return string(out)
}
