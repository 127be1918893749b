package fakegithub

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// Repository is one repository. Fields are set before the first request.
type Repository struct {
	gitserver.Repository
	forge *Forge
	id    int64

	Owner, Name   string
	DefaultBranch string
	Private       bool
	Parent        *Repository // of a fork; nil: no fork
	// MayNotOpen is the setting that forbids GITHUB_TOKEN to open pull requests.
	MayNotOpen     bool
	AllowAutoMerge bool
	NoDrafts       bool // the plan has none

	// Below: guarded by forge.mu.
	archived    bool
	permissions map[string]string
	protected   []string
	rules       []rule // each a ruleset of its own; the id is the index and 1
	milestones  map[int]string
	teams       []string
	issues      []*issue // pull requests, too; the number is the index and 1
	statuses    map[string][]Status
	runs        []*run
	ci          func(sha string) []Check
	tips        map[string]string // as the last write left them
}

// NewRepository makes an empty repository with the default branch main, owned by
// octo: no commit, no token.
func (f *Forge) NewRepository(owner, name string) (*Repository, error) {
	git, err := gitserver.Init(filepath.Join(f.dir, owner, name+".git"), "main")
	if err == nil {
		err = os.Mkdir(filepath.Join(git.Dir, "hooks"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(git.Dir, "hooks", "pre-receive"), []byte(hook), 0o755) //nolint:gosec // git runs it
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Repository{
		Repository: git, forge: f, id: f.id(), Owner: owner, Name: name, DefaultBranch: "main", Private: true, AllowAutoMerge: true,
		permissions: map[string]string{strings.ToLower(owner): "admin"}, milestones: map[int]string{}, statuses: map[string][]Status{},
		tips: map[string]string{},
	}
	f.userLocked(owner)
	f.repos = append(f.repos, r)
	return r, nil
}

// locked changes the repository for a test.
func (r *Repository) locked(do func()) {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	do()
}

// Fork makes a fork, with the branches of its parent.
func (r *Repository) Fork(owner, name string) (*Repository, error) {
	fork, err := r.forge.NewRepository(owner, name)
	if err != nil {
		return nil, err
	}
	fork.Parent, fork.Private, fork.DefaultBranch = r, r.Private, r.DefaultBranch
	_, err = fork.git("fetch", "-q", r.Dir, "+refs/heads/*:refs/heads/*")
	return fork, err
}

// FullName is owner/name.
func (r *Repository) FullName() string { return r.Owner + "/" + r.Name }

// URL is the address people and git use, without ".git".
func (r *Repository) URL() string { return r.forge.URL + "/" + r.FullName() }

// Branches are all branches, sorted.
func (r *Repository) Branches() []string { return slices.Sorted(maps.Keys(r.Heads())) }

// DeleteBranch does what the button of a merged pull request does.
func (r *Repository) DeleteBranch(branch string) error {
	_, err := r.git("update-ref", "-d", "refs/heads/"+branch)
	r.settle()
	return err
}

// Archive makes the repository read-only.
func (r *Repository) Archive() { r.locked(func() { r.archived = true }) }

// Rename gives the repository a new name; the old one redirects.
func (r *Repository) Rename(name string) {
	r.locked(func() {
		r.forge.moved[strings.ToLower(r.FullName())] = r
		r.Name = name
	})
}

// Protect makes branches refuse pushes.
func (r *Repository) Protect(branches ...string) {
	r.locked(func() { r.protected = append(r.protected, branches...) })
}

// rule is a rule of a ruleset, of GitHub's type kind.
type rule struct {
	kind, bypass string
	branches     []string
}

// AddRule makes a ruleset with one rule, as "update" or "pull_request", which refuses
// pushes to branches. bypass says whether the one who asks may bypass it, in GitHub's
// words; empty: it is not told, and nobody may.
func (r *Repository) AddRule(kind, bypass string, branches ...string) {
	r.locked(func() { r.rules = append(r.rules, rule{kind, bypass, branches}) })
}

// refuses reports whether pushes to a branch are refused.
func (r *Repository) refuses(branch string) bool {
	return slices.Contains(r.protected, branch) ||
		slices.ContainsFunc(r.rules, func(one rule) bool { return one.bypass != "always" && slices.Contains(one.branches, branch) })
}

func (f *Forge) refuses(r *Repository, branch string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.refuses(branch)
}

// SetPermission gives a user admin, maintain, write, triage, read or none.
func (r *Repository) SetPermission(login, level string) {
	r.locked(func() {
		r.forge.userLocked(login)
		r.permissions[strings.ToLower(login)] = level
	})
}

// AddMilestone makes a milestone exist.
func (r *Repository) AddMilestone(number int, title string) {
	r.locked(func() { r.milestones[number] = title })
}

// AddTeam makes a team, by its slug, one that may review.
func (r *Repository) AddTeam(slug string) {
	r.locked(func() { r.teams = append(r.teams, slug) })
}

// Repository is the one of a name, owner/name, or of an old one; nil: there is none.
func (f *Forge) Repository(fullName string) *Repository {
	owner, name, _ := strings.Cut(fullName, "/")
	f.mu.Lock()
	defer f.mu.Unlock()
	repo, _ := f.find(owner, name)
	return repo
}

// find is called with f.mu held.
func (f *Forge) find(owner, name string) (repo *Repository, moved bool) {
	name = strings.TrimSuffix(name, ".git")
	for _, r := range f.repos {
		if strings.EqualFold(r.Owner, owner) && strings.EqualFold(r.Name, name) {
			return r, false
		}
	}
	repo = f.moved[strings.ToLower(owner+"/"+name)]
	return repo, repo != nil
}

func (r *Repository) collaborator(login string) bool {
	level := r.permissions[strings.ToLower(login)]
	return level != "" && level != "none"
}

// json is GitHub's full-repository, as far as its clients look.
func (r *Repository) json(base string, token *Token) object {
	html := base + "/" + r.FullName()
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	out := r.forge.like("repository", object{
		"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": r.Name, "full_name": r.FullName(), "owner": r.forge.userLocked(r.Owner).json(base),
		"private": r.Private, "visibility": visibility, "html_url": html, "fork": r.Parent != nil, "url": base + "/api/v3/repos/" + r.FullName(),
		"clone_url": html + ".git", "default_branch": r.DefaultBranch, "archived": r.archived, "allow_auto_merge": r.AllowAutoMerge,
	})
	delete(out, "permissions")
	if token != nil {
		level := "write"
		if !token.may("contents", "write") {
			level = "read"
		}
		if !token.app() {
			level = r.permissions[strings.ToLower(token.Login)]
		}
		write := level == "admin" || level == "maintain" || level == "write"
		// An installation has no permissions of a user: all false.
		out["permissions"] = map[string]bool{
			"admin": level == "admin" && !token.app(), "maintain": level == "admin" && !token.app(), "push": write && !token.app(),
			"triage": write && !token.app(), "pull": level != "" && level != "none" && !token.app(),
		}
	}
	if r.Parent != nil {
		out["parent"], out["source"] = r.Parent.json(base, nil), r.Parent.json(base, nil)
	}
	return out
}

// stamp is when everything was made: dates decide nothing here.
const stamp = "2026-01-01T00:00:00Z"

// Calls are the calls of the API so far, as "METHOD /path status".
func (r *Repository) Calls() []string {
	var list []string
	for _, c := range r.forge.APICalls() {
		list = append(list, c.String())
	}
	return list
}

// Forge is where the repository lies.
func (r *Repository) Forge() *Forge { return r.forge }
