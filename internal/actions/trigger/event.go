package trigger

import "encoding/json"

// Event is what started the run, as the runner's event file tells it. Every
// string in it was written by others. What an event does not have is empty or
// nil. Its shapes are those of GitHub's webhook payloads; Gitea's and Forgejo's
// have the same names, except where a field says so.
type Event struct {
	// Name is GITHUB_EVENT_NAME. A workflow that is called by another one
	// (workflow_call) has the name and the payload of its caller's event.
	Name          string
	Action        string // what happened, such as labeled; the type of a repository_dispatch
	Sender        Person // who did it
	Repository    string // owner/name
	DefaultBranch string

	Label       string   // that was set or taken away; Gitea names it in Added, or not at all
	Added       []string // labels that were set; nil where the event does not say (all but newer Giteas)
	Issue       *Issue
	Comment     *Comment
	PullRequest *PullRequest
	WorkflowRun *WorkflowRun

	Inputs       map[string]string // of a workflow_dispatch; values that are no strings in JSON's spelling
	ClientPrompt string            // prompt in the client_payload of a repository_dispatch
}

// Person is an account of the forge.
type Person struct {
	Login string `json:"login"` // empty for an account that is gone
	Type  string `json:"type"`  // User, Bot, Organization, Mannequin; Gitea tells none
}

// Labels are the names of labels.
type Labels []string

// UnmarshalJSON reads labels as the payloads of events have them.
func (l *Labels) UnmarshalJSON(text []byte) error {
	var list []struct {
		Name string `json:"name"`
	}
	err := json.Unmarshal(text, &list)
	for _, one := range list {
		*l = append(*l, one.Name)
	}
	return err
}

// Issue is the issue an event is about, or, in a comment on a pull request, the
// side of it that is an issue.
type Issue struct {
	Number        int    `json:"number"`
	Title         string `json:"title"`
	Body          string `json:"body"`
	Author        Person `json:"user"`
	State         string `json:"state"` // open or closed
	Locked        bool   `json:"locked"`
	Labels        Labels `json:"labels"`
	IsPullRequest bool   `json:"-"`
}

// Comment is the comment an event is about.
type Comment struct {
	Body   string `json:"body"`
	Author Person `json:"user"`
}

// PullRequest is the pull request an event is about.
type PullRequest struct {
	Number  int    `json:"number"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	Author  Person `json:"user"`
	State   string `json:"state"` // open or closed
	Locked  bool   `json:"locked"`
	Labels  Labels `json:"labels"`
	HeadRef string `json:"-"`
	BaseRef string `json:"-"`
	// HeadRepository is the repository of the head, owner/name; empty when it is
	// gone.
	HeadRepository string `json:"-"`
	// Fork says that the head lies in another repository than the base, or in one
	// that is gone.
	Fork bool `json:"-"`
}

// WorkflowRun is the run of another workflow that an event is about.
type WorkflowRun struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`        // of the workflow
	Event          string `json:"event"`       // what had started it
	Conclusion     string `json:"conclusion"`  // success, failure, timed_out, cancelled, ...; empty while it runs
	HeadBranch     string `json:"head_branch"` // a tag's name in the run of a tag
	HeadSHA        string `json:"head_sha"`
	HeadMessage    string `json:"-"`                // of the head's commit
	HeadRepository string `json:"-"`                // owner/name; empty when it is gone
	Actor          Person `json:"actor"`            // who caused it
	Triggering     Person `json:"triggering_actor"` // who started this attempt
	// PullRequests are the open pull requests of the head within the repository.
	PullRequests []RunPull `json:"-"`
}

// RunPull is a pull request whose head another workflow ran on.
type RunPull struct {
	Number  int
	HeadRef string
	BaseRef string
}
