package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/repo/printable"
)

// ErrNotFastForward is a branch that somebody else moved while we pushed.
var ErrNotFastForward = errors.New("the branch on the server has moved")

// PermissionError is a token that may not do what is needed.
type PermissionError struct {
	Status     int    // HTTP status; 0 when the server said it in its report
	Permission string // "contents: write" or "workflows: write"
	Path       string // the workflow file, when the server named one
	Repository string // owner/name that was asked; empty: not known
	Pushing    bool   // it is a token for pushing alone, and not the run's own
}

func (e *PermissionError) Error() string {
	input := "github-token"
	if e.Pushing {
		input = "ci-token"
	}
	switch {
	case e.Permission == PermWorkflows:
		path := e.Path
		if path == "" {
			path = "a file below .github/workflows"
		}
		return fmt.Sprintf("the token may not change %s: GITHUB_TOKEN never can; pass a token with %s (GitHub App) or the workflow scope (personal access token) as %s", path, PermWorkflows, input)
	case e.Status == 401:
		return "the server does not accept the token (401): check the " + input + " input; it may have expired"
	case e.Status == 404:
		return "the repository does not exist or the token cannot see it (404): check the repository's name and give the token " + PermContents
	case e.Permission == permRead:
		return fmt.Sprintf("the token may not read the repository (%d): add \"permissions: contents: read\" to the job", e.Status)
	case e.Pushing:
		return fmt.Sprintf("the token given as %s may not push to %s (%d): it needs %s there, and its owner the right to push", input, cmp.Or(printable.Line(e.Repository, 200), "the repository"), e.Status, PermContents)
	default:
		return fmt.Sprintf("the token may not push (%d): add \"permissions: %s\" to the job, or allow it under Settings > Actions > General > Workflow permissions > Read and write permissions", e.Status, PermContents)
	}
}

const (
	PermContents  = "contents: write"
	permRead      = "contents: read"
	PermWorkflows = "workflows: write"
)

// RejectedError is a push the server refused by a rule of its own. Reason and
// Remote are foreign text, cleaned and bounded.
type RejectedError struct {
	Branch    string
	Reason    string
	Remote    string
	Protected bool // a protected branch or a repository rule
}

func (e *RejectedError) Error() string {
	s := fmt.Sprintf("the server refused the push to %s: %s", e.Branch, e.Reason)
	if e.Protected {
		s += "; choose another branch, or let the token's owner bypass the rule"
	}
	if e.Remote != "" {
		s += " (" + e.Remote + ")"
	}
	return s
}

// rejection turns what receive-pack reports into an error. The protocol knows
// no codes: the words of git's and GitHub's servers are all there is.
// report is the status of the ref ("ng" line) or of the unpacking, remote is
// what the server printed for people.
func rejection(branch, report, remote string) error {
	both := strings.ToLower(report + "\n" + remote)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(both, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("without `workflows` permission", "without `workflow` scope", "without workflows permission", "without workflow scope"):
		return &PermissionError{Permission: PermWorkflows, Path: between(report+"\n"+remote, "workflow `", "`")}
	case has("protected branch", "gh006", "gh013", "rule violations", "protected ref"):
		return &RejectedError{Branch: branch, Reason: printable.Line(report, 200), Remote: printable.Line(remote, 600), Protected: true}
	case has("non-fast-forward", "fetch first", "stale info", "incorrect old value", "cannot lock ref", "failed to update ref", "but expected", "reference already exists"):
		return fmt.Errorf("%w: %s", ErrNotFastForward, printable.Line(report, 200))
	default:
		return &RejectedError{Branch: branch, Reason: printable.Line(report, 200), Remote: printable.Line(remote, 600)}
	}
}

// between is the printable text between two marks; empty if a mark is missing.
func between(s, from, to string) string {
	_, s, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	s, _, ok = strings.Cut(s, to)
	if !ok {
		return ""
	}
	return printable.Line(s, 200)
}
