package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	// maxCheckPages bounds each list of a look: 1,000 entries, which is also where
	// GitHub stops.
	maxCheckPages = 10
	// maxCheckName bounds the name of a check, in characters.
	maxCheckName = 100
)

// checkLook reads the checks of one commit, again and again. It is used by one
// goroutine.
type checkLook struct {
	c   *Client
	sha string
	o   CheckOptions
	// kept are the answers of earlier looks by address; the forge says whether
	// they still hold, which costs nothing.
	kept  map[string]keptPage
	notes []string
	// leftOut is where checks that are left out belong.
	leftOut []checkOrigin
	// What the forge does not have, or not for this token, is asked for once.
	noCheckRuns, noWorkflows bool
}

type keptPage struct {
	tag  string
	body []byte
	next int
}

// outageError is a failure of the forge that may pass.
type outageError struct{ error }

func (e *outageError) Unwrap() error { return e.error }

func (c *Client) newLook(sha string, o CheckOptions) *checkLook {
	return &checkLook{c: c, sha: sha, o: o, kept: map[string]keptPage{}}
}

func (l *checkLook) take(ctx context.Context) (Checks, error) {
	statuses, err := l.statuses(ctx)
	if err != nil {
		return Checks{}, err
	}
	runs, err := l.checkRuns(ctx)
	if err != nil {
		return Checks{}, err
	}
	k := sumChecks(l.sha, append(slices.Clone(runs), statuses...), slices.Clone(l.notes))
	if len(k.Left) > 0 || l.noWorkflows {
		return k, nil
	}
	// Jobs that wait for other jobs have no check run yet, and a workflow that
	// cannot start has none at all: only its run tells.
	runs, err = l.withWorkflows(ctx, runs)
	if err != nil {
		return Checks{}, err
	}
	return sumChecks(l.sha, append(runs, statuses...), slices.Clone(l.notes)), nil
}

// get reads one page, and says which one is the next; 0: none.
func (l *checkLook) get(ctx context.Context, path string, out any) (int, error) {
	req, err := l.c.api.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	before, have := l.kept[path]
	if have {
		req.Header.Set("If-None-Match", before.tag)
	}
	var body bytes.Buffer
	resp, err := l.c.api.Do(req, &body)
	if have && api.Status(err) == http.StatusNotModified {
		return before.next, json.Unmarshal(before.body, out)
	}
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(body.Bytes(), out); err != nil {
		return 0, err
	}
	delete(l.kept, path)
	if tag := resp.Header.Get("ETag"); tag != "" {
		l.kept[path] = keptPage{tag, body.Bytes(), resp.NextPage}
	}
	return resp.NextPage, nil
}

// explain marks the failures that may pass: the forge is down, or does not know
// a commit yet that was pushed a moment ago (404, 422).
func (l *checkLook) explain(operation, permission string, err error) error {
	explained := l.c.api.Explain(operation+" of "+l.sha[:7], permission, err)
	var gaveUp *api.GaveUpError
	if code := api.Status(err); errors.As(err, &gaveUp) || code == http.StatusNotFound || code == http.StatusUnprocessableEntity {
		return &outageError{explained}
	}
	return explained
}

func (l *checkLook) statuses(ctx context.Context) ([]finding, error) {
	var all []finding
	seen := map[string]bool{}
	for page := 1; page <= maxCheckPages; page++ {
		var answer struct {
			Total    int `json:"total_count"`
			Statuses []struct {
				Context     string `json:"context"`
				State       string `json:"state"`
				Status      string `json:"status"` // Gitea's name for it
				Description string `json:"description"`
				TargetURL   string `json:"target_url"`
			} `json:"statuses"`
		}
		next, err := l.get(ctx, l.c.api.Path("/commits/%s/status?per_page=100&page=%d", l.sha, page), &answer)
		if err != nil {
			return nil, l.explain("read the statuses", "statuses: read", err)
		}
		for _, status := range answer.Statuses {
			name := l.c.checkName(status.Context)
			if seen[status.Context] || l.ignored(status.TargetURL) {
				continue // the newest of each comes first
			}
			seen[status.Context] = true
			state := status.State
			if state == "" {
				state = status.Status
			}
			all = append(all, finding{
				Failure:  Failure{Name: name, Conclusion: l.c.api.Clean(state), URL: webAddress(status.TargetURL), text: status.Description},
				standing: statusStands(state),
			})
		}
		if len(answer.Statuses) == 0 || next == 0 && page*100 >= answer.Total {
			break
		}
	}
	return all, nil
}

var jobPattern = lazyregexp.New(`/actions/runs/([0-9]{1,18})(?:/jobs?/([0-9]{1,18}))?(?:[/?#]|$)`)

// checkRuns is empty on forges without them.
func (l *checkLook) checkRuns(ctx context.Context) ([]finding, error) {
	if l.noCheckRuns {
		return nil, nil
	}
	type key struct {
		app, suite int64
		name       string
	}
	newest := map[key]*github.CheckRun{}
	for page := 1; page <= maxCheckPages; page++ {
		var answer github.ListCheckRunsResults
		next, err := l.get(ctx, l.c.api.Path("/commits/%s/check-runs?filter=latest&per_page=100&page=%d", l.sha, page), &answer)
		if api.Status(err) == http.StatusNotFound && page == 1 {
			// The statuses of the same commit were there: a forge like Gitea.
			l.noCheckRuns, l.noWorkflows = true, true
			return nil, nil
		}
		if err != nil {
			return nil, l.explain("read the check runs", "checks: read", err)
		}
		for _, run := range answer.CheckRuns {
			if run == nil {
				continue
			}
			k := key{run.GetApp().GetID(), run.GetCheckSuite().GetID(), run.GetName()}
			if before := newest[k]; before == nil || before.GetID() < run.GetID() {
				newest[k] = run
			}
		}
		if next == 0 || len(answer.CheckRuns) == 0 {
			break
		}
	}
	var all []finding
	l.leftOut = nil
	for _, run := range newest {
		check := l.checkRun(l.c.checkName(run.GetName()), run)
		if l.ignored(run.GetDetailsURL()) {
			l.leftOut = append(l.leftOut, check.origin)
			continue
		}
		all = append(all, check)
	}
	slices.SortFunc(all, func(a, b finding) int { return cmp.Compare(a.check, b.check) })
	return all, nil
}

func (l *checkLook) checkRun(name string, run *github.CheckRun) finding {
	check := finding{
		Failure: Failure{
			Name: name, Conclusion: l.c.api.Clean(run.GetConclusion()), URL: webAddress(run.GetHTMLURL()),
			check: run.GetID(), annotations: run.GetOutput().GetAnnotationsCount() > 0,
			text: strings.Join([]string{run.GetOutput().GetTitle(), run.GetOutput().GetSummary(), run.GetOutput().GetText()}, "\n\n"),
		},
		standing: stands(run.GetStatus(), run.GetConclusion()),
		origin:   checkOrigin{suite: run.GetCheckSuite().GetID()},
	}
	if run.GetApp().GetSlug() == "github-actions" {
		check.job = run.GetID() // GitHub gives both the same id; the address is what is promised
		if found := jobPattern.FindStringSubmatch(run.GetDetailsURL()); found != nil {
			check.origin.run = digits(found[1])
			if found[2] != "" {
				check.job = digits(found[2])
			}
		}
	}
	return check
}

// ignored reports whether a check is left out, as a part of our own run.
func (l *checkLook) ignored(address string) bool {
	found := jobPattern.FindStringSubmatch(address)
	return found != nil && l.o.RunID != 0 && digits(found[1]) == l.o.RunID
}

func digits(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the pattern admits nothing else
	return n
}

// checkName bounds what a check is called; one without a name says so.
func (c *Client) checkName(raw string) string {
	name := c.api.Clean(raw)
	if runes := []rune(name); len(runes) > maxCheckName {
		name = string(runes[:maxCheckName-1]) + "…"
	}
	if name == "" {
		return "(no name)"
	}
	return name
}

// note is said once.
func (l *checkLook) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}
