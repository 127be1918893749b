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
	Action     string         `json:"action"`
	Sender     trigger.Person `json:"sender"`
	Repository repository     `json:"repository"`
	Label      struct {
		Name string `json:"name"`
	} `json:"label"`
	Changes *struct {
		Added trigger.Labels `json:"added_labels"` // Gitea 1.26, with label_updated; null when labels were taken away only
	} `json:"changes"`
	Issue *struct {
		trigger.Issue
		IsLocked    bool            `json:"is_locked"`    // Gitea
		PullRequest json.RawMessage `json:"pull_request"` // there when it is one
	} `json:"issue"`
	IsPull      bool             `json:"is_pull"` // Gitea, with a comment
	Comment     *trigger.Comment `json:"comment"`
	PullRequest *struct {
		trigger.PullRequest
		IsLocked bool `json:"is_locked"`
		Head     side `json:"head"`
		Base     side `json:"base"`
	} `json:"pull_request"`
	WorkflowRun *workflowRun `json:"workflow_run"`

	Inputs        json.RawMessage `json:"inputs"`         // of any shape: the workflow decides
	ClientPayload json.RawMessage `json:"client_payload"` // of any shape: the sender decides
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
}

type side struct {
	Ref  string      `json:"ref"`
	Repo *repository `json:"repo"`
}

type workflowRun struct {
	trigger.WorkflowRun
	HeadCommit struct {
		Message string `json:"message"`
	} `json:"head_commit"`
	HeadRepository repository `json:"head_repository"`
	PullRequests   []struct {
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
		Name: name, Action: p.Action, Sender: p.Sender, Label: p.Label.Name, Comment: p.Comment,
		Repository: p.Repository.FullName, DefaultBranch: p.Repository.DefaultBranch,
		Inputs: inputs(p.Inputs), ClientPrompt: clientPrompt(p.ClientPayload),
	}
	if p.Changes != nil {
		e.Added = append([]string{}, p.Changes.Added...)
	}
	if is := p.Issue; is != nil {
		e.Issue = &is.Issue
		e.Issue.Locked, e.Issue.IsPullRequest = is.Locked || is.IsLocked, p.IsPull || there(is.PullRequest)
	}
	if pr := p.PullRequest; pr != nil {
		e.PullRequest = &pr.PullRequest
		pr.Locked = pr.Locked || pr.IsLocked
		pr.HeadRef, pr.BaseRef = pr.Head.Ref, pr.Base.Ref
		pr.HeadRepository, pr.Fork = pr.Head.repository(), !same(pr.Head.Repo, pr.Base.Repo)
	}
	if p.WorkflowRun != nil {
		e.WorkflowRun = p.WorkflowRun.run(p.Repository)
	}
	return e, nil
}

func (w *workflowRun) run(here repository) *trigger.WorkflowRun {
	run := &w.WorkflowRun
	run.HeadMessage, run.HeadRepository = w.HeadCommit.Message, w.HeadRepository.FullName
	for _, pr := range w.PullRequests {
		// The repositories here have an id, and no full name. A commit can be the head
		// of pull requests in forks, too.
		if pr.Head.Repo != nil && pr.Base.Repo != nil && pr.Head.Repo.ID == here.ID && pr.Base.Repo.ID == here.ID {
			run.PullRequests = append(run.PullRequests, trigger.RunPull{Number: pr.Number, HeadRef: pr.Head.Ref, BaseRef: pr.Base.Ref})
		}
	}
	return run
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
