// Package trigger decides what the event that started a run means: whether
// there is anything to do, who has to be allowed to ask for it, what of its
// text becomes the prompt, and where the work goes. It is pure: what has to be
// asked of the forge is named in the decision, and handed in.
//
// The text of an event was written by people of whom nothing is known. It is
// cleaned of what they see and a reader of the page does not, bounded, and put
// into fences that it cannot close.
package trigger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Use says when the text of an event is used.
type Use string

// The values of Use. The zero value is UseAuto.
const (
	UseAuto   Use = "auto"   // when the owner gave no prompt
	UseAlways Use = "always" // below the owner's prompt
	UseNever  Use = "never"  // the event only starts the run, whatever it says
)

// Defaults of Settings.
const (
	DefaultCommand = "/ralph"
	DefaultLabel   = "ralph"
)

// Settings are the owner's wishes.
type Settings struct {
	Command   string   // empty: DefaultCommand
	Label     string   // empty: DefaultLabel
	AllowBots []string // logins, with or without [bot]
	HasPrompt bool     // the owner gave a prompt himself, in whatever way
	Use       Use
}

// Decision is what becomes of a run. Decide makes it; where Needs is set it is
// complete only after the step named there.
type Decision struct {
	Run bool   // false: there is nothing to do, and the run ends well at once
	Why string // one line for the log: what started the run, or why nothing is to do; may quote foreign names

	// Prompt is the task, or, below a prompt of the owner's, what belongs to it.
	// Empty when the event has no text, or none that is to be used.
	Prompt string
	// Title is what the pull request may be called; one line, foreign text. Empty:
	// the usual rules.
	Title string

	// Branch receives the work, and Base is what the pull request is made against;
	// empty: the usual rules. Existing says that Branch is the head of an open pull
	// request. Both are names that git takes.
	Branch, Base string
	Existing     bool

	Issue       int // that the pull request closes; 0: none
	PullRequest int // that is worked on; 0: none
	CommentOn   int // the issue or pull request that is told of the run; 0: none

	Check []Check // who has to be allowed to write to the repository
	// Refuse is why the run is refused when all of Check may write; nothing else
	// of the decision counts then. When one of them may not, nothing is to do:
	// those who may not ask cannot turn a run red either.
	Refuse error
	Needs  Needs
	RunID  int64 // the run that WithRun wants to know about

	Notes []string // what was done to the text; one line each, for the log and the record

	asks     asks
	settings Settings
	event    Event
}

// Needs is what has to be asked of the forge before a decision is complete.
type Needs int

const (
	NeedsNothing Needs = iota
	NeedsPull          // the pull request with the number PullRequest: WithPull
	NeedsRun           // the failed jobs of the run RunID: WithRun
)

// Check is somebody whose permission has to be write or more.
type Check struct {
	Login string
	Who   string // such as "who wrote the comment", for the message when it is less
	// Optional says that the run can do without his text: Without(Login) makes a
	// decision that does not use it. Otherwise the run is refused.
	Optional bool
	// Asked says that he asked for the run. Otherwise his words are used.
	Asked bool
}

// Decide decides. The error is a refusal, in words for the owner, whoever asked.
func Decide(e Event, s Settings) (Decision, error) {
	if s.Command == "" {
		s.Command = DefaultCommand
	}
	if s.Label == "" {
		s.Label = DefaultLabel
	}
	d, err := decide(e, s)
	if err == nil && d.Run && d.Refuse == nil && !s.HasPrompt && d.Prompt == "" && d.Needs == NeedsNothing {
		err = fmt.Errorf("the event %s has no task text: set prompt or prompt-file", word(e.Name))
		if Anybodys(e.Name) && s.Use != UseNever { // else strangers could turn runs red
			return nothing("%s", upper(err.Error()))
		}
		return Decision{}, err
	}
	return d, err
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func decide(e Event, s Settings) (Decision, error) {
	d := Decision{event: e, settings: s, Why: "Started by " + word(e.Name)}
	if e.Name == "" {
		d.Why = "Started by hand"
	}
	if e.Action != "" {
		d.Why += " (" + word(e.Action) + ")"
	}
	switch e.Name {
	case "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment":
		if err := e.noFork(); err != nil {
			return Decision{}, err
		}
	}
	if s.Use == UseNever && e.Name != "workflow_run" {
		d.Run = true
		return d, nil
	}
	switch e.Name {
	case "issues":
		return d.issue()
	case "issue_comment", "pull_request_comment": // the latter is Gitea's
		return d.comment()
	case "pull_request", "pull_request_target":
		return d.pull()
	case "workflow_run":
		return d.workflow()
	case "workflow_dispatch":
		return d.dispatched(e.Inputs["prompt"], "the prompt it was started with"), nil
	case "repository_dispatch":
		return d.dispatched(e.ClientPrompt, "the prompt in its client_payload"), nil
	}
	return d.owners()
}

// Below puts the event's text below the owner's prompt.
func (d Decision) Below(prompt string) string {
	switch {
	case d.Prompt == "":
		return prompt
	case strings.TrimSpace(prompt) == "":
		return d.Prompt
	}
	return strings.TrimRight(prompt, " \t\r\n") + "\n\n" + d.Prompt
}

// uses reports whether the text of the event is used.
func (d *Decision) uses() bool {
	return d.settings.Use == UseAlways || d.settings.Use != UseNever && !d.settings.HasPrompt
}

// nothing is the decision that there is nothing to do.
func nothing(format string, args ...any) (Decision, error) {
	return Decision{Why: fmt.Sprintf(format, args...)}, nil
}

// dispatched is the decision on an event that only those can send who may write
// to the repository: its prompt is the task itself.
func (d Decision) dispatched(prompt, whose string) Decision {
	d.Run = true
	if !d.uses() {
		return d
	}
	text := plain(prompt, maxBody) // as typed: no page renders it
	d.Prompt = text.String()
	d.Notes = text.notes(whose)
	return d
}

// noFork refuses a pull request whose head lies elsewhere.
func (e Event) noFork() error {
	pr := e.PullRequest
	if pr == nil || !pr.Fork {
		return nil
	}
	where := "a repository that is gone"
	if pr.HeadRepository != "" {
		where = word(pr.HeadRepository)
	}
	if e.Name == "pull_request_target" {
		return fmt.Errorf("pull_request_target runs with the secrets of this repository, and the head of pull request #%d lies in %s: ralph runs on heads in the repository itself only", pr.Number, where)
	}
	return fork(pr.Number, where)
}

func fork(number int, where string) error {
	return fmt.Errorf("the head of pull request #%d lies in %s: ralph runs on heads in the repository itself only, because it pushes to them and starts what lies there", number, where)
}

// onto sets the branch of a pull request as the one that is worked on.
func (d *Decision) onto(number int, head, base string) error {
	if err := errors.Join(ralph.CheckRef(head), ralph.CheckRef(base)); err != nil {
		return fmt.Errorf("pull request #%d, from %s into %s: %w", number, word(head), word(base), err)
	}
	if head == d.event.DefaultBranch {
		return fmt.Errorf("the head of pull request #%d is %s, the default branch: ralph does not push there", number, word(head))
	}
	d.Branch, d.Base, d.Existing, d.PullRequest = head, base, true, number
	return nil
}
