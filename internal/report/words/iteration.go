package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// Row is one iteration in words. Text of foreign origin stands in Models,
// Failing and Error only.
type Row struct {
	Number     string
	Rounds     string // of an agent that its stop hook kept going; else empty
	Time       string
	Turns      string
	Tools      string
	Tokens     string
	Cost       string
	Files      string
	Guardrails string
	Failing    []string
	Rejected   bool // by the guardrails
	Result     string
	Icon       string
	Error      string
	SHA        string
}

// NewRow words an iteration.
func NewRow(it ralph.Iteration) Row {
	u := it.Usage()
	r := Row{
		Number: IterationNumber(it),
		Rounds: roundWords(it),
		Time:   Span(it.Duration),
		Turns:  Requests(EveryTurn(it)) + Retried(len(it.Turns)-1),
		Tools:  Tools(EveryTurn(it)),
		Tokens: TokenPair(u.Tokens),
		Cost:   u.Cost.String(),
		Files:  files(it.Change),
		SHA:    Sha(it.Commit.SHA),
	}
	r.Guardrails, r.Failing = guardrails(it.Verdicts)
	r.Icon, r.Result, r.Error = Result(it)
	r.Rejected = it.Rejection == ralph.RejectedGuardrails
	return r
}

// EveryTurn is every run of the agent in an iteration: its tries, and the
// questions for a verdict and for a commit message.
func EveryTurn(it ralph.Iteration) []ralph.Turn {
	turns := slices.Clip(it.Turns)
	if it.Asked != nil {
		turns = append(turns, *it.Asked)
	}
	if it.Delivery.Turn != nil {
		turns = append(turns, *it.Delivery.Turn)
	}
	return turns
}

// Requests counts the requests to the model.
func Requests(list []ralph.Turn) string {
	n := 0
	for _, t := range list {
		n += t.Messages
	}
	if n == 0 {
		return doc.Nothing
	}
	return strconv.Itoa(n)
}

// Retried is " (2 retries)"; empty when there was none.
func Retried(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return " (1 retry)"
	default:
		return fmt.Sprintf(" (%d retries)", n)
	}
}

// Tools counts the tool calls.
func Tools(list []ralph.Turn) string {
	calls, failed, counted := 0, 0, false
	for _, t := range list {
		calls, failed = calls+t.Tools, failed+t.ToolErrors
		counted = counted || t.CountsTools
	}
	switch {
	case !counted && calls == 0:
		return doc.Nothing
	case failed > 0:
		return fmt.Sprintf("%d (%d failed)", calls, failed)
	default:
		return strconv.Itoa(calls)
	}
}

func files(c ralph.Change) string {
	if c.Files == 0 {
		return doc.Nothing
	}
	return fmt.Sprintf("%d (%s)", c.Files, ChangedLines(c))
}

// ChangedLines is how many lines came and went with a change of at least one file.
func ChangedLines(c ralph.Change) string {
	switch {
	case c.Uncounted >= c.Files:
		return "lines not counted"
	case c.Uncounted > 0:
		return fmt.Sprintf("%s, %d not counted", Lines(c.Insertions, c.Deletions), c.Uncounted)
	}
	return Lines(c.Insertions, c.Deletions)
}

// Lines is how many lines came and went.
func Lines(came, went int) string { return fmt.Sprintf("+%d −%d", came, went) }

// guardrails counts the verdicts and names those that failed.
func guardrails(verdicts []ralph.Verdict) (text string, failing []string) {
	verdicts = OfSettings(verdicts)
	if len(verdicts) == 0 {
		return doc.Nothing, nil
	}
	mark, passed := "✅", 0
	for _, v := range verdicts {
		switch {
		case v.Passed:
			passed++
		case v.Unfinished && len(failing) == 0:
			mark = Icon(v)
		case !v.Unfinished:
			mark, failing = Icon(v), append(failing, v.Command)
		}
	}
	return fmt.Sprintf("%s %d/%d", mark, passed, len(verdicts)), failing
}

// Icon is the sign of a verdict.
func Icon(v ralph.Verdict) string {
	switch {
	case v.Passed:
		return "✅"
	case v.Unfinished:
		return "🛑"
	}
	return "❌"
}

// OfSettings are the verdicts of the guardrails of the settings.
func OfSettings(verdicts []ralph.Verdict) []ralph.Verdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v ralph.Verdict) bool { return v.Own })
}

// Failed says how a guardrail failed: "failed with exit code 1" or
// "could not be started", with the reason when there is one (foreign text).
func Failed(v ralph.Verdict) (text, reason string) {
	switch {
	case v.Passed:
		return "passed", ""
	case v.Unfinished:
		return "not finished", v.Reason
	case v.Broken:
		return "could not be started", v.Reason
	case v.Reason != "":
		return "failed", v.Reason
	default:
		return "failed with exit code " + strconv.Itoa(v.ExitCode), ""
	}
}

// Exit is an exit code in words; below 0 there was none.
func Exit(code int) string {
	if code < 0 {
		return "no exit code"
	}
	return "exit code " + strconv.Itoa(code)
}

var commitID = lazyregexp.New(`^[0-9a-f]{7,64}$`)

// Sha shortens a commit id; what is no commit id is nothing.
func Sha(id string) string {
	if !commitID.MatchString(id) {
		return ""
	}
	return id[:7]
}

// StoryRunes bounds the id of a story.
const StoryRunes = 40

// Stepped reports whether the iteration was one on a task list.
func Stepped(it ralph.Iteration) bool { return it.Step != ralph.Step{} }

// AnyStep reports whether one of the iterations was.
func AnyStep(list []ralph.Iteration) bool {
	return slices.ContainsFunc(list, Stepped)
}

// StepName is what an iteration is for: "implement US-001". Foreign text; empty
// without a task list.
func StepName(s ralph.Step) string {
	switch {
	case s == ralph.Step{}:
		return ""
	case s.Story == "":
		return "no story left"
	}
	return doc.OneLine(s.Mode, 20) + " " + doc.OneLine(s.Story, StoryRunes)
}

// ApprovedUnprotected is the state of a story whose approval could have been forged
// by a program that the review started.
const ApprovedUnprotected = "approved, not protected"

// Step is the step and what became of it: "review US-001: approved".
// unreviewed reports whether an empty status tells nothing, as in a list without
// reviews, or where it is not known whether there are any. Foreign text.
func Step(it ralph.Iteration, unreviewed bool) string {
	text := StepName(it.Step)
	if it.Step.Story == "" {
		return text
	}
	switch status := it.Settled.Status; it.Step.Mode {
	case ralph.StepReview:
		switch status {
		case ralph.StoryApproved:
			if it.Settled.Unprotected {
				return text + ": " + ApprovedUnprotected
			}
			return text + ": approved"
		case ralph.StoryChangesRequested:
			return text + ": changes requested"
		}
		if it.Rejection == ralph.RejectedStuck { // which the result says
			return text
		}
		return text + ": no verdict that counts"
	case ralph.StepImplement:
		if status == "" && !unreviewed {
			return text + ": not finished"
		}
	case ralph.StepFix:
		if status != ralph.StoryNeedsReview {
			return text + ": not finished"
		}
	}
	return text
}

// StepTitle names the step of an iteration with its story's title, in one line;
// empty without a task list. Foreign text.
func StepTitle(s ralph.Step) string {
	text := StepName(s)
	if title := doc.OneLine(s.Title, 100); title != "" && s.Story != "" {
		text += ": " + title
	}
	return text
}

// IterationNumber is the number of an iteration, or the first and the last of
// the iterations that its session went on for: "1–4".
func IterationNumber(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return fmt.Sprintf("%d–%d", it.Number, it.Number+n-1)
	}
	return strconv.Itoa(it.Number)
}

// roundWords is "4 iterations", or "kept going once" where a stop hook begins no
// iterations; empty when no stop hook had to.
func roundWords(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return Plural(n, "iteration")
	}
	switch n := Kept(it); n {
	case 0:
		return ""
	case 1:
		return "kept going once"
	default:
		return fmt.Sprintf("kept going %d times", n)
	}
}

// Kept counts how often a stop hook kept the agent going.
func Kept(it ralph.Iteration) int {
	n := 0
	for _, t := range it.Turns {
		n += t.Kept
	}
	return n
}

// Rejection is why an iteration did not complete the run, in the words of each
// document. {left}, {failing} and {marker} stand for facts of the iteration.
type Rejection struct {
	icon, result string // of the table
	Status       string // of the session log, in brackets; empty: nothing to say
	Verbose      string
	Left         string // of what is left to do; empty: other lines tell it
}

// Rejections are those that a document words.
func Rejections() map[ralph.Rejection]Rejection {
	return map[ralph.Rejection]Rejection{
		ralph.RejectedTurn:        {"❌", "agent failed", "", "the agent failed", ""},
		ralph.RejectedStopped:     {"🛑", "stopped", "stopped before every check", "the run was stopped", "The run was stopped before all checks had run."},
		ralph.RejectedGuardrails:  {"❌", "guardrails failed", "guardrails failed: {failing}", "{failing guardrails} failed", ""},
		ralph.RejectedSCM:         {"❌", "SCM tasks failed", "the SCM tasks failed", "the SCM tasks failed", "The SCM tasks failed"},
		ralph.RejectedTransition:  {"⚠️", "changes put back", "changes to the task list were put back", "the task list was changed as the step does not allow", "The last iteration changed the task list as it may not; it was put back."},
		ralph.RejectedStuck:       {"⚠️", "no verdict that counts", "the review came to no verdict that counts", "the review came to no verdict that counts", "The last review came to no verdict that counts."},
		ralph.RejectedStoriesLeft: {"▫️", "{left} left", "{left} left", "{left} left", ""},
		ralph.RejectedNoMarker:    {"▫️", "not done yet", "", "{marker} was not found", "The agent did not say that it was done."},
		ralph.RejectedChecks:      {"❌", "checks failed", "the checks of the pushed commit failed", "the checks of the pushed commit failed", "The checks of the pushed commit failed."},
		ralph.RejectedNoWork:      {"⚠️", "said done, no work", "said to be complete without any work", "{marker} was found, but no sign of work", "The agent said that it was done, but there is no sign of work."},
	}
}

// Why words why an iteration did not complete the run; found is false if it did.
func Why(it ralph.Iteration) (why Rejection, found bool) {
	own := slices.ContainsFunc(it.Verdicts, func(v ralph.Verdict) bool { return v.Own && !v.Passed })
	if _, failing := guardrails(it.Verdicts); it.Rejection == ralph.RejectedGuardrails && own && len(failing) == 0 {
		const held = "the work cannot be published as it is"
		return Rejection{"❌", "not publishable", held, held, ""}, true
	}
	why, found = Rejections()[it.Rejection]
	return why, found
}

// Told puts the facts of an iteration into the words of its rejection.
func Told(words string, it ralph.Iteration, marker string) string {
	_, failing := guardrails(it.Verdicts)
	all := len(OfSettings(it.Verdicts))
	return strings.NewReplacer(
		"{left}", Stories(it.Settled.Left), "{marker}", marker,
		"{failing}", fmt.Sprintf("%d of %d", len(failing), all),
		"{failing guardrails}", fmt.Sprintf("%d of %s", len(failing), Plural(all, "guardrail")),
	).Replace(words)
}

// Result says what an iteration came to; detail is foreign text.
func Result(it ralph.Iteration) (icon, text, detail string) {
	if f := it.Last().Failure; f != nil {
		return "❌", strings.ReplaceAll(f.Kind.String(), "-", " "), f.Message
	}
	if it.Rejection == ralph.NotRejected && (it.Marker || it.Settled.Done) {
		return "✅", "done", ""
	}
	why, found := Why(it)
	switch {
	case !found:
		return "▫️", "went on", ""
	case it.Rejection == ralph.RejectedSCM:
		detail = it.Delivery.Error
	}
	return why.icon, Told(why.result, it, ""), detail
}

// HasTasks reports whether the run had a task list.
func HasTasks(r ralph.Report) bool { return r.Tasks.File != "" || len(r.Tasks.Stories) > 0 }

// Stories is "1 story", "2 stories".
func Stories(n int) string {
	if n == 1 {
		return "1 story"
	}
	return strconv.Itoa(n) + " stories"
}

// StoryCount is "3 of 5 stories are done, 1 auto-approved".
func StoryCount(t ralph.TaskList) string {
	done := 0
	for i := range t.Stories {
		if t.Stories[i].Done {
			done++
		}
	}
	are := "are"
	if done == 1 || len(t.Stories) == 1 {
		are = "is"
	}
	text := fmt.Sprintf("%d of %s %s done", done, Stories(len(t.Stories)), are)
	ours := 0
	for i := range t.Stories {
		if one := &t.Stories[i]; one.Done && slices.Contains(t.Only, one.ID) {
			ours++
		}
	}
	switch len(t.Only) {
	case 0:
	case 1:
		not := map[int]string{0: "not "}[ours]
		text = fmt.Sprintf("This run's story is %sdone; in all, %s", not, text)
	default:
		text = fmt.Sprintf("%d of this run's %d stories are done; in all, %s", ours, len(t.Only), text)
	}
	if n := t.AutoApproved(); n > 0 {
		text += fmt.Sprintf(", %d auto-approved", n)
	}
	return text
}

// Commits says what became of the commits. While a run goes on they are pushed.
func Commits(r ralph.Report) string {
	switch p := r.Publication; {
	case p.Lane.Key != "":
		return HandedOver(p.Lane)
	case !p.Pushed && r.Outcome == "":
		return ""
	case !p.Pushed:
		return "not pushed"
	case p.Signed && p.Verified:
		return "signed by the forge, verified"
	case p.Signed:
		return "signed by the forge, not verified"
	}
	return ""
}

// HandedOver says what a lane left for the job that integrates.
func HandedOver(l ralph.Lane) string {
	return fmt.Sprintf("%d of %s handed over", l.Done, Stories(l.Of))
}

// ModeSession is the mode in which one session of the agent is kept going.
const ModeSession = "session"

// SessionStatus names how a kept-going session ended, as its first description
// did; empty in every other mode and for endings that have no such name.
func SessionStatus(r ralph.Report) string {
	if r.Mode != ModeSession {
		return ""
	}
	switch r.Outcome {
	case ralph.Completed:
		return "PROMISE_ACCEPTED"
	case ralph.MaxIterations:
		return "MAX_ITERATIONS_REACHED"
	}
	return ""
}
