package fakegithub

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// pull is what a pull request has beyond an issue; guarded by Forge.mu.
type pull struct {
	head     string
	headRepo *Repository
	headSHA  string // as it was last
	base     string
	draft    bool
	mayEdit  bool
	merged   string   // the commit it came in with; empty: not merged
	asked    []string // for a review
	reviews  []review
	teams    []string
	auto     string // the method of auto-merge; empty: off
}

func withPull(next func(*call)) func(*call) {
	return withIssue(func(c *call) {
		if c.issue.pull == nil {
			c.refuse(http.StatusNotFound, "Not Found")
			return
		}
		next(c)
	})
}

func (r *Repository) node(one *issue) string { return fmt.Sprintf("PR_%d_%d", r.id, one.number) }

// side is head or base of a pull request.
func (c *call) side(repo *Repository, branch, sha string) map[string]any {
	return map[string]any{
		"label": repo.Owner + ":" + branch, "ref": branch, "sha": sha, "repo": repo.json(c.base, c.token), "user": c.f.userLocked(repo.Owner).json(c.base),
	}
}

// pullJSON is the schema pull-request, or pull-request-simple of lists.
func (c *call) pullJSON(one *issue, simple bool) map[string]any {
	operation := "GET /repos/{owner}/{repo}/pulls/{pull_number}"
	if simple {
		operation = "GET /repos/{owner}/{repo}/pulls"
	}
	out := c.f.example(operation, http.StatusOK)
	p := one.pull
	c.common(out, one)
	out["node_id"], out["draft"], out["issue_url"] = c.repo.node(one), p.draft, fmt.Sprintf("%s/api/v3/repos/%s/issues/%d", c.base, c.repo.FullName(), one.number)
	out["head"], out["base"] = c.side(p.headRepo, p.head, p.headSHA), c.side(c.repo, p.base, c.repo.Branch(p.base))
	out["requested_reviewers"], out["requested_teams"] = c.users(p.asked), c.teams(p.teams)
	out["merged_at"], out["merge_commit_sha"], out["auto_merge"] = nil, nil, nil
	if p.auto != "" {
		out["auto_merge"] = map[string]any{"enabled_by": c.f.userLocked(c.token.Login).json(c.base), "merge_method": p.auto, "commit_title": one.title, "commit_message": ""}
	}
	if p.merged != "" {
		out["merged_at"], out["merge_commit_sha"] = stamp, p.merged
	}
	if !simple {
		out["merged"], out["merged_by"], out["mergeable"], out["maintainer_can_modify"] = p.merged != "", nil, true, p.mayEdit
		out["comments"], out["commits"] = len(one.comments), len(c.repo.between(c.repo.Branch(p.base), p.headSHA))
	}
	return out
}

func (c *call) teams(slugs []string) []map[string]any {
	list := []map[string]any{}
	for i, slug := range slugs {
		list = append(list, map[string]any{
			"id": i + 1, "node_id": "T_" + slug, "name": slug, "slug": slug, "description": nil, "permission": "push", "privacy": "closed", "notification_setting": "notifications_enabled",
			"url": c.base + "/api/v3/teams/1", "html_url": c.base + "/orgs/" + c.repo.Owner + "/teams/" + slug, "members_url": c.base + "/api/v3/teams/1/members{/member}",
			"repositories_url": c.base + "/api/v3/teams/1/repos", "parent": nil, "type": "organization",
		})
	}
	return list
}

func (f *Forge) getPull(c *call) { c.answer(http.StatusOK, c.pullJSON(c.issue, false)) }

// listPulls filters by head (owner:branch), base and state. A head without an
// owner is ignored, as GitHub ignores it; two forks of one owner share theirs.
func (f *Forge) listPulls(c *call) {
	query := c.r.URL.Query()
	state := query.Get("state")
	if state == "" {
		state = "open"
	}
	owner, head, byHead := strings.Cut(query.Get("head"), ":")
	base := query.Get("base")
	var found []*issue
	for _, one := range c.repo.issues {
		p := one.pull
		switch {
		case p == nil, state != "all" && one.state != state, base != "" && p.base != base:
		case byHead && (p.head != head || !strings.EqualFold(p.headRepo.Owner, owner)):
		default:
			found = append(found, one)
		}
	}
	// Everything was made at one time here, so only created is an order.
	if direction := query.Get("direction"); direction == "desc" || direction == "" && (query.Get("sort") == "" || query.Get("sort") == "created") {
		slices.Reverse(found)
	}
	list := []map[string]any{}
	for _, one := range page(c, found) {
		list = append(list, c.pullJSON(one, true))
	}
	c.answer(http.StatusOK, list)
}

type newPull struct {
	Title, Body, Head, Base string
	HeadRepo                string `json:"head_repo"`
	Draft                   bool
	MayEdit                 *bool `json:"maintainer_can_modify"`
	Issue                   int
}

func (f *Forge) createPull(c *call) {
	var in newPull
	if !c.read(&in) {
		return
	}
	const kind = "PullRequest"
	headRepo, head := c.repo, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		name := c.repo.Name
		if in.HeadRepo != "" {
			name = path.Base(in.HeadRepo) // GitHub takes the name and owner/name
		} else if !strings.EqualFold(owner, c.repo.Owner) {
			name = c.repo.forkOf(owner)
		}
		headRepo, _ = f.find(owner, name)
		head = branch
	}
	base := c.repo.Branch(in.Base)
	tip := ""
	if headRepo != nil {
		tip = headRepo.Branch(head)
	}
	switch {
	case c.repo.MayNotOpen && c.token.app() && c.token.Login == actionsBot:
		c.refuse(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests.")
	case in.Title == "":
		c.invalid(kind, "title", "missing_field")
	case utf8.RuneCountInString(in.Title) > 256:
		c.custom(kind, "title is too long (maximum is 256 characters)")
	case utf8.RuneCountInString(in.Body) > 65536:
		c.custom(kind, "body is too long (maximum is 65536 characters)")
	case tip == "":
		c.invalid(kind, "head", "invalid")
	case base == "":
		c.invalid(kind, "base", "invalid")
	case c.repo.contains(headRepo, base, tip):
		c.custom(kind, fmt.Sprintf("No commits between %s and %s", in.Base, in.Head))
	case in.Draft && c.repo.NoDrafts:
		c.refuse(http.StatusUnprocessableEntity, "Draft pull requests are not supported in this repository.")
	case c.repo.open(headRepo, head, in.Base) != nil:
		c.custom(kind, fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.Owner, head))
	default:
		one := c.repo.add(&issue{title: in.Title, body: in.Body, author: f.userLocked(c.token.Login), pull: &pull{
			head: head, headRepo: headRepo, headSHA: tip, base: in.Base, draft: in.Draft, mayEdit: headRepo != c.repo && (in.MayEdit == nil || *in.MayEdit),
		}})
		answer := c.pullJSON(one, false)
		c.w.Header().Set("Location", fmt.Sprint(answer["url"]))
		c.answer(http.StatusCreated, answer)
	}
}

// forkOf is the name of an owner's fork; of several one that GitHub takes at will.
func (r *Repository) forkOf(owner string) string {
	for _, other := range r.forge.repos {
		if other.Parent == r && strings.EqualFold(other.Owner, owner) {
			return other.Name
		}
	}
	return r.Name
}

// open is the open pull request between two branches; nil: none.
func (r *Repository) open(headRepo *Repository, head, base string) *issue {
	for _, one := range r.issues {
		if p := one.pull; p != nil && one.state == "open" && p.headRepo == headRepo && p.head == head && p.base == base {
			return one
		}
	}
	return nil
}

func (f *Forge) updatePull(c *call) {
	var in struct {
		Title, Body, State, Base *string
		MayEdit                  *bool `json:"maintainer_can_modify"`
	}
	if !c.read(&in) {
		return
	}
	p := c.issue.pull
	switch {
	case in.Body != nil && utf8.RuneCountInString(*in.Body) > 65536:
		c.custom("PullRequest", "body is too long (maximum is 65536 characters)")
		return
	case in.State != nil && *in.State != "open" && *in.State != "closed":
		c.invalid("PullRequest", "state", "invalid")
		return
	case in.State != nil && *in.State == "open" && p.merged != "":
		c.custom("PullRequest", "state cannot be changed. The pull request cannot be reopened.")
		return
	case in.Base != nil && c.repo.Branch(*in.Base) == "":
		c.invalid("PullRequest", "base", "invalid")
		return
	}
	for _, set := range []struct{ to, from *string }{{&c.issue.title, in.Title}, {&c.issue.body, in.Body}, {&c.issue.state, in.State}, {&p.base, in.Base}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if in.MayEdit != nil && p.headRepo != c.repo {
		p.mayEdit = *in.MayEdit
	}
	c.answer(http.StatusOK, c.pullJSON(c.issue, false))
}

func (f *Forge) pullCommits(c *call) {
	list := []map[string]any{}
	for _, one := range slices.Backward(c.repo.between(c.repo.Branch(c.issue.pull.base), c.issue.pull.headSHA)) {
		list = append(list, c.fullCommit(one.SHA))
	}
	c.answer(http.StatusOK, page(c, list))
}

// pullsOfCommit lists the open pull requests that have a commit, and the one that
// brought it into the default branch.
func (f *Forge) pullsOfCommit(c *call) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	list := []map[string]any{}
	for _, one := range c.repo.issues {
		if p := one.pull; p != nil && (p.headSHA == sha || p.merged == sha) {
			list = append(list, c.pullJSON(one, true))
		}
	}
	c.answer(http.StatusOK, page(c, list))
}
