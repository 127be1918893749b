package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

type review struct {
	id    int64
	by    *user
	state string // APPROVED, CHANGES_REQUESTED or COMMENTED
	sha   string
}

// Review is somebody's review of a pull request: APPROVED, CHANGES_REQUESTED or
// COMMENTED. Who reviewed is no longer asked to.
func (r *Repository) Review(number int, login, state string) error {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	one, err := r.pullLocked(number)
	if err != nil {
		return err
	}
	p := one.pull
	p.reviews = append(p.reviews, review{r.forge.id(), r.forge.userLocked(login), state, p.headSHA})
	p.asked = slices.DeleteFunc(p.asked, func(have string) bool { return strings.EqualFold(have, login) })
	return nil
}

func (f *Forge) listReviews(c *call) {
	list := []map[string]any{}
	api := fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", c.base, c.repo.FullName(), c.issue.number)
	html := fmt.Sprintf("%s/pull/%d", c.repo.URL(), c.issue.number)
	for _, one := range c.issue.pull.reviews {
		list = append(list, map[string]any{
			"id": one.id, "node_id": fmt.Sprintf("PRR_%d", one.id), "user": one.by.json(c.base), "body": "", "state": one.state, "commit_id": one.sha,
			"html_url": html, "pull_request_url": api, "author_association": c.repo.association(one.by.login), "submitted_at": stamp,
			"_links": map[string]any{"html": map[string]any{"href": html}, "pull_request": map[string]any{"href": api}},
		})
	}
	c.answer(http.StatusOK, page(c, list))
}

func (f *Forge) requestedReviewers(c *call) {
	p := c.issue.pull
	c.answer(http.StatusOK, map[string]any{"users": c.users(p.asked), "teams": c.teams(p.teams)})
}

func (f *Forge) requestReviewers(c *call) {
	var in struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}
	if !c.read(&in) {
		return
	}
	p := c.issue.pull
	if len(in.Teams) > 0 && c.token.app() && c.token.Login == actionsBot { // it does not see an organization's teams
		c.refuse(http.StatusUnprocessableEntity, "Could not resolve to a node with the global id of 'T_kwDO'.")
		return
	}
	for _, login := range in.Reviewers {
		switch {
		case strings.EqualFold(login, c.issue.author.login):
			c.refuse(http.StatusUnprocessableEntity, "Review cannot be requested from pull request author.")
			return
		case !c.repo.collaborator(login):
			c.notCollaborator()
			return
		}
	}
	for _, slug := range in.Teams {
		if !slices.Contains(c.repo.teams, slug) {
			c.notCollaborator()
			return
		}
	}
	p.asked = union(p.asked, in.Reviewers)
	p.teams = union(p.teams, in.Teams)
	c.answer(http.StatusCreated, c.pullJSON(c.issue, true))
}

func (c *call) notCollaborator() {
	c.refuse(http.StatusUnprocessableEntity, fmt.Sprintf("Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the %s repository.", c.repo.FullName()))
}

func union(have, more []string) []string {
	for _, one := range more {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, one) }) {
			have = append(have, one)
		}
	}
	return have
}
