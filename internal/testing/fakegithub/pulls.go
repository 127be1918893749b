package fakegithub

import (
	"cmp"
	"fmt"
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

func (r *Repository) node(one *issue) string { return fmt.Sprintf("PR_%d_%d", r.id, one.number) }

// side is head or base of a pull request.
func (c *call) side(repo *Repository, branch, sha string) object {
	return object{
		"label": repo.Owner + ":" + branch, "ref": branch, "sha": sha, "repo": repo.json(c.base, c.token), "user": c.f.userLocked(repo.Owner).json(c.base),
	}
}

// simplePull is the schema pull-request-simple, of lists.
func (c *call) simplePull(one *issue) object { return c.pullJSON(one, "pull of a list") }

// pullJSON is like one of GitHub's examples of pull requests.
func (c *call) pullJSON(one *issue, kind string) object {
	out := c.f.like(kind, c.common(one, "pulls"))
	p := one.pull
	out["node_id"], out["draft"], out["issue_url"] = c.repo.node(one), p.draft, c.api("/issues/%d", one.number)
	out["head"], out["base"] = c.side(p.headRepo, p.head, p.headSHA), c.side(c.repo, p.base, c.repo.Branch(p.base))
	out["requested_reviewers"], out["requested_teams"] = c.users(p.asked), c.teams(p.teams)
	out["merged_at"], out["merge_commit_sha"], out["auto_merge"] = nil, nil, nil
	if p.auto != "" {
		out["auto_merge"] = object{"enabled_by": c.f.userLocked(c.token.Login).json(c.base), "merge_method": p.auto, "commit_title": one.title, "commit_message": ""}
	}
	if p.merged != "" {
		out["merged_at"], out["merge_commit_sha"] = stamp, p.merged
	}
	return out
}

// fullPull is the schema pull-request.
func (c *call) fullPull(one *issue) object {
	out, p := c.pullJSON(one, "pull"), one.pull
	out["merged"], out["merged_by"], out["mergeable"], out["maintainer_can_modify"] = p.merged != "", nil, true, p.mayEdit
	out["comments"], out["commits"] = len(one.comments), len(c.repo.between(c.repo.Branch(p.base), p.headSHA))
	return out
}

func (c *call) teams(slugs []string) []object {
	return list(slugs, func(slug string) object {
		return object{
			"id": 1, "node_id": "T_" + slug, "name": slug, "slug": slug, "description": nil, "permission": "push", "privacy": "closed", "notification_setting": "notifications_enabled",
			"url": c.base + "/api/v3/teams/1", "html_url": c.base + "/orgs/" + c.repo.Owner + "/teams/" + slug, "members_url": c.base + "/api/v3/teams/1/members{/member}",
			"repositories_url": c.base + "/api/v3/teams/1/repos", "parent": nil, "type": "organization",
		}
	})
}

func (c *call) getPull() reply { return ok(c.fullPull(c.issue)) }

// listPulls filters by head (owner:branch), base and state. A head without an
// owner is ignored, as GitHub ignores it; two forks of one owner share theirs.
func (c *call) listPulls() reply {
	query := c.r.URL.Query()
	state, base := cmp.Or(query.Get("state"), "open"), query.Get("base")
	owner, head, byHead := strings.Cut(query.Get("head"), ":")
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
	return ok(list(page(c, found), c.simplePull))
}

type newPull struct {
	Title, Body, Head, Base string
	HeadRepo                string `json:"head_repo"`
	Draft                   bool
	MayEdit                 *bool `json:"maintainer_can_modify"`
	Issue                   int
}

func (c *call) createPull(in newPull) reply {
	const kind = "PullRequest"
	headRepo, head := c.repo, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		name := c.repo.Name
		if in.HeadRepo != "" {
			name = path.Base(in.HeadRepo) // GitHub takes the name and owner/name
		} else if !strings.EqualFold(owner, c.repo.Owner) {
			name = c.repo.forkOf(owner)
		}
		headRepo, _ = c.f.find(owner, name)
		head = branch
	}
	base, tip := c.repo.Branch(in.Base), ""
	if headRepo != nil {
		tip = headRepo.Branch(head)
	}
	switch {
	case c.repo.MayNotOpen && c.token.app() && c.token.Login == ActionsBot:
		return forbidden("GitHub Actions is not permitted to create or approve pull requests.")
	case in.Title == "":
		return invalid(kind, "title", "missing_field")
	case utf8.RuneCountInString(in.Title) > 256:
		return custom(kind, "title is too long (maximum is 256 characters)")
	case utf8.RuneCountInString(in.Body) > maxText:
		return custom(kind, "body is too long (maximum is 65536 characters)")
	case tip == "":
		return invalid(kind, "head", "invalid")
	case base == "":
		return invalid(kind, "base", "invalid")
	case c.repo.contains(headRepo, base, tip):
		return custom(kind, fmt.Sprintf("No commits between %s and %s", in.Base, in.Head))
	case in.Draft && c.repo.NoDrafts:
		return unprocessable("Draft pull requests are not supported in this repository.")
	case c.repo.open(headRepo, head, in.Base) != nil:
		return custom(kind, fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.Owner, head))
	}
	one := c.repo.add(&issue{title: in.Title, body: in.Body, author: c.f.userLocked(c.token.Login), pull: &pull{
		head: head, headRepo: headRepo, headSHA: tip, base: in.Base, draft: in.Draft, mayEdit: headRepo != c.repo && (in.MayEdit == nil || *in.MayEdit),
	}})
	answer := c.fullPull(one)
	c.w.Header().Set("Location", fmt.Sprint(answer["url"]))
	return created(answer)
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

type pullChange struct {
	Title, Body, State, Base *string
	MayEdit                  *bool `json:"maintainer_can_modify"`
}

func (c *call) updatePull(in pullChange) reply {
	p := c.issue.pull
	switch {
	case in.Body != nil && utf8.RuneCountInString(*in.Body) > maxText:
		return custom("PullRequest", "body is too long (maximum is 65536 characters)")
	case in.State != nil && *in.State != "open" && *in.State != "closed":
		return invalid("PullRequest", "state", "invalid")
	case in.State != nil && *in.State == "open" && p.merged != "":
		return custom("PullRequest", "state cannot be changed. The pull request cannot be reopened.")
	case in.Base != nil && c.repo.Branch(*in.Base) == "":
		return invalid("PullRequest", "base", "invalid")
	}
	set(&c.issue.title, in.Title)
	set(&c.issue.body, in.Body)
	set(&c.issue.state, in.State)
	set(&p.base, in.Base)
	if p.headRepo != c.repo {
		set(&p.mayEdit, in.MayEdit)
	}
	return ok(c.fullPull(c.issue))
}

func (c *call) pullCommits() reply {
	return ok(page(c, c.commitsBetween(c.repo.Branch(c.issue.pull.base), c.issue.pull.headSHA)))
}

// commitsBetween are those that head has and base has not, oldest first.
func (c *call) commitsBetween(base, head string) []object {
	all := list(c.repo.between(base, head), func(one Commit) object { return c.fullCommit(one.SHA) })
	slices.Reverse(all)
	return all
}

// pullsOfCommit lists the open pull requests that have a commit, and the one that
// brought it into the default branch.
func (c *call) pullsOfCommit() reply {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	all := []object{}
	for _, one := range c.repo.issues {
		if p := one.pull; p != nil && (p.headSHA == sha || p.merged == sha) {
			all = append(all, c.simplePull(one))
		}
	}
	return ok(page(c, all))
}

type review struct {
	id    int64
	by    *user
	state string // APPROVED, CHANGES_REQUESTED or COMMENTED
	sha   string
}

// Review is somebody's review of a pull request: APPROVED, CHANGES_REQUESTED or
// COMMENTED. Who reviewed is no longer asked to.
func (r *Repository) Review(number int, login, state string) error {
	return r.changePull(number, func(one *issue) {
		p := one.pull
		p.reviews = append(p.reviews, review{r.forge.id(), r.forge.userLocked(login), state, p.headSHA})
		p.asked = slices.DeleteFunc(p.asked, func(have string) bool { return strings.EqualFold(have, login) })
	})
}

func (c *call) listReviews() reply {
	return ok(page(c, list(c.issue.pull.reviews, func(one review) object {
		return c.f.like("review", object{
			"id": one.id, "user": one.by.json(c.base), "state": one.state, "commit_id": one.sha, "author_association": c.repo.association(one.by.login),
			"html_url": c.html("/pull/%d", c.issue.number), "pull_request_url": c.api("/pulls/%d", c.issue.number),
		})
	})))
}

func (c *call) requestedReviewers() reply {
	p := c.issue.pull
	return ok(object{"users": c.users(p.asked), "teams": c.teams(p.teams)})
}

type reviewRequest struct {
	Reviewers []string
	Teams     []string `json:"team_reviewers"`
}

func (c *call) requestReviewers(in reviewRequest) reply {
	p := c.issue.pull
	if len(in.Teams) > 0 && c.token.app() && c.token.Login == ActionsBot { // it does not see an organization's teams
		return unprocessable("Could not resolve to a node with the global id of 'T_kwDO'.")
	}
	no := unprocessable(fmt.Sprintf("Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the %s repository.", c.repo.FullName()))
	for _, login := range in.Reviewers {
		switch {
		case strings.EqualFold(login, c.issue.author.login):
			return unprocessable("Review cannot be requested from pull request author.")
		case !c.repo.collaborator(login):
			return no
		}
	}
	for _, slug := range in.Teams {
		if !slices.Contains(c.repo.teams, slug) {
			return no
		}
	}
	p.asked = union(p.asked, in.Reviewers)
	p.teams = union(p.teams, in.Teams)
	return created(c.simplePull(c.issue))
}
