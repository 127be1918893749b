package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

// addTo adds labels and people and sets the milestone. What is there already costs
// no call; what fails is a warning. The calls are made side by side, but for forges
// of Gitea's kind, where two of them write the same issue as a whole.
func (c *Client) addTo(ctx context.Context, have *github.PullRequest, want PullRequest) []string {
	parts := []func() []string{
		func() []string { return c.addLabels(ctx, have, want.Labels) },
		func() []string { return c.requestReviews(ctx, have, want.Reviewers, want.TeamReviewers) },
		func() []string { return c.assign(ctx, have, want.Assignees) },
		func() []string { return c.setMilestone(ctx, have, want.Milestone) },
	}
	warnings := make([][]string, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		if draftsByTitle(have) {
			warnings[i] = part()
		} else {
			all.Go(func() { warnings[i] = part() })
		}
	}
	all.Wait()
	return slices.Concat(warnings...)
}

// ApplyMetadata adds the labels, people and milestone that an open pull request lacks,
// as when a run was ended right after it had made one. Title, body and draft
// state are left alone, and who has reviewed is not asked again. It costs nothing
// when all is there, and one call to see who has reviewed. What fails is a
// warning.
func (c *Client) ApplyMetadata(ctx context.Context, found Found, want PullRequest) []string {
	have := found.have
	if have == nil {
		return nil
	}
	var warnings []string
	unasked := func(user string) bool { return !hasLogin(have.RequestedReviewers, user) }
	if slices.ContainsFunc(names(want.Reviewers), unasked) || len(have.RequestedTeams) == 0 && len(want.TeamReviewers) > 0 {
		var reviews []*github.PullRequestReview
		if err := c.api.Call(ctx, http.MethodGet, c.api.Path("/pulls/%d/reviews?per_page=100", have.GetNumber()), nil, &reviews); err != nil {
			// Who has reviewed is not asked again: nobody is, then.
			want.Reviewers, want.TeamReviewers = nil, nil
			warnings = append(warnings, c.api.Explain(fmt.Sprintf("read the reviews of #%d", have.GetNumber()), "pull-requests: read", err).Error())
		}
		want.Reviewers = slices.DeleteFunc(names(want.Reviewers), func(user string) bool {
			return slices.ContainsFunc(reviews, func(r *github.PullRequestReview) bool { return strings.EqualFold(r.GetUser().GetLogin(), user) })
		})
		if len(reviews) > 0 {
			want.TeamReviewers = nil // a review does not say for which team it was
		}
	}
	return append(warnings, c.addTo(ctx, have, want)...)
}

// oneLimit bounds the question for one reviewer after that for all was waited
// for in vain.
const oneLimit = 5 * time.Second

// request is who is asked for a review, as the API names them.
type request struct {
	Users []string `json:"reviewers,omitempty"`
	Teams []string `json:"team_reviewers,omitempty"`
}

// String names those who are asked.
func (r request) String() string {
	var list []string
	for _, user := range r.Users {
		list = append(list, fmt.Sprintf("%q", user))
	}
	for _, team := range r.Teams {
		list = append(list, fmt.Sprintf("team %q", team))
	}
	return strings.Join(list, ", ")
}

// requestReviews asks all at once. The forge asks nobody when one of them cannot
// be asked, so then each is asked alone.
func (c *Client) requestReviews(ctx context.Context, have *github.PullRequest, users, teams []string) []string {
	var all request
	var warnings []string
	operation := fmt.Sprintf("ask for reviews of #%d", have.GetNumber())
	for _, user := range names(users) {
		switch {
		case strings.EqualFold(user, have.GetUser().GetLogin()):
			warnings = append(warnings, fmt.Sprintf("%s in %s: %q is not asked: who opened a pull request cannot review it; leave the name out of reviewers, or let another token open it", operation, c.api.Where(), user))
		case !hasLogin(have.RequestedReviewers, user):
			all.Users = append(all.Users, user)
		}
	}
	for _, team := range names(teams) {
		team = team[strings.LastIndex(team, "/")+1:]
		if team != "" && !hasTeam(have.RequestedTeams, team) && !contains(all.Teams, team) {
			all.Teams = append(all.Teams, team)
		}
	}
	if len(all.Users)+len(all.Teams) == 0 {
		return warnings
	}
	now, err := c.ask(ctx, have.GetNumber(), all)
	if err == nil {
		return append(warnings, c.notAsked(operation, now, all)...)
	}
	code := api.Status(err)
	one := code == http.StatusUnprocessableEntity || code == http.StatusNotFound || isGaveUp(err) // may be about one of them
	if !one || len(all.Users)+len(all.Teams) == 1 || ctx.Err() != nil {
		return append(warnings, c.explainReview(operation, all, err))
	}
	var each []request
	for _, user := range all.Users {
		each = append(each, request{Users: []string{user}})
	}
	for _, team := range all.Teams {
		each = append(each, request{Teams: []string{team}})
	}
	for _, single := range each {
		oneCtx, cancel := ctx, context.CancelFunc(func() {})
		if isGaveUp(err) {
			oneCtx, cancel = context.WithTimeout(ctx, oneLimit)
		}
		_, err := c.ask(oneCtx, have.GetNumber(), single)
		cancel()
		if err != nil {
			warnings = append(warnings, c.explainReview(operation, single, err))
		}
	}
	return warnings
}

// ask sends one request. The pull request is nil where the forge answers with
// something else (Gitea, with the reviews).
func (c *Client) ask(ctx context.Context, number int, who request) (*github.PullRequest, error) {
	var raw json.RawMessage
	if err := c.api.Call(ctx, http.MethodPost, c.api.Path("/pulls/%d/requested_reviewers", number), who, &raw); err != nil {
		return nil, err
	}
	now := new(github.PullRequest)
	if json.Unmarshal(raw, now) != nil || now.GetNumber() == 0 {
		return nil, nil //nolint:nilnil // another form of success
	}
	return now, nil
}

// notAsked names whom the forge left out without a word.
func (c *Client) notAsked(operation string, now *github.PullRequest, all request) []string {
	if now == nil {
		return nil
	}
	missing := request{
		Users: slices.DeleteFunc(all.Users, func(user string) bool { return hasLogin(now.RequestedReviewers, user) }),
		Teams: slices.DeleteFunc(all.Teams, func(team string) bool { return hasTeam(now.RequestedTeams, team) }),
	}
	if len(missing.Users)+len(missing.Teams) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s in %s: the forge took it and did not ask %s: see whether they have access to the repository", operation, c.api.Where(), missing)}
}

// explainReview says who was not asked, why, and what would be right. Who may
// see no team gets "Could not resolve to a node", for ever.
func (c *Client) explainReview(operation string, who request, err error) string {
	permission := "pull-requests: write"
	if len(who.Teams) > 0 {
		permission += " and, for a team, the organization's members: read"
	}
	text := c.api.Explain(operation+" by "+who.String(), permission, err).Error()
	if len(who.Teams) > 0 && (isGaveUp(err) || api.Status(err) == http.StatusUnprocessableEntity || api.Status(err) == http.StatusNotFound) {
		text += "; a team needs access to the repository, and a token that may see it: an App's with members: read or a classic one with repo and read:org, not GITHUB_TOKEN"
	}
	return text
}

func isGaveUp(err error) bool {
	var gaveUp *api.GaveUpError
	return errors.As(err, &gaveUp)
}

// asIssue is what the two ways of changing an issue answer, as far as it is
// looked at: the rest differs between forges.
type asIssue struct {
	Assignees []*github.User    `json:"assignees"`
	Milestone *github.Milestone `json:"milestone"`
}

// assign adds assignees.
func (c *Client) assign(ctx context.Context, have *github.PullRequest, assignees []string) []string {
	missing := slices.DeleteFunc(names(assignees), func(one string) bool { return hasLogin(have.Assignees, one) })
	if len(missing) == 0 {
		return nil
	}
	operation := fmt.Sprintf("assign %s to #%d", strings.Join(missing, ", "), have.GetNumber())
	now := new(asIssue)
	var err error
	if draftsByTitle(have) {
		err = c.assignAll(ctx, have, missing, now)
	} else {
		err = c.api.Call(ctx, http.MethodPost, c.api.Path("/issues/%d/assignees", have.GetNumber()), map[string][]string{"assignees": missing}, now)
	}
	if err != nil {
		return []string{c.api.Explain(operation, "pull-requests: write (or issues: write)", err).Error()}
	}
	missing = slices.DeleteFunc(missing, func(one string) bool { return hasLogin(now.Assignees, one) })
	if len(missing) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s in %s: the forge did not assign %s: they need access to the repository, the token push access, and ten is the most", operation, c.api.Where(), quoted(missing))}
}

// assignAll is assign on a forge of Gitea's kind, where only the whole list can
// be set, and one name that it does not know fails all of them (with status 500):
// so it is asked first who can be assigned.
func (c *Client) assignAll(ctx context.Context, have *github.PullRequest, missing []string, now *asIssue) error {
	var possible []*github.User
	all := slices.Clone(missing)
	if c.api.Call(ctx, http.MethodGet, c.api.Path("/assignees"), nil, &possible) == nil {
		all = slices.DeleteFunc(all, func(one string) bool { return !hasLogin(possible, one) })
	}
	if len(all) == 0 {
		return nil
	}
	for _, one := range have.Assignees {
		all = append(all, one.GetLogin())
	}
	return c.api.Call(ctx, http.MethodPatch, c.api.Path("/issues/%d", have.GetNumber()), map[string][]string{"assignees": all}, now)
}

// setMilestone sets the milestone by its number.
func (c *Client) setMilestone(ctx context.Context, have *github.PullRequest, number int) []string {
	if number <= 0 || isMilestone(have.Milestone, number) {
		return nil
	}
	operation := fmt.Sprintf("set milestone %d on #%d", number, have.GetNumber())
	now := new(asIssue)
	if err := c.api.Call(ctx, http.MethodPatch, c.api.Path("/issues/%d", have.GetNumber()), map[string]int{"milestone": number}, now); err != nil {
		return []string{c.api.Explain(operation, "issues: write (or pull-requests: write)", err).Error()}
	}
	if !isMilestone(now.Milestone, number) {
		return []string{fmt.Sprintf("%s in %s: the forge took it and did not set it: the token needs push access, and the milestone must be there", operation, c.api.Where())}
	}
	return nil
}

// isMilestone compares GitHub's numbers, and the ids of forges without numbers.
func isMilestone(m *github.Milestone, number int) bool {
	return m != nil && (m.GetNumber() == number || m.Number == nil && m.GetID() == int64(number))
}

// names are logins without blanks, @ and doubles.
func names(list []string) []string {
	var clean []string
	for _, one := range list {
		one = strings.TrimPrefix(strings.TrimSpace(one), "@")
		if one != "" && !contains(clean, one) {
			clean = append(clean, one)
		}
	}
	return clean
}

func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(have string) bool { return strings.EqualFold(have, name) })
}

func hasLogin(users []*github.User, login string) bool {
	return slices.ContainsFunc(users, func(u *github.User) bool { return strings.EqualFold(u.GetLogin(), login) })
}

func hasTeam(teams []*github.Team, slug string) bool {
	return slices.ContainsFunc(teams, func(t *github.Team) bool {
		return strings.EqualFold(t.GetSlug(), slug) || strings.EqualFold(t.GetName(), slug)
	})
}

func quoted(list []string) string {
	text := make([]string, 0, len(list))
	for _, one := range list {
		text = append(text, fmt.Sprintf("%q", one))
	}
	return strings.Join(text, ", ")
}
