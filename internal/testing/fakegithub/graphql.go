package fakegithub

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	pullNode     = regexp.MustCompile(`\bPR_[0-9]+_[0-9]+\b`)
	mergeMethod  = regexp.MustCompile(`\b(MERGE|SQUASH|REBASE)\b`)
	pullMutation = regexp.MustCompile(`\b(convertPullRequestToDraft|markPullRequestReadyForReview|enablePullRequestAutoMerge|disablePullRequestAutoMerge)\b`)
)

type graphQLQuery struct {
	Query     string
	Variables json.RawMessage
}

// graphQL knows who asks, and the mutations of pull requests that the REST API lacks. The id
// is found wherever it stands: in the query or in a variable.
func (c *call) graphQL(in graphQLQuery) reply {
	if strings.Contains(in.Query, "viewer") {
		return ok(object{"data": object{"viewer": object{"login": c.token.Login}}})
	}
	all := in.Query + " " + string(in.Variables)
	node := pullNode.FindString(all)
	var repo *Repository
	var one *issue
	for _, r := range c.f.repos {
		for _, i := range r.issues {
			if i.pull != nil && r.node(i) == node {
				repo, one = r, i
			}
		}
	}
	if one == nil || !c.token.sees(repo) {
		return problem("NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", node))
	}
	if strings.Contains(in.Query, "mutation") && (!c.token.may("pull-requests", "write") || !c.token.may("contents", "write")) {
		return problem("FORBIDDEN", "Resource not accessible by "+c.token.kind())
	}
	p, mutation := one.pull, pullMutation.FindString(in.Query)
	switch mutation {
	case "convertPullRequestToDraft":
		if repo.NoDrafts {
			return problem("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
		}
		p.draft = true
	case "markPullRequestReadyForReview":
		p.draft = false
	case "disablePullRequestAutoMerge":
		p.auto = ""
	case "enablePullRequestAutoMerge":
		switch {
		case !repo.AllowAutoMerge:
			return problem("UNPROCESSABLE", "Pull request Auto merge is not allowed for this repository")
		case p.draft:
			return problem("UNPROCESSABLE", "Pull request is in draft state")
		}
		p.auto = "merge"
		if method := mergeMethod.FindString(all); method != "" {
			p.auto = strings.ToLower(method)
		}
	default:
		return problem("undefinedField", "this forge knows the mutations of pull requests only")
	}
	var auto any
	if p.auto != "" {
		auto = object{"enabledAt": stamp, "mergeMethod": strings.ToUpper(p.auto)}
	}
	return ok(object{"data": object{mutation: object{
		"clientMutationId": nil, "actor": object{"login": c.token.Login},
		"pullRequest": object{"id": node, "number": one.number, "isDraft": p.draft, "autoMergeRequest": auto, "state": strings.ToUpper(one.state)},
	}}})
}

// problem is how GraphQL refuses: with status 200.
func problem(kind, message string) reply {
	return ok(object{"data": nil, "errors": []object{{"type": kind, "message": message, "path": []string{}, "locations": []any{}}}})
}
