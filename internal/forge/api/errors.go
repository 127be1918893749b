package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// PermissionError means that the token, or a setting of the repository, does
// not allow what was tried.
type PermissionError struct {
	Operation  string // what was tried, and where
	Permission string // what the token lacks, as a workflow spells it; empty when it is a setting
	Setting    string // the setting to change and its address; empty when it is the token
	CompareURL string // where a person can open the pull request; empty when that makes no sense
	Message    string // the forge's own words, cleaned
}

// Error says what, where and what would be right, on one line. The compare
// link stands there without what it fills in.
func (e *PermissionError) Error() string {
	text := fmt.Sprintf("%s: not permitted (the forge says %q): ", e.Operation, e.Message)
	if e.Message == "" {
		text = e.Operation + ": not permitted: "
	}
	if e.Setting != "" {
		text += e.Setting
	} else {
		text += "github-token lacks " + e.Permission + ": add it to the workflow's permissions, or to the token"
	}
	if link, _, _ := strings.Cut(e.CompareURL, "?"); link != "" {
		text += "; or open the pull request by hand: " + link
	}
	return text
}

// Status is the HTTP status of a refusal; 0 when there was no answer.
func Status(err error) int { return refused(err).status }

// Said is what the forge says in a refusal, on one line.
func (c *Client) Said(err error) string { return c.Clean(message(refused(err).body)) }

// message is the text of an error answer: GitHub's, or another's with a
// "message".
func message(body []byte) string {
	var answer struct {
		Message string `json:"message"`
		Errors  any    `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	parts := []string{answer.Message}
	list, ok := answer.Errors.([]any)
	if !ok {
		list = []any{answer.Errors}
	}
	for _, one := range list {
		switch e := one.(type) {
		case string:
			parts = append(parts, e)
		case map[string]any:
			if text, ok := e["message"].(string); ok && text != "" {
				parts = append(parts, text)
				continue
			}
			field, _ := e["field"].(string)
			code, _ := e["code"].(string)
			parts = append(parts, strings.TrimSpace(field+" "+code))
		}
	}
	return strings.Join(parts, ": ")
}

// Explain turns an error of one call into one a user can act upon. operation
// says what was tried, permission what the token needs for it.
func (c *Client) Explain(operation, permission string, err error) error {
	operation += " in " + c.Where()
	said := c.Said(err)
	code := Status(err)
	if code != 0 && said == "" && bytes.HasPrefix(bytes.TrimSpace(refused(err).body), []byte("<")) {
		return fmt.Errorf("%s: a web page was answered (%d): see whether a proxy or a sign-in stands before the API, and whether GITHUB_API_URL is its address", operation, code)
	}
	switch code {
	case 0:
		return c.explainTransport(operation, err)
	case http.StatusUnauthorized:
		return fmt.Errorf("%s: the token was refused (401 %s): github-token must be a valid token that has not expired%s", operation, said, c.lifetime())
	case http.StatusForbidden:
		switch {
		case actionsMayNotOpen(said):
			return &PermissionError{Operation: operation, Message: said, Setting: c.actionsSetting()}
		case Locked(said):
			return fmt.Errorf("%s: the conversation is locked (the forge says %q): unlock it, or give a token that may write there", operation, said)
		case strings.HasPrefix(refused(err).header.Get("X-GitHub-SSO"), "required"):
			return fmt.Errorf("%s: the organization wants single sign-on (the forge says %q): authorize the token for it, under Settings > Developer settings of its owner", operation, said)
		case archived(said):
			return fmt.Errorf("%s: the repository was archived (the forge says %q): unarchive it, and run again", operation, said)
		}
		if accepted := acceptedPermissions(refused(err).header); accepted != "" {
			permission = accepted
		}
		return &PermissionError{Operation: operation, Message: said, Permission: permission}
	case http.StatusNotFound:
		return fmt.Errorf("%s: not found (404): check the name; a token that may not see it gets the same answer and needs %s", operation, permission)
	case http.StatusGone:
		return fmt.Errorf("%s: it is not there any more, or issues are turned off in the repository (410 %s)", operation, said)
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return fmt.Errorf("%s: the forge refused it (%d): %s", operation, code, cmp.Or(said, "it gives no reason"))
	case http.StatusLocked, http.StatusUnavailableForLegalReasons:
		return fmt.Errorf("%s: the repository is archived or locked (%d %s)", operation, code, said)
	default:
		return fmt.Errorf("%s: the forge answered %d %s", operation, code, said)
	}
}

// Locked recognises a conversation in which only some may write.
func Locked(said string) bool { return strings.Contains(said, "is locked") }

// archived recognises a repository that was archived meanwhile.
func archived(said string) bool { return strings.Contains(said, "was archived") }

// lifetime is what is known of how long the token lives.
func (c *Client) lifetime() string {
	if c.Lifetime == nil {
		return ""
	}
	return c.Lifetime()
}

func (c *Client) explainTransport(operation string, err error) error {
	var gaveUp *GaveUpError
	if errors.As(err, &gaveUp) {
		return fmt.Errorf("%s: %s: try again later, and see whether %s is up", operation, gaveUp.Error(), c.URL.Host)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &cleanError{text: operation + ": no time was left for it", err: err}
	}
	if errors.Is(err, context.Canceled) {
		return &cleanError{text: operation + ": cancelled", err: err}
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // its own text repeats the address
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return fmt.Errorf("%s: the answer is not what the API promises: check that GITHUB_API_URL is the address of the API", operation)
	}
	// The text may quote the server, the chain of errors must stay.
	return &cleanError{text: operation + ": " + c.Clean(err.Error()), err: err}
}

// cleanError has a text of ours over a foreign chain.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }

// actionsMayNotOpen recognises the setting that forbids GITHUB_TOKEN to open
// pull requests. The answer is a plain 403; only its text tells it from a
// missing permission.
func actionsMayNotOpen(said string) bool {
	return strings.Contains(said, "not permitted to create or approve pull requests")
}

func (c *Client) actionsSetting() string {
	return fmt.Sprintf("turn on \"Allow GitHub Actions to create and approve pull requests\" under Settings > Actions > General > Workflow permissions (%s), where it is greyed out first in the organization's settings; or give github-token a personal or App token",
		c.ServerURL.JoinPath(c.Owner, c.Name, "settings", "actions"))
}

var acceptedPattern = lazyregexp.New(`^[a-z_]+=(read|write|admin)([,;] ?[a-z_]+=(read|write|admin))*$`)

// acceptedPermissions reads X-Accepted-GitHub-Permissions, in which GitHub names
// what would have been enough: "," is and, ";" is or.
func acceptedPermissions(h http.Header) string {
	raw := h.Get("X-Accepted-GitHub-Permissions")
	if !acceptedPattern.MatchString(raw) {
		return ""
	}
	return strings.NewReplacer("=", ": ", "_", "-", ", ", " and ", ",", " and ", "; ", " or ", ";", " or ").Replace(raw)
}
