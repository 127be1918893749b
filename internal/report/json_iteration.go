package report

import "github.com/org/ralph-action/internal/ralph"

func newIteration(it ralph.Iteration) iteration {
	u := it.Usage()
	n := iteration{
		Number: it.Number, Started: instant(it.Started), Duration: seconds(it.Duration), Marker: it.Marker,
		Retries: max(0, len(it.Turns)-1), Cost: newCost(u.Cost), Tokens: newTokens(u.Tokens),
		Turns: []turn{}, Verdicts: newVerdicts(it.Verdicts),
		Change: change{
			Head: it.Change.Head, Tree: it.Change.Tree, Files: it.Change.Files, Uncounted: it.Change.Uncounted,
			SinceStart: it.Change.SinceStart, Notes: boundedAll(it.Change.Notes),
		},
	}
	if c := it.Change; c.Files == 0 || c.Uncounted < c.Files {
		n.Change.Insertions, n.Change.Deletions = &c.Insertions, &c.Deletions
	}
	if it.Rejection != ralph.NotRejected {
		rejection := string(it.Rejection)
		n.Rejection = &rejection
	}
	if c := it.Commit; c.SHA != "" {
		n.Commit = &commit{SHA: c.SHA, Subject: bounded(c.Subject), Files: c.Files, Pushed: c.Pushed, PushError: bounded(c.PushError), Own: c.Own}
	}
	for _, t := range it.Turns {
		n.Turns = append(n.Turns, newTurn(t))
	}
	n.Delivery = newDelivery(it.Delivery)
	n.Step, n.Settled = newStep(it)
	if rounds := it.Rounds(); rounds > 1 {
		n.Rounds = rounds
	}
	return n
}

// newTodos keeps the names of the schema.
func newTodos(list []ralph.Todo) []todo {
	names := map[ralph.TodoStatus]string{ralph.TodoPending: "pending", ralph.TodoActive: "active", ralph.TodoDone: "done"}
	todos := make([]todo, 0, len(list))
	for _, t := range list {
		todos = append(todos, todo{bounded(t.Text), names[t.Status]})
	}
	return todos
}

func newTurn(t ralph.Turn) turn {
	n := turn{
		Started: instant(t.Started), Duration: seconds(t.Duration), Model: bounded(t.Model), Session: bounded(t.Session),
		Cost: newCost(t.Usage.Cost), Tokens: newTokens(t.Usage.Tokens), Messages: positive(t.Messages),
		ExitCode: t.ExitCode, OutputBytes: t.OutputBytes, Unknown: t.Unknown, Malformed: t.Malformed, FinalText: bounded(t.FinalText), Todos: newTodos(t.Todos),
		Kept: t.Kept, Agent: bounded(t.Agent), Models: newModels(t.Models),
	}
	if t.CountsTools || t.Tools > 0 {
		n.Tools, n.ToolErrors = &t.Tools, &t.ToolErrors
	}
	if f := t.Failure; f != nil {
		n.Failure = &turnFailure{Kind: f.Kind.String(), Message: bounded(f.Message), Fatal: f.Fatal(), RetryAt: instant(f.RetryAt)}
	}
	return n
}

func newVerdicts(list []ralph.Verdict) []verdict {
	out := make([]verdict, 0, len(list))
	for _, v := range list {
		out = append(out, verdict{
			Command: bounded(v.Command), Passed: v.Passed, ExitCode: v.ExitCode, Reason: bounded(v.Reason), Broken: v.Broken,
			Action: string(v.Action), Duration: seconds(v.Duration), LogFile: bounded(v.LogFile),
			Message: bounded(v.Message), Output: boundedEnd(v.Output), Digest: v.Digest,
		})
	}
	return out
}

// newDelivery is nil when there was nothing to deliver.
func newDelivery(d ralph.Delivery) *delivery {
	if d.Turn == nil && d.Message == "" && len(d.Tasks) == 0 && d.Error == "" {
		return nil
	}
	n := delivery{Message: bounded(d.Message), Tasks: []task{}, Error: bounded(d.Error)}
	if d.Turn != nil {
		t := newTurn(*d.Turn)
		n.Turn = &t
	}
	for _, t := range d.Tasks {
		n.Tasks = append(n.Tasks, task{Command: bounded(t.Command), ExitCode: t.ExitCode, Duration: seconds(t.Duration), Output: boundedEnd(t.Output)})
	}
	return &n
}
