package trigger

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
	Login string // empty for an account that is gone
	Type  string // User, Bot, Organization, Mannequin; Gitea tells none
}

// Issue is the issue an event is about, or, in a comment on a pull request, the
// side of it that is an issue.
type Issue struct {
	Number        int
	Title, Body   string
	Author        Person
	State         string // open or closed
	Locked        bool
	Labels        []string
	IsPullRequest bool
}

// Comment is the comment an event is about.
type Comment struct {
	ID     int64
	Body   string
	Author Person
	URL    string
}

// PullRequest is the pull request an event is about.
type PullRequest struct {
	Number      int
	Title, Body string
	Author      Person
	State       string // open or closed
	Locked      bool
	Labels      []string
	HeadRef     string
	HeadSHA     string
	BaseRef     string
	// HeadRepository is the repository of the head, owner/name; empty when it is
	// gone.
	HeadRepository string
	// Fork says that the head lies in another repository than the base, or in one
	// that is gone.
	Fork bool
}

// WorkflowRun is the run of another workflow that an event is about.
type WorkflowRun struct {
	ID             int64
	Name           string // of the workflow
	Event          string // what had started it
	Conclusion     string // success, failure, timed_out, cancelled, ...; empty while it runs
	HeadBranch     string // a tag's name in the run of a tag
	HeadSHA        string
	HeadMessage    string // of the head's commit
	HeadRepository string // owner/name; empty when it is gone
	URL            string
	Attempt        int
	Actor          Person // who caused it
	Triggering     Person // who started this attempt
	// PullRequests are the open pull requests of the head within the repository.
	PullRequests []RunPull
}

// RunPull is a pull request whose head another workflow ran on.
type RunPull struct {
	Number  int
	HeadRef string
	BaseRef string
}
