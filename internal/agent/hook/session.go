package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/lib/printable"
)

// Status is how the last stop of a session loop was answered.
type Status string

// The statuses; a stop without any promise has none.
const (
	PromiseAccepted      Status = "PROMISE_ACCEPTED"       // the loop is over
	PromiseRejected      Status = "PROMISE_REJECTED"       // seen, but not believed; the loop goes on
	MaxIterationsReached Status = "MAX_ITERATIONS_REACHED" // the loop is over without a promise
)

const (
	// DefaultMinToolCalls is the evidence a promise needs.
	DefaultMinToolCalls = 1
	// Reject and Accept are the policies for a promise without work.
	Reject = "reject"
	Accept = "accept"

	maxState    = 1 << 20   // bytes of an encoded session
	maxTask     = 128 << 10 // runes of the task that a continuation repeats
	maxLastText = 16 << 10  // runes
)

// Session is the state of one loop within one agent session.
type Session struct {
	TaskPrompt        string `json:"taskPrompt"`
	PromiseToken      string `json:"promiseToken"`
	PromiseMarker     string `json:"promiseMarker"`
	Iteration         int    `json:"iteration"`     // runs that have ended, from 0
	MaxIterations     int    `json:"maxIterations"` // 0: no limit
	MinToolCalls      int    `json:"minToolCalls"`
	OnPromiseNoWork   string `json:"onPromiseNoWork"`
	ToolCallsThisRun  int    `json:"toolCallsThisRun"` // by the main agent, since the loop began
	PromiseSeen       bool   `json:"promiseSeen"`      // in what was said since the stop before
	LastAssistantText string `json:"lastAssistantText"`
	// Ultrawork stands before every continuation; empty: nothing does.
	Ultrawork string `json:"ultrawork,omitempty"`
	Status    Status `json:"status,omitempty"`
	// Began bounds what counts as work, Said what counts as a promise: a
	// rejected promise is not remembered. Zero: everything counts.
	Began time.Time `json:"began,omitzero"`
	Said  time.Time `json:"said,omitzero"`
	// Read is how much of the transcript earlier stops have read, in bytes.
	Read int64 `json:"read,omitempty"`
	// Tree tells the working tree as it was when the loop began from any other;
	// what it is made of is its maker's affair. Empty: unknown.
	Tree string `json:"tree,omitempty"`
}

// Over reports whether the loop has ended: later stops are none of its business.
func (s *Session) Over() bool { return s.Status == PromiseAccepted || s.Status == MaxIterationsReached }

// NewSession begins a loop with the default evidence.
func NewSession(task, token string, maxIterations int, began time.Time) Session {
	return Session{
		TaskPrompt: task, PromiseToken: token, PromiseMarker: marker(token), MaxIterations: maxIterations,
		MinToolCalls: DefaultMinToolCalls, OnPromiseNoWork: Reject, Began: began,
	}
}

func marker(token string) string { return "<promise>" + token + "</promise>" }

// DecodeSession reads what Encode wrote.
func DecodeSession(data []byte) (Session, error) {
	var s Session
	if len(data) > maxState {
		return s, fmt.Errorf("session state has %d bytes; at most %d would be right", len(data), maxState)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Session{}, fmt.Errorf("session state: %w", err)
	}
	if s.PromiseToken == "" {
		return Session{}, errors.New("session state names no promiseToken")
	}
	if s.Iteration < 0 || s.MaxIterations < 0 || s.MinToolCalls < 0 || s.ToolCallsThisRun < 0 || s.Read < 0 {
		return Session{}, errors.New("session state has a negative count")
	}
	s.PromiseMarker = marker(s.PromiseToken)
	return s, nil
}

// Encode is the session as JSON.
func (s Session) Encode() ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

// Start is what the agent is told when the loop begins.
func (s Session) Start() string {
	return s.TaskPrompt + "\n\n" +
		"This session is a loop: it ends when the task is fully done, and not before. Only when it is fully done, output the exact marker\n" +
		s.PromiseMarker + "\n" +
		"The marker is compared character by character: same case, no white space inside the tag, no variants. " +
		"If the task is not done, do not output the promise; whatever else you say, you will be asked to go on."
}

// Entry is one line of the loop's log.
type Entry struct {
	Iteration int    `json:"iteration"` // the run that wanted to end, from 1
	Promise   string `json:"promise"`   // found, rejected, missing
	Why       string `json:"why"`
	Status    Status `json:"status,omitempty"`
}

// String is the entry as one line.
func (e Entry) String() string {
	line := fmt.Sprintf("iteration %d: promise %s: %s", e.Iteration, e.Promise, e.Why)
	if e.Status != "" {
		line += " (" + string(e.Status) + ")"
	}
	return line
}

// session is the exit algorithm. The run that ends here is
// counted and its words are searched before the limit is looked at: N allowed
// runs are N runs, and a promise in the last one counts. Problems are checks
// that failed, which no promise outweighs.
func (f StopFacts) session(in Input, problems []string) Answer {
	s := f.Session
	var warnings []string
	read, err := s.look(in)
	if err != nil {
		warnings = append(warnings, printable.Clean("transcript: "+err.Error(), 500))
		if in.LastAssistantMessage == "" {
			// Nothing at all to judge by: a loop must not go on blindly.
			f.log(Entry{Iteration: s.Iteration + 1, Promise: "missing", Why: "there is nothing to judge by; the stop was approved"})
			return Answer{Warnings: append(warnings, "the stop is approved without any evidence")}
		}
	}
	if read.partial {
		warnings = append(warnings, "the transcript is long; only its end was read")
	}
	s.Iteration++
	s.PromiseSeen = read.found
	s.ToolCallsThisRun += read.calls
	s.LastAssistantText = shorten(read.last, maxLastText)
	s.Read, s.Said, s.Status = read.end, f.Now, ""

	entry := Entry{Iteration: s.Iteration, Promise: "missing", Why: "the completion promise was not output"}
	text := s.Missing()
	if s.PromiseSeen {
		refusal, warning := f.weigh(read, problems)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if refusal == "" {
			s.Status = PromiseAccepted
			why := fmt.Sprintf("after %d tool calls", s.ToolCallsThisRun)
			if s.ToolCallsThisRun < s.MinToolCalls && s.OnPromiseNoWork != Accept {
				why = "the tree has changed"
			}
			f.log(Entry{Iteration: s.Iteration, Promise: "found", Why: why, Status: s.Status})
			return Answer{Warnings: warnings}
		}
		s.Status, text = PromiseRejected, s.Rejected()
		entry = Entry{Iteration: s.Iteration, Promise: "rejected", Why: refusal, Status: s.Status}
	}
	if s.MaxIterations > 0 && s.Iteration >= s.MaxIterations {
		s.Status, entry.Status = MaxIterationsReached, MaxIterationsReached
		f.log(entry)
		return Answer{Warnings: warnings}
	}
	if len(problems) > 0 {
		text = s.Failed(problems)
	}
	f.log(entry)
	return Answer{Refused: true, Reason: text, Warnings: warnings}
}

// weigh says why a promise is not believed; empty: it is.
func (f StopFacts) weigh(read reading, problems []string) (refusal, warning string) {
	s := f.Session
	switch {
	case len(problems) > 0:
		return fmt.Sprintf("%d checks failed", len(problems)), ""
	case s.ToolCallsThisRun >= s.MinToolCalls || s.OnPromiseNoWork == Accept:
		return "", ""
	case read.counted:
		return fmt.Sprintf("too little work (bypass): %d tool calls, %d needed", s.ToolCallsThisRun, s.MinToolCalls), ""
	case f.Changed == nil:
		return "no evidence of work (bypass)", ""
	}
	changed, err := f.Changed()
	switch {
	case err != nil:
		return "no evidence of work (bypass)", printable.Clean("the tree was not compared: "+err.Error(), 500)
	case !changed:
		return "tool calls cannot be counted and nothing changed (bypass)", ""
	}
	return "", ""
}

func (f StopFacts) log(e Entry) {
	if f.Log != nil {
		f.Log(e)
	}
}
