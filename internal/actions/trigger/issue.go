package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// issue decides on what happened to an issue: it is a task when it gets the
// label.
func (d Decision) issue() (Decision, error) {
	e, is := d.event, d.event.Issue
	labels := setsLabel(e.Action)
	switch {
	case !labels && !d.uses():
		return d.owners()
	case !labels && !d.settings.HasPrompt:
		return nothing("issues (%s): an issue starts a run when it gets the label %q", word(e.Action), d.settings.Label)
	case is == nil || is.Number <= 0:
		return Decision{}, fmt.Errorf("the event issues (%s) has no issue", word(e.Action))
	case labels && !d.labelled(is.Labels):
		return nothing("issue #%d got the label %s: a run is started by %q", is.Number, quoted(e.Label), d.settings.Label)
	}
	d.Run, d.CommentOn = true, is.Number
	if err := d.startedBy(fmt.Sprintf("issue #%d", is.Number), labels); err != nil {
		return Decision{}, err
	}
	if err := open("issue", is.Number, is.State, is.Locked); err != nil {
		return d.refused(err)
	}
	if !d.uses() {
		return d, nil
	}
	if _, err := d.quotes(is.Author, fmt.Sprintf("the author of issue #%d", is.Number), false); err != nil {
		return d.refused(err)
	}
	d.Issue, d.Branch = is.Number, issueBranch+strconv.Itoa(is.Number)
	d.asks = asks{
		task: fmt.Sprintf("Resolve issue #%d of this repository: make the changes it asks for.", is.Number),
		from: fmt.Sprintf("This run was started by issue #%d. Take it into account where the task above leaves room for it.", is.Number),
	}
	d.describe("issue", is.Number, is.Author, is.Title, is.Body, false)
	d.write()
	return d, nil
}

// startedBy says what started the run, and whose permission that needs.
func (d *Decision) startedBy(what string, labels bool) error {
	e := d.event
	if labels {
		d.Why = fmt.Sprintf("Started by the label %q on %s, set by %s", d.settings.Label, what, word(e.Sender.Login))
		return d.ask(e.Sender, "who set the label")
	}
	d.Why = fmt.Sprintf("Started by %s (%s), by %s", what, word(e.Action), word(e.Sender.Login))
	return d.ask(e.Sender, "who caused the event")
}

// setsLabel reports whether an action sets a label. Gitea says label_updated,
// whatever happened to the labels.
func setsLabel(action string) bool { return action == "labeled" || action == "label_updated" }

// labelled reports whether the label that starts a run was set. Where the event
// does not say which one was set, the issue has to have it.
func (d *Decision) labelled(now []string) bool {
	if d.event.Added != nil && d.event.Action == "label_updated" {
		now = d.event.Added
	}
	if d.event.Label != "" || d.event.Action == "labeled" && len(now) == 0 {
		return strings.EqualFold(d.event.Label, d.settings.Label)
	}
	return slices.ContainsFunc(now, func(l string) bool { return strings.EqualFold(l, d.settings.Label) })
}

// issueBranch begins the name of an issue's branch.
const issueBranch = "ralph/issue-"

// IssueOf is the issue that a branch is named for; 0: none.
func IssueOf(branch string) int {
	digits, is := strings.CutPrefix(branch, issueBranch)
	n, err := strconv.Atoi(digits)
	if !is || err != nil || n <= 0 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// open refuses what is closed or locked.
func open(what string, number int, state string, locked bool) error {
	switch {
	case strings.EqualFold(state, "closed"):
		return fmt.Errorf("%s #%d is closed: open it again before ralph works on it", what, number)
	case locked:
		return fmt.Errorf("%s #%d is locked: unlock it before ralph works on it", what, number)
	}
	return nil
}

// comment decides on a comment on an issue or a pull request.
func (d Decision) comment() (Decision, error) {
	e, command := d.event, d.settings.Command
	if e.Action != "created" {
		return nothing("issue_comment (%s): only a new comment starts a run", word(e.Action))
	}
	if e.Issue == nil || e.Comment == nil || e.Issue.Number <= 0 {
		return Decision{}, fmt.Errorf("the event issue_comment (%s) has no issue or no comment", word(e.Action))
	}
	is := e.Issue
	what := "issue"
	if is.IsPullRequest {
		what = "pull request"
	}
	body := clean(e.Comment.Body, maxBody)
	request, asked := find(body.text, command)
	switch {
	case strings.HasPrefix(strings.TrimSpace(e.Comment.Body), ownMark):
		return nothing("the comment on %s #%d is ralph's own", what, is.Number)
	case !asked:
		return nothing("the comment on %s #%d has no line that begins with %s", what, is.Number, command)
	}
	d.Run, d.CommentOn = true, is.Number
	d.Why = fmt.Sprintf("Started by %s in a comment of %s on %s #%d", command, word(e.Comment.Author.Login), what, is.Number)
	if err := d.ask(e.Comment.Author, "who wrote the comment"); err != nil {
		return Decision{}, err
	}
	if err := d.ask(e.Sender, "who sent it"); err != nil {
		return d.refused(err)
	}
	if err := open(what, is.Number, is.State, is.Locked); err != nil {
		return d.refused(err)
	}
	if is.IsPullRequest { // whose head has to be known, whatever becomes of the text
		d.PullRequest, d.Needs = is.Number, NeedsPull
	} else if d.uses() {
		d.Issue, d.Branch = is.Number, issueBranch+strconv.Itoa(is.Number)
	}
	if !d.uses() {
		return d, nil
	}
	use, err := d.quotes(is.Author, fmt.Sprintf("the author of %s #%d", what, is.Number), request != "")
	if err != nil {
		return d.refused(err)
	}
	d.asks = d.wishes(what, request != "")
	if request != "" {
		body.text = request
		d.asks.title = body.line()
		d.asks.add(part{head: fmt.Sprintf("What %s asks for in the comment", word(e.Comment.Author.Login)), text: body})
		d.Notes = append(d.Notes, body.notes("the comment")...)
	}
	if use {
		d.describe(what, is.Number, is.Author, is.Title, is.Body, request != "")
	}
	d.write()
	return d, nil
}

// wishes is the instruction of a command. On a pull request it is for its
// branch.
func (d *Decision) wishes(what string, request bool) asks {
	n := d.event.Issue.Number
	a := asks{from: fmt.Sprintf("This run was started by a comment on %s #%d. Take it into account where the task above leaves room for it.", what, n)}
	switch {
	case request && what == "issue":
		a.task = fmt.Sprintf("Do what is asked for in a comment on issue #%d of this repository.", n)
	case request:
		a.task = fmt.Sprintf("Do what is asked for in a comment on pull request #%d of this repository, whose branch is checked out.", n)
	case what == "issue":
		a.task = fmt.Sprintf("Resolve issue #%d of this repository: make the changes it asks for.", n)
	default:
		a.task = fmt.Sprintf("Work on pull request #%d of this repository, whose branch is checked out: complete what its description says.", n)
	}
	return a
}

// ownMark is what the comments begin with that ralph writes, and what stands in
// its pull requests.
const ownMark = "<!-- ralph"
