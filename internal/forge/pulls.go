package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	// Marker stands in the body of every pull request of ours and is not shown. One
	// without it was described by somebody else.
	Marker = "<!-- ralph-action -->"
	// UnderWayMark stands in the body while the run goes on, and is not shown.
	UnderWayMark = "<!-- ralph-action under way -->"
	// RecordMarker begins the comment that holds the record of the last run below
	// a pull request that somebody else described.
	RecordMarker = "<!-- ralph-action record -->"

	// maxBody is GitHub's limit for the body of a pull request or comment, in
	// characters.
	maxBody = 65536
	// maxTitle leaves room for a draft's prefix below the 255 of Gitea and the
	// 256 of GitHub.
	maxTitle = 250
)

// PullRequest is what a pull request should be.
type PullRequest struct {
	Title string // one line; longer than 250 characters is cut
	// Body is at most 65,536 characters, Marker included; a longer one is cut. It is
	// put in front when it is missing.
	Body string
	// Record is the comment below a pull request that somebody else described;
	// empty: Body.
	Record string
	Head   string // branch
	// HeadRepository is the fork the branch lies in, owner/name; empty: the
	// repository itself.
	HeadRepository string
	Base           string // branch
	// HeadSHA is the tip of the branch, and Last the number of the pull request that
	// was open before, if any: when that was merged or closed at this tip meanwhile,
	// there is nothing to propose (ErrNoCommits).
	HeadSHA string
	Last    int
	// NewHead says that the branch was not there a moment ago: most probably no pull
	// request of it is open, and none is looked for before one is made.
	NewHead bool
	// Same reports whether the body of an open one to another base is that of the one that
	// is meant: somebody retargeted it. It is updated, and its base left alone. nil:
	// one to another base is another one.
	Same func(body string) bool
	// Revise makes title and body of an open one by those it has. nil: Title and
	// Body take their place.
	Revise func(title, body string) (string, string)
	Draft  bool
	// NewDraft applies Draft to a pull request that is created only: an existing
	// one stays draft or ready as it is.
	NewDraft bool
	// MaintainerCanModify lets those who may write to the repository push to the
	// fork's branch. It counts for a new pull request from a fork.
	MaintainerCanModify bool

	Labels        []string // added, never removed
	Assignees     []string // added
	Reviewers     []string // asked, unless they are already
	TeamReviewers []string // the same; an org/ in front is left out
	Milestone     int      // its number; 0: none is set
}

func (p PullRequest) way() branches { return branches{p.Head, p.Base, p.HeadRepository} }

// from names the head in errors and in requests.
func (p PullRequest) from() string {
	if owner, _, ok := strings.Cut(p.HeadRepository, "/"); ok {
		return owner + ":" + p.Head
	}
	return p.Head
}

// Upsert creates the pull request, or updates title and body of the open one
// with the same head and base, and brings draft state, labels, people and
// milestone to what is wanted. When somebody else described the open one, its
// title, body and draft state are left alone, and the record of the run becomes a
// comment below it, updated in place. Failures after the first of these steps are
// warnings, each with what to do. An error means that there is no pull request, or
// an old one that was not updated: *PermissionError, ErrNoCommits, or another.
func (c *Client) Upsert(ctx context.Context, want PullRequest) (ralph.PullRequest, []string, error) {
	want, warnings, err := c.clean(want)
	if err != nil {
		return ralph.PullRequest{}, nil, err
	}
	var have *github.PullRequest
	if !want.NewHead {
		have, err = c.find(ctx, want.way(), want.Same)
	}
	if err == nil && have == nil && want.Last != 0 {
		err = c.closedAt(ctx, want.Last, want.HeadSHA)
	}
	if err != nil {
		return ralph.PullRequest{}, warnings, c.withCompare(err, want)
	}
	operation := ralph.OperationUpdated
	if have != nil && have.GetBase().GetRef() != want.Base {
		warnings = append(warnings, fmt.Sprintf("pull request #%d goes to %s by now, and not to %s: it is updated there", have.GetNumber(), c.api.Clean(have.GetBase().GetRef()), want.Base))
	}
	if have == nil {
		var more []string
		have, operation, more, err = c.create(ctx, &want)
		warnings = append(warnings, more...)
	}
	theirs := err == nil && foreign(have)
	if err == nil && operation == ralph.OperationUpdated && !theirs {
		if want.NewDraft {
			want.Draft = have.GetDraft() // before the title, which says it on some forges
		}
		want = want.revised(have)
		have, err = c.update(ctx, have, want)
	}
	if err != nil {
		return ralph.PullRequest{}, warnings, c.withCompare(err, want)
	}
	if theirs {
		if _, err := c.Comment(ctx, have.GetNumber(), RecordMarker, want.Record, CommentRef{}); err != nil {
			warnings = append(warnings, err.Error())
		}
	} else {
		var more []string
		have, more = c.matchDraft(ctx, have, want)
		warnings = append(warnings, more...)
	}
	warnings = append(warnings, c.addTo(ctx, have, want)...)
	done := c.record(have, operation)
	done.Foreign = theirs
	return done, warnings, nil
}

// Update gives a pull request of ours title and body anew, as Upsert does, also one that
// was closed. One that somebody else describes by now is left alone. It costs two calls.
func (c *Client) Update(ctx context.Context, number int, want PullRequest) error {
	want, _, err := c.clean(want)
	if err != nil {
		return err
	}
	have := new(github.PullRequest)
	if err := c.api.Call(ctx, http.MethodGet, c.api.Path("/pulls/%d", number), nil, have); err != nil {
		return c.api.Explain(fmt.Sprintf("read pull request #%d", number), "pull-requests: read", err)
	}
	if have.GetNumber() != number || foreign(have) {
		return nil
	}
	want.Draft = have.GetDraft()
	_, err = c.update(ctx, have, want.revised(have))
	return err
}

// revised is what is wanted of a pull request that has words already.
func (p PullRequest) revised(have *github.PullRequest) PullRequest {
	if p.Revise == nil {
		return p
	}
	title := have.GetTitle()
	if draftsByTitle(have) {
		title = PlainTitle(title)
	}
	title, body := p.Revise(title, have.GetBody())
	if title = oneLine(title); title != "" {
		p.Title = title
	}
	p.Body = marked(Marker, body)
	return p
}

// closedAt is ErrNoCommits when a pull request was merged or closed with this tip: who did
// that has seen it, and is not asked again.
func (c *Client) closedAt(ctx context.Context, number int, tip string) error {
	found := new(github.PullRequest)
	if err := c.api.Call(ctx, http.MethodGet, c.api.Path("/pulls/%d", number), nil, found); err != nil {
		return c.api.Explain(fmt.Sprintf("read pull request #%d", number), "pull-requests: read", err)
	}
	if one := c.closed(found); found.GetState() == "closed" && one.HeadSHA == tip && !one.Follows {
		what := "closed"
		if one.Merged {
			what = "merged"
		}
		return fmt.Errorf("pull request #%d in %s was %s meanwhile: %w", number, c.api.Where(), what, ErrNoCommits)
	}
	return nil
}

// foreign reports whether somebody else described a pull request. Nobody described one
// with an empty body.
func foreign(p *github.PullRequest) bool {
	return strings.TrimSpace(p.GetBody()) != "" && !strings.Contains(p.GetBody(), Marker)
}

// Close closes a pull request whose branch was deleted. One that the forge closed
// by itself stays as it is.
func (c *Client) Close(ctx context.Context, pr ralph.PullRequest) (ralph.PullRequest, error) {
	now := new(github.PullRequest)
	change := map[string]string{"state": "closed"}
	err := c.api.Call(ctx, http.MethodPatch, c.api.Path("/pulls/%d", pr.Number), change, now)
	switch {
	case err != nil:
		return pr, c.api.Explain(fmt.Sprintf("close pull request #%d", pr.Number), "pull-requests: write", err)
	case now.GetState() != "closed":
		return pr, fmt.Errorf("close pull request #%d in %s: the forge took it and left it open: close it by hand", pr.Number, c.api.Where())
	}
	pr.Operation = ralph.OperationClosed
	return pr, nil
}

// clean makes a request of what is wanted, or says why it cannot be one.
func (c *Client) clean(want PullRequest) (PullRequest, []string, error) {
	if strings.EqualFold(want.HeadRepository, c.api.Repository()) {
		want.HeadRepository = ""
	}
	want.Title = oneLine(want.Title)
	switch {
	case want.Title == "":
		return want, nil, errors.New("title: the pull request needs one")
	case want.Head == "" || want.Base == "":
		return want, nil, errors.New("the pull request needs a head and a base branch")
	case want.HeadRepository != "" && !api.ValidRepository(want.HeadRepository):
		return want, nil, fmt.Errorf("the branch's repository is %q: want owner/name", want.HeadRepository)
	case want.Head == want.Base && want.HeadRepository == "":
		return want, nil, fmt.Errorf("branch %q is its own base: a pull request needs two branches", want.Head)
	}
	if want.Record == "" {
		want.Record = want.Body
	}
	var warnings []string
	if n := utf8.RuneCountInString(want.Body); n > maxBody {
		warnings = append(warnings, fmt.Sprintf("body: %d characters, and the forge takes at most %d: the end was cut off", n, maxBody))
	}
	want.Body = marked(Marker, want.Body)
	return want, warnings, nil
}

// marked is a body that holds the marker and fits.
func marked(marker, body string) string {
	body = strings.ReplaceAll(strings.ToValidUTF8(body, "\uFFFD"), "\x00", "")
	if !strings.Contains(body, marker) {
		body = marker + "\n" + body
	}
	if utf8.RuneCountInString(body) <= maxBody {
		return body
	}
	const end = "\n\n… (cut)\n"
	cut := string([]rune(body)[:maxBody-utf8.RuneCountInString(end)]) + end
	if strings.Contains(cut, marker) {
		return cut
	}
	return marked(marker, marker+"\n"+cut)
}

// create opens the pull request. One that appeared since it was looked for is
// handed back to be updated; when it is word for word ours, it is our own, whose
// answer was lost.
func (c *Client) create(ctx context.Context, want *PullRequest) (*github.PullRequest, ralph.Operation, []string, error) {
	var warnings []string
	have, err := c.post(ctx, *want)
	if c.noDrafts(err) {
		warnings = append(warnings, fmt.Sprintf("%s has no draft pull requests (its plan lacks them): the title says %q instead", c.api.Where(), strings.TrimSpace(draftPrefix)))
		want.Title, want.Draft = draftTitle(want.Title), false
		have, err = c.post(ctx, *want)
	}
	if want.HeadRepository != "" && want.MaintainerCanModify && c.noCollaboration(err) {
		warnings = append(warnings, fmt.Sprintf("those who maintain %s cannot push to the branch: github-token may not write to %s and so may not allow it; with maintainer-can-modify: false nobody tries", c.api.Repository(), want.HeadRepository))
		want.MaintainerCanModify = false
		have, err = c.post(ctx, *want)
	}
	operation := fmt.Sprintf("create the pull request %s -> %s", want.from(), want.Base)
	switch {
	case err == nil:
		c.opened(have.GetUser().GetLogin())
		return have, ralph.OperationCreated, warnings, nil
	case c.noCommits(err):
		return nil, ralph.OperationNone, warnings, fmt.Errorf("%s in %s: %w", operation, c.api.Where(), ErrNoCommits)
	case !c.alreadyExists(err):
		return nil, ralph.OperationNone, warnings, c.explainCreate(operation, *want, err)
	}
	have, findErr := c.findAgain(ctx, want.way())
	switch {
	case findErr != nil:
		return nil, ralph.OperationNone, warnings, findErr
	case have == nil:
		return nil, ralph.OperationNone, warnings, c.explainCreate(operation, *want, err)
	case have.GetTitle() == want.Title && have.GetBody() == want.Body:
		return have, ralph.OperationCreated, warnings, nil
	}
	return have, ralph.OperationUpdated, warnings, nil
}

// findAgain is find for one that exists by the forge's own word: lists may be
// some seconds behind.
func (c *Client) findAgain(ctx context.Context, way branches) (*github.PullRequest, error) {
	for try := 0; ; try++ {
		have, err := c.find(ctx, way, nil)
		if err != nil || have != nil || try == 3 {
			return have, err
		}
		if err := api.Sleep(ctx, api.Jitter(c.api.Backoff<<try)); err != nil {
			return nil, err
		}
	}
}

func (c *Client) post(ctx context.Context, want PullRequest) (*github.PullRequest, error) {
	head := want.from()
	request := github.NewPullRequest{Title: &want.Title, Body: &want.Body, Head: &head, Base: &want.Base, Draft: &want.Draft}
	if want.HeadRepository != "" {
		// Forks of one owner are told apart by it; forges without it take the owner.
		request.HeadRepo, request.MaintainerCanModify = &want.HeadRepository, &want.MaintainerCanModify
	}
	have := new(github.PullRequest)
	err := c.api.Call(ctx, http.MethodPost, c.api.Path("/pulls"), request, have)
	if err == nil && have.GetNumber() <= 0 {
		err = errors.New("the answer names no pull request")
	}
	if took := have.GetHead().GetRepo().GetFullName(); err == nil && want.HeadRepository != "" && took != "" && !strings.EqualFold(took, want.HeadRepository) {
		err = fmt.Errorf("the forge made #%d from %s, another fork of the same owner: close it, and name that fork or remove it", have.GetNumber(), c.api.Clean(took))
	}
	if err == nil {
		c.remember(have)
	}
	return have, err
}

func (c *Client) update(ctx context.Context, have *github.PullRequest, want PullRequest) (*github.PullRequest, error) {
	title := want.Title
	if want.Draft && draftsByTitle(have) {
		title = draftTitle(title)
	}
	return c.patch(ctx, have, title, &want.Body)
}

// patch sets the title and, unless nil, the body.
func (c *Client) patch(ctx context.Context, have *github.PullRequest, title string, body *string) (*github.PullRequest, error) {
	change := struct {
		Title string  `json:"title"`
		Body  *string `json:"body,omitempty"`
	}{title, body}
	now := new(github.PullRequest)
	err := c.api.Call(ctx, http.MethodPatch, c.api.Path("/pulls/%d", have.GetNumber()), change, now)
	if err != nil {
		return nil, c.api.Explain(fmt.Sprintf("update pull request #%d", have.GetNumber()), "pull-requests: write", err)
	}
	if now.GetNumber() != have.GetNumber() {
		return nil, fmt.Errorf("update pull request #%d in %s: the answer is about another one", have.GetNumber(), c.api.Where())
	}
	return now, nil
}

// oneLine makes one line of a title and cuts it to what forges take.
func oneLine(title string) string {
	title = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(title, "\uFFFD"))
	title = strings.Join(strings.Fields(title), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		return strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	return title
}
