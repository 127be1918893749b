package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/lastrun"
)

// Status is what there is to say about the last run.
type Status struct {
	Run   lastrun.Run
	State lastrun.State // empty: no run is recorded
	Now   time.Time
	Here  string // the current directory
	// Refused is why ralph resume does not go on with the run as it is; nil if it does.
	Refused error
}

// Text is for people.
func (s Status) Text() string {
	var b strings.Builder
	say := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-13s %s\n", name, actions.Sanitize([]byte(text)))
		}
	}
	run := s.Run
	fmt.Fprintf(&b, "%s\n\n", actions.Sanitize([]byte(s.headline())))
	if run.Workspace != s.Here {
		say("Directory", run.Workspace)
	}
	if s.State == lastrun.Starting {
		say("Process", fmt.Sprint(run.PID))
		return b.String()
	}
	say("Task", run.Task)
	say("Started", fmt.Sprintf("%s, %s ago", words.Stamp(run.Started), words.Span(s.Now.Sub(run.Started))))
	say("Cost", s.cost())
	for i, g := range run.Guardrails {
		say(map[bool]string{true: "Guardrails"}[i == 0], guardrailLine(g))
	}
	say("Work", s.work())
	labels := []string{"So far"}
	switch {
	case s.State == lastrun.Ended && run.End.Outcome == ralph.Completed:
		labels = []string{"Still to do"}
	case s.State == lastrun.Ended:
		labels = []string{"Why", "Still to do"}
	}
	for i, left := range s.left() {
		label := ""
		if i < len(labels) {
			label = labels[i]
		}
		say(label, left)
	}
	say("Log", s.short(run.Log)+s.follow())
	if s.State == lastrun.Ended && run.Files != "" {
		say("Report", s.short(filepath.Join(run.Files, "report.html")))
	}
	say("Stop", s.stop())
	say("Next", s.next())
	return b.String()
}

// headline is what the run does or did, in one line.
func (s Status) headline() string {
	run := s.Run
	at := "before the first iteration"
	if run.Iteration > 0 {
		at = fmt.Sprintf("iteration %d", run.Iteration)
		if run.MaxIterations > 0 {
			at += fmt.Sprintf(" of %d", run.MaxIterations)
		}
	}
	doing := run.Now
	if run.Tool != "" {
		doing += " (" + run.Tool + ")"
	}
	if run.Lanes > 0 {
		at = fmt.Sprintf("%d lanes at a time", run.Lanes)
	}
	switch s.State {
	case lastrun.Starting:
		return "Starting: a run has begun, and is not ready yet"
	case lastrun.Running:
		return fmt.Sprintf("Running, %s: %s, for %s", at, doing, words.Span(s.Now.Sub(run.Since)))
	case lastrun.Killed:
		return fmt.Sprintf("Killed, %s: %s, last recorded %s", at, doing, words.Stamp(run.Seen))
	}
	return run.End.Headline
}

func (s Status) cost() string {
	cost, before, now := s.used().Cost, s.Run.Before, s.State != lastrun.Ended
	switch all := before.Add(cost).String() + map[bool]string{true: " so far"}[now]; {
	case before != ralph.Cost{}:
		return words.Resumed(all, before)
	case !now: // the headline says it
		return ""
	case cost == ralph.Cost{}:
		return "none was reported so far"
	default:
		return all
	}
}

// used includes the turn that goes on, or was killed.
func (s Status) used() ralph.Usage { return s.Run.Used.Add(s.Run.Turn) }

func guardrailLine(g lastrun.Guardrail) string {
	verdict := "passed"
	if !g.Passed {
		how, reason := words.Failed(ralph.Verdict{ExitCode: g.ExitCode, Reason: cmp.Or(g.Reason, fmt.Sprintf("exit code %d", g.ExitCode)), Broken: g.Broken, Unfinished: g.Unfinished})
		verdict = how + " (" + reason + ")"
	}
	when := "before any change"
	if g.Iteration > 0 {
		when = fmt.Sprintf("iteration %d", g.Iteration)
	}
	return fmt.Sprintf("%s: %s, %s", g.Command, verdict, when)
}

// work is where it lies.
func (s Status) work() string {
	run, end := s.Run, s.Run.End
	branch := "in " + run.Workspace
	if run.Branch != "" {
		branch = "on the branch " + run.Branch
	}
	switch {
	case end != nil && end.PullRequest != "":
		return end.PullRequest + ", " + branch
	case end != nil && end.Pushed:
		return branch + ", pushed"
	case run.Ours:
		return branch + ", checked out here"
	case run.Lanes > 0:
		return branch + ", a commit for each story that is integrated"
	}
	return branch + ", as the agent left it; ralph commits nothing here"
}

// left is why a run did not complete, or how far it came, and then what is still to do.
func (s Status) left() []string {
	run := s.Run
	switch s.State {
	case lastrun.Killed:
		left := fmt.Sprintf("%s done", words.Plural(run.Done, "iteration"))
		if run.Iteration > run.Done {
			left += fmt.Sprintf("; what iteration %d had changed by then lies in the directory", run.Iteration)
		}
		return []string{left}
	case lastrun.Ended:
		if run.End.Outcome == ralph.Completed {
			return run.End.Left
		}
		return append([]string{run.End.Reason}, run.End.Left...)
	}
	return nil
}

func (s Status) follow() string {
	if s.State == lastrun.Running {
		return " (ralph logs -f)"
	}
	return " (ralph logs)"
}

func (s Status) stop() string {
	if s.State != lastrun.Running {
		return ""
	}
	if f := s.Run.Folder; f != "" && f != s.Run.Workspace { // that of a supervised task
		return "ralph cancel --project-dir " + config.ShellWords([]string{s.short(f)})
	}
	return "ralph cancel"
}

// more are examples of limits.
var more = map[string]string{"max-iterations": "3", "max-restarts": "3", "max-cost-usd": "1", "max-tokens": "1000000", "max-duration": "30m"}

func (s Status) next() string {
	run := s.Run
	switch {
	case s.State == lastrun.Running || run.Mode == config.ModeSession, s.State == lastrun.Ended && run.End.Outcome == ralph.Completed:
		return ""
	case s.State == lastrun.Ended && run.End.Outcome.Row().Kind == ralph.Misconfigured:
		return "mend what is wrong; then ralph resume goes on with it"
	case s.Refused != nil && len(run.Command.Withheld) > 0:
		return s.Refused.Error()
	case s.State == lastrun.Ended && run.End.Limit == "max-total-cost-usd":
		return "ralph resume goes on with it, given a higher --max-total-cost-usd"
	case s.State == lastrun.Ended && run.End.Limit != "":
		return fmt.Sprintf("ralph resume goes on with it, given more of that limit, such as --%s=%s", run.End.Limit, more[run.End.Limit])
	case s.Refused != nil:
		return s.Refused.Error()
	}
	return "ralph resume goes on with it"
}

// short is a path from the current directory, where it lies there.
func (s Status) short(path string) string {
	if rel, err := filepath.Rel(s.Here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// MarshalJSON is for programs: what is not known in a state is left out.
func (s Status) MarshalJSON() ([]byte, error) {
	run := s.Run
	o := map[string]any{"state": cmp.Or(s.State, "none")}
	if s.State == "" {
		return json.Marshal(o)
	}
	o["directory"], o["pid"] = run.Workspace, run.PID
	if s.State == lastrun.Starting {
		return json.Marshal(o)
	}
	type guardrail struct {
		Command    string `json:"command"`
		Passed     bool   `json:"passed"`
		ExitCode   int    `json:"exit_code"`
		Reason     string `json:"reason"`
		Broken     bool   `json:"broken"`
		Unfinished bool   `json:"unfinished"`
		Iteration  int    `json:"iteration"`
		Log        string `json:"log"`
	}
	guardrails := []guardrail{}
	for _, g := range run.Guardrails {
		guardrails = append(guardrails, guardrail(g))
	}
	used := s.used()
	for name, value := range map[string]any{
		"version": run.Version, "mode": run.Mode, "task": run.Task, "agent": run.Agent, "started": run.Started.UTC(), "seen": run.Seen.UTC(),
		"iteration": run.Iteration, "max_iterations": run.MaxIterations, "iterations_done": run.Done,
		"cost_usd": used.Cost.Amount.Dollars(), "cost_known": !used.Cost.Unknown, "tokens": used.Tokens.Total(), "guardrails": guardrails,
		"cost_usd_before": run.Before.Amount.Dollars(), "cost_known_before": !run.Before.Unknown, "branch": run.Branch, "base": run.Base, "log": run.Log, "left": append([]string{}, s.left()...),
	} {
		o[name] = value
	}
	if s.State == lastrun.Ended {
		o["outcome"], o["exit_code"], o["headline"], o["reason"] = run.End.Outcome, run.End.ExitCode, run.End.Headline, run.End.Reason
		o["duration_seconds"], o["pushed"], o["pull_request"] = run.End.Duration.Seconds(), run.End.Pushed, run.End.PullRequest
		if o["report"] = ""; run.Files != "" {
			o["report"] = filepath.Join(run.Files, "report.json")
		}
	} else {
		o["now"], o["tool"], o["since"] = run.Now, run.Tool, run.Since.UTC()
	}
	return json.Marshal(o)
}
