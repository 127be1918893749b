package trigger

import (
	"fmt"
	"strings"
)

// pull decides on an event of a pull request in the repository itself.
func (d Decision) pull() (Decision, error) {
	e := d.event
	pr := e.PullRequest
	if pr == nil || pr.Number <= 0 {
		if d.uses() {
			return Decision{}, fmt.Errorf("the event %s has no pull request", word(e.Name))
		}
		return d.owners()
	}
	labels, opens := setsLabel(e.Action), e.Action == "opened" || e.Action == "reopened" || e.Action == "ready_for_review"
	switch {
	case labels && !d.labelled(pr.Labels):
		return nothing("pull request #%d got the label %s: a run is started by %q", pr.Number, quoted(e.Label), d.settings.Label)
	case !labels && e.Action != "closed" && (strings.HasPrefix(pr.HeadRef, "ralph/") || strings.Contains(pr.Body, ownMark)):
		return nothing("pull request #%d (%s) is ralph's own: give it the label %q, or write %s in a comment", pr.Number, word(e.Action), d.settings.Label, d.settings.Command)
	case !labels && !d.uses():
		return d.owners()
	case !labels && !opens && !d.settings.HasPrompt:
		return nothing("%s (%s): a pull request starts a run when it is opened, or gets the label %q", word(e.Name), word(e.Action), d.settings.Label)
	case !labels && bot(e.Sender) && !d.allowed(e.Sender):
		return nothing("pull request #%d (%s): %s is a bot that allow-bots does not name", pr.Number, word(e.Action), word(e.Sender.Login))
	}
	d.Run, d.CommentOn = true, pr.Number
	if err := d.startedBy(fmt.Sprintf("pull request #%d", pr.Number), labels); err != nil {
		return Decision{}, err
	}
	if err := open("pull request", pr.Number, pr.State, pr.Locked); err != nil {
		return d.refused(err)
	}
	if !d.uses() {
		return d, nil
	}
	if err := d.onto(pr.Number, pr.HeadRef, pr.BaseRef); err != nil {
		return d.refused(err)
	}
	if _, err := d.quotes(pr.Author, fmt.Sprintf("the author of pull request #%d", pr.Number), false); err != nil {
		return d.refused(err)
	}
	d.asks = asks{
		task: fmt.Sprintf("Work on pull request #%d of this repository, whose branch is checked out: complete what its description says.", pr.Number),
		from: fmt.Sprintf("This run was started by pull request #%d. Take it into account where the task above leaves room for it.", pr.Number),
	}
	d.describe("pull request", pr.Number, pr.Author, pr.Title, pr.Body, false)
	d.write()
	return d, nil
}

// Pull is a pull request as the forge knows it now.
type Pull struct {
	State          string // open or closed
	HeadRef        string
	HeadRepository string // owner/name; empty when it is gone
	BaseRef        string
}

// WithPull completes a decision that NeedsPull. The error is a refusal.
func (d Decision) WithPull(p Pull) (Decision, error) {
	d.Needs = NeedsNothing
	n := d.PullRequest
	if p.HeadRepository == "" || !strings.EqualFold(p.HeadRepository, d.event.Repository) {
		where := "a repository that is gone"
		if p.HeadRepository != "" {
			where = word(p.HeadRepository)
		}
		return Decision{}, fork(n, where)
	}
	if err := open("pull request", n, p.State, false); err != nil {
		return Decision{}, err
	}
	if !d.uses() {
		d.PullRequest = 0
		return d, nil
	}
	if err := d.onto(n, p.HeadRef, p.BaseRef); err != nil {
		return Decision{}, err
	}
	return d, nil
}
