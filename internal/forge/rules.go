package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Branch is the branch that a run is about to push to.
type Branch struct {
	Name   string
	Exists bool // on the forge
	Signed bool // the forge makes the commits, and signs them
}

// refuses says why a rule of a ruleset refuses a push; empty: it does not, or not
// before it is known what is pushed.
func (b Branch) refuses(rule string) string {
	switch rule {
	case "creation":
		if !b.Exists {
			return "branches of its name may not be created"
		}
	case "update":
		return "pushes to it are refused"
	case "pull_request":
		return "it changes by pull requests only"
	case "merge_queue":
		return "it changes by its merge queue only"
	case "required_status_checks":
		return "checks have to pass before a push"
	case "required_deployments":
		return "deployments have to succeed before a push"
	case "required_signatures":
		if !b.Signed {
			return "its commits have to be signed (sign-commits: true has the forge sign them)"
		}
	}
	return ""
}

// CheckRules finds out, before anything is spent, that rules refuse a push of this
// client's token to a branch. A warning says what is not known for certain. It costs
// one call, one more when the branch exists, and one for each ruleset that refuses:
// whether the token may bypass it. A forge that does not tell (403, 404) has no
// rules as far as is known.
func (c *Client) CheckRules(ctx context.Context, b Branch) (warning string, err error) {
	var rules []struct {
		Type   string `json:"type"`
		ID     int64  `json:"ruleset_id"`
		Source string `json:"ruleset_source"`
	}
	_ = c.api.Call(ctx, http.MethodGet, c.api.Path("/rules/branches/%s?per_page=100", url.PathEscape(b.Name)), nil, &rules) // not every forge has it
	var why, unsure []string
	bypass := map[int64]string{}
	for _, rule := range rules {
		text := b.refuses(rule.Type)
		if text == "" {
			continue
		}
		if _, asked := bypass[rule.ID]; !asked {
			bypass[rule.ID] = c.bypass(ctx, rule.ID)
		}
		text += fmt.Sprintf(" (rule %s of ruleset %d in %s)", rule.Type, rule.ID, c.api.Clean(rule.Source))
		switch bypass[rule.ID] {
		case "never", "pull_requests_only":
			why = append(why, text)
		case "":
			unsure = append(unsure, text)
		}
	}
	if b.Exists && len(rules) == 0 {
		var branch struct {
			github.Branch
			MayPush *bool `json:"user_can_push"` // Gitea
		}
		_ = c.api.Call(ctx, http.MethodGet, c.api.Path("/branches/%s", url.PathEscape(b.Name)), nil, &branch)
		switch {
		case branch.MayPush != nil && !*branch.MayPush:
			why = append(why, "it is protected, and the token's owner may not push to it")
		case branch.MayPush == nil && branch.GetProtected():
			unsure = append(unsure, "it is protected")
		}
	}
	switch {
	case len(why) > 0:
		return "", fmt.Errorf("branch %q of %s: the token may not push to it: %s; choose another branch, or let the token's owner bypass the rule", b.Name, c.api.Where(), strings.Join(slices.Compact(why), "; "))
	case len(unsure) > 0:
		return fmt.Sprintf("The push to the branch %q of %s may be refused: %s. Whether the token may push all the same is not known before.", b.Name, c.api.Where(), strings.Join(slices.Compact(unsure), "; ")), nil
	}
	return "", nil
}

// bypass says whether this token may bypass a ruleset, in GitHub's words; empty: it
// is not known.
func (c *Client) bypass(ctx context.Context, ruleset int64) string {
	var answer struct {
		May string `json:"current_user_can_bypass"`
	}
	_ = c.api.Call(ctx, http.MethodGet, c.api.Path("/rulesets/%d", ruleset), nil, &answer)
	return answer.May
}
