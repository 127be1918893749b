package fakegithub

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
)

// Repository is one repository. Fields are set before the first request.
type Repository struct {
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
	gone        string // the name git knows it by, when it was renamed
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
	if _, err := f.git.CreateRepository(context.Background(), owner, name, "main"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Repository{
		forge: f, id: f.id(), Owner: owner, Name: name, DefaultBranch: "main", Private: true, AllowAutoMerge: true,
		permissions: map[string]string{strings.ToLower(owner): "admin"}, milestones: map[int]string{}, statuses: map[string][]Status{},
		tips: map[string]string{},
	}
	f.userLocked(owner)
	f.repos = append(f.repos, r)
	return r, nil
}

// Fork makes a fork, with the branches of its parent.
func (r *Repository) Fork(owner, name string) (*Repository, error) {
	fork, err := r.forge.NewRepository(owner, name)
	if err != nil {
		return nil, err
	}
	fork.Parent, fork.Private, fork.DefaultBranch = r, r.Private, r.DefaultBranch
	_, err = r.gitIn(fork.dir(), "fetch", "-q", r.dir(), "+refs/heads/*:refs/heads/*")
	return fork, err
}

// FullName is owner/name.
func (r *Repository) FullName() string { return r.Owner + "/" + r.Name }

// URL is the address people and git use, without ".git".
func (r *Repository) URL() string { return r.forge.URL + "/" + r.FullName() }

// dir is the bare repository.
func (r *Repository) dir() string {
	return filepath.Join(r.forge.dir, filepath.FromSlash(r.path())+".git")
}

// path is the name git serves it by.
func (r *Repository) path() string {
	if r.gone != "" {
		return r.gone
	}
	return r.FullName()
}

// Dir is the folder of the bare repository, for tests that look with git.
func (r *Repository) Dir() string { return r.dir() }

// Commit puts a commit on a branch, which is created when needed; files is the
// whole tree.
func (r *Repository) Commit(branch, message string, files map[string]demo.File) (string, error) {
	owner, name, _ := strings.Cut(r.path(), "/")
	return r.forge.git.Commit(owner, name, branch, message, files)
}

// Branch is the tip of a branch; empty when there is none.
func (r *Repository) Branch(branch string) string {
	if sha, err := os.ReadFile(filepath.Join(r.dir(), "refs", "heads", filepath.FromSlash(branch))); err == nil && len(sha) >= 40 {
		return string(sha[:40])
	}
	return r.heads()[branch]
}

// Branches are all branches, sorted.
func (r *Repository) Branches() []string { return slices.Sorted(maps.Keys(r.heads())) }

// DeleteBranch does what the button of a merged pull request does.
func (r *Repository) DeleteBranch(branch string) error {
	_, err := r.git("update-ref", "-d", "refs/heads/"+branch)
	r.settle()
	return err
}

// Archive makes the repository read-only.
func (r *Repository) Archive() { r.forge.mu.Lock(); r.archived = true; r.forge.mu.Unlock() }

// Rename gives the repository a new name; the old one redirects.
func (r *Repository) Rename(name string) {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	if r.gone == "" {
		r.gone = r.FullName()
	}
	r.forge.moved[strings.ToLower(r.FullName())] = r
	r.Name = name
}

// Protect makes branches refuse pushes.
func (r *Repository) Protect(branches ...string) {
	r.forge.mu.Lock()
	r.protected = append(r.protected, branches...)
	r.forge.mu.Unlock()
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
	r.forge.mu.Lock()
	r.rules = append(r.rules, rule{kind, bypass, branches})
	r.forge.mu.Unlock()
}

// refuses says whether pushes to a branch are refused.
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
	r.forge.mu.Lock()
	r.forge.userLocked(login)
	r.permissions[strings.ToLower(login)] = level
	r.forge.mu.Unlock()
}

// AddMilestone makes a milestone exist.
func (r *Repository) AddMilestone(number int, title string) {
	r.forge.mu.Lock()
	r.milestones[number] = title
	r.forge.mu.Unlock()
}

// AddTeam makes a team, by its slug, one that may review.
func (r *Repository) AddTeam(slug string) {
	r.forge.mu.Lock()
	r.teams = append(r.teams, slug)
	r.forge.mu.Unlock()
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
func (r *Repository) json(base string, token *Token) map[string]any {
	api := base + "/api/v3/repos/" + r.FullName()
	html := base + "/" + r.FullName()
	out := map[string]any{
		"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": r.Name, "full_name": r.FullName(),
		"owner": r.forge.userLocked(r.Owner).json(base), "private": r.Private, "visibility": visibility(r.Private),
		"html_url": html, "description": nil, "fork": r.Parent != nil, "url": api, "default_branch": r.DefaultBranch,
		"archived": r.archived, "disabled": false, "is_template": false, "topics": []string{}, "license": nil, "homepage": nil, "language": nil, "mirror_url": nil,
		"forks": 0, "forks_count": 0, "watchers": 0, "watchers_count": 0, "stargazers_count": 0, "open_issues": 0, "open_issues_count": 0,
		"subscribers_count": 0, "network_count": 0, "size": 1, "has_issues": true, "has_projects": true, "has_downloads": true, "has_wiki": true, "has_pages": false, "has_discussions": false,
		"allow_forking": true, "web_commit_signoff_required": false,
		"clone_url": html + ".git", "git_url": "git:" + html + ".git", "ssh_url": "git@host:" + r.FullName() + ".git", "svn_url": html,
		"allow_squash_merge": true, "allow_merge_commit": true, "allow_rebase_merge": true, "allow_auto_merge": r.AllowAutoMerge, "delete_branch_on_merge": false,
		"created_at": stamp, "updated_at": stamp, "pushed_at": stamp,
	}
	for field, path := range repositoryURLs {
		out[field] = api + path
	}
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

func visibility(private bool) string {
	if private {
		return "private"
	}
	return "public"
}

// stamp is when everything was made: dates decide nothing here.
const stamp = "2026-01-01T00:00:00Z"

func now() string { return time.Now().UTC().Format(time.RFC3339) }

var repositoryURLs = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}", "branches_url": "/branches{/branch}",
	"collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}", "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
	"contents_url": "/contents/{+path}", "contributors_url": "/contributors", "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
	"forks_url": "/forks", "git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}", "hooks_url": "/hooks",
	"issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}", "issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}",
	"labels_url": "/labels{/name}", "languages_url": "/languages", "merges_url": "/merges", "milestones_url": "/milestones{/number}",
	"notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}", "stargazers_url": "/stargazers",
	"statuses_url": "/statuses/{sha}", "subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams", "trees_url": "/git/trees{/sha}",
}

func (f *Forge) getRepository(c *call) {
	c.answer(http.StatusOK, c.repo.json(c.base, c.token))
}

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
