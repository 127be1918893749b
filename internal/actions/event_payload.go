package actions

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/org/ralph-action/internal/actions/trigger"
)

// payload is what is read of an event file: GitHub's webhook payloads
// (docs.github.com, "Webhook events and payloads"; shapes as in
// @octokit/webhooks-schemas 7.6.1), and what Gitea 1.24 names otherwise.
type payload struct {
	Action     string     `json:"action"`
	Sender     *account   `json:"sender"`
	Repository repository `json:"repository"`
	Label      *label     `json:"label"`
	Changes    *struct {
		Added []label `json:"added_labels"` // Gitea 1.26, with label_updated; null when labels were taken away only
	} `json:"changes"`
	Issue       *issue       `json:"issue"`
	IsPull      bool         `json:"is_pull"` // Gitea, with a comment
	Comment     *comment     `json:"comment"`
	PullRequest *pullRequest `json:"pull_request"`
	WorkflowRun *workflowRun `json:"workflow_run"`

	Inputs        json.RawMessage `json:"inputs"`         // of any shape: the workflow decides
	ClientPayload json.RawMessage `json:"client_payload"` // of any shape: the sender decides
}

type account struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
}

type label struct {
	Name string `json:"name"`
}

// thread is what issues and pull requests have in common.
type thread struct {
	Number   int      `json:"number"`
	Title    string   `json:"title"`
	Body     string   `json:"body"`
	User     *account `json:"user"`
	State    string   `json:"state"`
	Locked   bool     `json:"locked"`
	IsLocked bool     `json:"is_locked"` // Gitea
	Labels   []label  `json:"labels"`
}

type issue struct {
	thread
	PullRequest json.RawMessage `json:"pull_request"` // there when it is one
}

type comment struct {
	ID      int64    `json:"id"`
	Body    string   `json:"body"`
	User    *account `json:"user"`
	HTMLURL string   `json:"html_url"`
}

type pullRequest struct {
	thread
	Head side `json:"head"`
	Base side `json:"base"`
}

type side struct {
	Ref  string      `json:"ref"`
	SHA  string      `json:"sha"`
	Repo *repository `json:"repo"`
}

type workflowRun struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Event      string `json:"event"`
	Conclusion string `json:"conclusion"`
	HeadBranch string `json:"head_branch"`
	HeadSHA    string `json:"head_sha"`
	HeadCommit *struct {
		Message string `json:"message"`
	} `json:"head_commit"`
	HeadRepository  *repository `json:"head_repository"`
	HTMLURL         string      `json:"html_url"`
	RunAttempt      int         `json:"run_attempt"`
	Actor           *account    `json:"actor"`
	TriggeringActor *account    `json:"triggering_actor"`
	PullRequests    []struct {
		Number int  `json:"number"`
		Head   side `json:"head"`
		Base   side `json:"base"`
	} `json:"pull_requests"`
}

// parseEvent reads the payload of the event with the name.
func parseEvent(name string, data []byte) (Event, error) {
	var p *payload
	if err := json.Unmarshal(data, &p); err != nil {
		return Event{}, err
	}
	if p == nil {
		return Event{}, errors.New("it is null")
	}
	e := Event{
		Name: name, Action: p.Action, Sender: p.Sender.person(),
		Repository: p.Repository.FullName, DefaultBranch: p.Repository.DefaultBranch,
		Inputs: inputs(p.Inputs), ClientPrompt: clientPrompt(p.ClientPayload),
	}
	if p.Label != nil {
		e.Label = p.Label.Name
	}
	if p.Changes != nil {
		e.Added = append([]string{}, names(p.Changes.Added)...)
	}
	if is := p.Issue; is != nil {
		e.Issue = &trigger.Issue{
			Number: is.Number, Title: is.Title, Body: is.Body, Author: is.User.person(), State: is.State,
			Locked: is.Locked || is.IsLocked, Labels: names(is.Labels), IsPullRequest: p.IsPull || there(is.PullRequest),
		}
	}
	if c := p.Comment; c != nil {
		e.Comment = &trigger.Comment{ID: c.ID, Body: c.Body, Author: c.User.person(), URL: c.HTMLURL}
	}
	if pr := p.PullRequest; pr != nil {
		e.PullRequest = &trigger.PullRequest{
			Number: pr.Number, Title: pr.Title, Body: pr.Body, Author: pr.User.person(), State: pr.State,
			Locked: pr.Locked || pr.IsLocked, Labels: names(pr.Labels),
			HeadRef: pr.Head.Ref, HeadSHA: pr.Head.SHA, BaseRef: pr.Base.Ref,
			HeadRepository: pr.Head.repository(), Fork: !same(pr.Head.Repo, pr.Base.Repo),
		}
	}
	if p.WorkflowRun != nil {
		e.WorkflowRun = p.WorkflowRun.run(p.Repository)
	}
	return e, nil
}

func (w *workflowRun) run(here repository) *trigger.WorkflowRun {
	run := &trigger.WorkflowRun{
		ID: w.ID, Name: w.Name, Event: w.Event, Conclusion: w.Conclusion, HeadBranch: w.HeadBranch, HeadSHA: w.HeadSHA,
		URL: w.HTMLURL, Attempt: w.RunAttempt, Actor: w.Actor.person(), Triggering: w.TriggeringActor.person(),
	}
	if w.HeadCommit != nil {
		run.HeadMessage = w.HeadCommit.Message
	}
	if w.HeadRepository != nil {
		run.HeadRepository = w.HeadRepository.FullName
	}
	for _, pr := range w.PullRequests {
		// The repositories here have an id, and no full name. A commit can be the head
		// of pull requests in forks, too.
		if pr.Head.Repo != nil && pr.Base.Repo != nil && pr.Head.Repo.ID == here.ID && pr.Base.Repo.ID == here.ID {
			run.PullRequests = append(run.PullRequests, trigger.RunPull{Number: pr.Number, HeadRef: pr.Head.Ref, BaseRef: pr.Base.Ref})
		}
	}
	return run
}

// person is an account, or nobody.
func (a *account) person() trigger.Person {
	if a == nil {
		return trigger.Person{}
	}
	return trigger.Person{Login: a.Login, Type: a.Type}
}

func (s side) repository() string {
	if s.Repo == nil {
		return ""
	}
	return s.Repo.FullName
}

func same(a, b *repository) bool {
	return a != nil && b != nil && a.FullName != "" && strings.EqualFold(a.FullName, b.FullName)
}

func names(labels []label) []string {
	var all []string
	for _, l := range labels {
		all = append(all, l.Name)
	}
	return all
}

// there reports whether a value is in the payload.
func there(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// inputs are those of a workflow_dispatch. Values that are no strings, as the
// API takes them, are kept in JSON's spelling.
func inputs(raw json.RawMessage) map[string]string {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil || len(values) == 0 {
		return nil
	}
	all := make(map[string]string, len(values))
	for name, value := range values {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		all[name] = s
	}
	return all
}

// clientPrompt is the prompt that the sender of a repository_dispatch gave.
// It returns "" if the payload has an unexpected shape.
func clientPrompt(raw json.RawMessage) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(raw, &values)
	var prompt string
	_ = json.Unmarshal(values["prompt"], &prompt)
	return prompt
}
