package fakegithub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

var (
	pullNode    = regexp.MustCompile(`\bPR_[0-9]+_[0-9]+\b`)
	mergeMethod = regexp.MustCompile(`\b(MERGE|SQUASH|REBASE)\b`)
)

// graphQL knows who asks, and the mutations of pull requests that the REST API lacks. The id
// is found wherever it stands: in the query or in a variable.
func (f *Forge) graphQL(c *call) {
	var in struct {
		Query     string
		Variables json.RawMessage
	}
	if !c.read(&in) {
		return
	}
	if strings.Contains(in.Query, "viewer") {
		c.answer(http.StatusOK, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": c.token.Login}}})
		return
	}
	all := in.Query + " " + string(in.Variables)
	node := pullNode.FindString(all)
	var repo *Repository
	var one *issue
	for _, r := range f.repos {
		for _, i := range r.issues {
			if i.pull != nil && r.node(i) == node {
				repo, one = r, i
			}
		}
	}
	if one == nil || !c.token.sees(repo) {
		c.problem("NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", node))
		return
	}
	p := one.pull
	mutation := ""
	for _, name := range []string{"convertPullRequestToDraft", "markPullRequestReadyForReview", "enablePullRequestAutoMerge", "disablePullRequestAutoMerge"} {
		if strings.Contains(in.Query, name) {
			mutation = name
		}
	}
	if strings.Contains(in.Query, "mutation") && (!c.token.may("pull-requests", "write") || !c.token.may("contents", "write")) {
		c.problem("FORBIDDEN", "Resource not accessible by "+c.token.kind())
		return
	}
	switch mutation {
	case "convertPullRequestToDraft":
		if repo.NoDrafts {
			c.problem("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
			return
		}
		p.draft = true
	case "markPullRequestReadyForReview":
		p.draft = false
	case "disablePullRequestAutoMerge":
		p.auto = ""
	case "enablePullRequestAutoMerge":
		switch {
		case !repo.AllowAutoMerge:
			c.problem("UNPROCESSABLE", "Pull request Auto merge is not allowed for this repository")
			return
		case p.draft:
			c.problem("UNPROCESSABLE", "Pull request is in draft state")
			return
		}
		p.auto = "merge"
		if method := mergeMethod.FindString(all); method != "" {
			p.auto = strings.ToLower(method)
		}
	default:
		c.problem("undefinedField", "this forge knows the mutations of pull requests only")
		return
	}
	var auto any
	if p.auto != "" {
		auto = map[string]any{"enabledAt": stamp, "mergeMethod": strings.ToUpper(p.auto)}
	}
	c.answer(http.StatusOK, map[string]any{"data": map[string]any{mutation: map[string]any{
		"clientMutationId": nil, "actor": map[string]any{"login": c.token.Login},
		"pullRequest": map[string]any{"id": node, "number": one.number, "isDraft": p.draft, "autoMergeRequest": auto, "state": strings.ToUpper(one.state)},
	}}})
}

// problem is how GraphQL refuses: with status 200.
func (c *call) problem(kind, message string) {
	c.answer(http.StatusOK, map[string]any{"data": nil, "errors": []map[string]any{{"type": kind, "message": message, "path": []string{}, "locations": []any{}}}})
}
