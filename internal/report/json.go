package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
)

// SchemaVersion counts incompatible changes of the JSON report.
const SchemaVersion = 1

const schemaURL = "https://raw.githubusercontent.com/org/ralph-action/main/docs/report.schema.json"

// jsonText bounds every foreign text of the JSON report but the task, in bytes.
const jsonText = 64 << 10

// JSON is the report file, described by docs/report.schema.json: everything,
// with durations in seconds, times in UTC, and null for what is not known.
func JSON(r ralph.Report) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(document(r)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// object is a JSON object whose members keep their order.
type object []struct {
	name  string
	value any
}

// MarshalJSON bounds texts and writes times, durations, costs and tokens as the schema has them.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := o.write(&b)
	return b.Bytes(), err
}

// write goes down by itself: encoding/json would read the text of every object once more.
func (o object) write(b *bytes.Buffer) error {
	for i, member := range o {
		b.WriteByte("{,"[min(i, 1)])
		if err := writeJSON(b, member.name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeJSON(b, jsonValue(member.value)); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeJSON(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case object:
		return v.write(b)
	case []object:
		b.WriteByte('[')
		for i, one := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := one.write(b); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	text, err := json.Marshal(v)
	b.Write(text)
	return err
}

func jsonValue(v any) any {
	switch v := v.(type) {
	case string:
		return bounded(v)
	case []string:
		return each(v, bounded)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC()
	case time.Duration:
		return math.Round(v.Seconds()*1000) / 1000
	case ralph.Cost:
		if v.Unknown { // at_least is what is known of it
			return object{{"micro_usd", nil}, {"usd", nil}, {"at_least_micro_usd", v.Amount}, {"estimated", v.Estimated}}
		}
		return object{{"micro_usd", v.Amount}, {"usd", v.Amount.Dollars()}, {"at_least_micro_usd", nil}, {"estimated", v.Estimated}}
	case ralph.Tokens:
		if v.Unknown && v.Total() == 0 {
			return object{{"known", false}, {"input", nil}, {"cache_read", nil}, {"cache_write", nil}, {"output", nil}}
		}
		return object{{"known", !v.Unknown}, {"input", v.Input}, {"cache_read", v.CacheRead}, {"cache_write", v.CacheWrite}, {"output", v.Output}}
	}
	return v
}

// orNull is nil for a value whose zero means that there is none.
func orNull[T comparable](v T) any {
	var zero T
	return when(v != zero, v)
}

// when is nil unless there is something to tell.
func when(told bool, v any) any {
	if !told {
		return nil
	}
	return v
}

// positive is nil for a number that is not above zero: none, or not reported.
func positive[N ~int | ~int64](n N) any { return when(n > 0, n) }

// each makes a list of JSON that is never null.
func each[T, U any](list []T, one func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, v := range list {
		out = append(out, one(v))
	}
	return out
}

func bounded(s string) string {
	if len(s) > jsonText {
		s = s[:jsonText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// whole is a text that is written as it is.
type whole string

// end is the end of a text, of which [bounded] keeps the beginning.
func end(s string) whole {
	if len(s) > jsonText {
		s = "…" + s[len(s)-jsonText:]
	}
	return whole(strings.ToValidUTF8(s, "\uFFFD"))
}

func document(r ralph.Report) object {
	u := r.Usage()
	ended := r.Started
	if !r.Started.IsZero() {
		ended = r.Started.Add(r.Duration)
	}
	o := object{
		{"$schema", schemaURL}, {"schema", SchemaVersion}, {"version", r.Version},
		{"outcome", r.Outcome}, {"completed", r.Outcome == ralph.Completed}, {"headline", Headline(r)},
		{"reason", r.Reason}, {"advice", Advice(r)}, {"exit_code", r.ExitCode}, {"mode", r.Mode},
		{"task", whole(strings.ToValidUTF8(r.Task, "\uFFFD"))},
		{"agent", r.Agent}, {"agents_used", agents(r)}, {"model", r.Model}, {"models_used", models(r)},
		{"isolation", r.Isolation}, {"repository", r.Repository}, {"run_url", r.RunURL}, {"actor", r.Actor},
		{"started", r.Started}, {"ended", ended}, {"duration_seconds", r.Duration},
		{"cost", u.Cost}, {"prices_of", when(u.Cost.Estimated && r.Prices != "", r.Prices)}, {"tokens", u.Tokens},
		{"limits", object{
			{"max_iterations", positive(r.MaxIterations)}, {"cost_micro_usd", positive(r.Budget.Cost)},
			{"total_cost_micro_usd", positive(r.Budget.Total)}, {"tokens", positive(r.Budget.Tokens)}, {"until", r.Budget.Until},
		}},
	}
	if r.Resumed {
		o = append(o, object{{"cost_before", r.Before}}...)
	}
	if words.HasTasks(r) {
		o = append(o, object{{"tasks", taskListObject(r.Tasks)}}...)
	}
	if r.Wave != nil {
		o = append(o, object{{"wave", waveObject(*r.Wave)}}...)
	}
	if r.Mode == words.ModeSession {
		o = append(o, object{{"session", object{{"status", orNull(words.SessionStatus(r))}, {"rounds", r.Rounds()}}}}...)
	}
	return append(o, object{
		{"baseline", each(r.Baseline, verdictObject)}, {"iterations", each(r.Iterations, iterationObject)},
		{"history", when(continued(r), object{
			{"runs", each(r.History.Runs, pastObject)}, {"iterations", r.History.Iterations()}, {"cost", r.History.Cost()}, {"cut", r.History.Cut},
		})},
		{"publication", publicationObject(r.Publication)}, {"findings", each(r.Findings, findingObject)},
		{"network", each(r.Network, func(n ralph.Refused) object {
			return object{{"address", n.Address}, {"count", n.Count}, {"reason", n.Reason}}
		})},
		{"notes", r.Notes},
	}...)
}

func iterationObject(it ralph.Iteration) object {
	u, c := it.Usage(), it.Change
	counted := c.Files == 0 || c.Uncounted < c.Files
	o := object{
		{"number", it.Number}, {"started", it.Started}, {"duration_seconds", it.Duration}, {"marker", it.Marker},
		{"rejection", orNull(it.Rejection)}, {"retries", max(0, len(it.Turns)-1)}, {"cost", u.Cost}, {"tokens", u.Tokens},
		{"turns", each(it.Turns, turnObject)}, {"guardrails", each(it.Verdicts, verdictObject)},
		{"change", object{
			{"head", c.Head}, {"tree", c.Tree}, {"files", c.Files}, {"insertions", when(counted, c.Insertions)}, {"deletions", when(counted, c.Deletions)},
			{"uncounted", c.Uncounted}, {"since_start", c.SinceStart}, {"notes", c.Notes},
		}},
		{"commit", when(it.Commit.SHA != "", object{
			{"sha", it.Commit.SHA}, {"subject", it.Commit.Subject}, {"files", it.Commit.Files}, {"pushed", it.Commit.Pushed},
			{"push_error", it.Commit.PushError}, {"agent_commits", it.Commit.Own},
		})},
		{"delivery", deliveryObject(it.Delivery)},
		{"said", when(it.Said != ralph.Said{}, object{{"commit", it.Said.Commit}, {"title", it.Said.Title}, {"description", it.Said.Description}})},
	}
	// What only some modes have is left out elsewhere.
	if rounds := it.Rounds(); rounds > 1 {
		o = append(o, object{{"rounds", rounds}}...)
	}
	if words.Stepped(it) {
		o = append(o, object{
			{"step", object{{"mode", it.Step.Mode}, {"story", it.Step.Story}, {"title", it.Step.Title}, {"done", it.Step.Done}}},
			{"settled", object{
				{"review_status", orNull(it.Settled.Status)}, {"problems", it.Settled.Problems}, {"stuck", it.Settled.Stuck},
				{"done", it.Settled.Done}, {"left", it.Settled.Left},
			}},
		}...)
	}
	return o
}

func turnObject(t ralph.Turn) object {
	counted := t.CountsTools || t.Tools > 0
	o := object{
		{"started", t.Started}, {"duration_seconds", t.Duration}, {"agent", t.Agent}, {"model", t.Model},
		{"models", each(t.Models, func(m ralph.ModelUsage) object {
			return object{{"model", m.Model}, {"cost", m.Usage.Cost}, {"tokens", m.Usage.Tokens}}
		})},
		{"session", t.Session}, {"cost", t.Usage.Cost}, {"tokens", t.Usage.Tokens}, {"messages", positive(t.Messages)},
		{"tools", when(counted, t.Tools)}, {"tool_errors", when(counted, t.ToolErrors)},
		{"exit_code", t.ExitCode}, {"output_bytes", t.OutputBytes}, {"unknown_events", t.Unknown}, {"malformed_lines", t.Malformed},
		{"final_text", t.FinalText}, {"todos", each(t.Todos, todoObject)}, {"failure", nil},
	}
	if f := t.Failure; f != nil {
		o[len(o)-1].value = object{{"kind", f.Kind.String()}, {"message", f.Message}, {"fatal", f.Fatal()}, {"retry_at", f.RetryAt}}
	}
	if t.Kept > 0 {
		o = append(o, object{{"kept", t.Kept}}...)
	}
	return o
}

func todoObject(t ralph.Todo) object {
	status := map[ralph.TodoStatus]string{ralph.TodoPending: "pending", ralph.TodoActive: "active", ralph.TodoDone: "done"}
	return object{{"text", t.Text}, {"status", status[t.Status]}}
}

func verdictObject(v ralph.Verdict) object {
	o := object{
		{"command", v.Command}, {"passed", v.Passed}, {"exit_code", v.ExitCode}, {"reason", v.Reason}, {"broken", v.Broken},
		{"fail_action", v.Action}, {"duration_seconds", v.Duration}, {"log_file", v.LogFile}, {"message", v.Message},
		{"output", end(v.Output)}, {"digest", v.Digest},
	}
	if v.PassedIn > 0 {
		o = append(o, object{{"passed_in_iteration", v.PassedIn}}...)
	}
	return o
}

// deliveryObject is nil if there was nothing to deliver.
func deliveryObject(d ralph.Delivery) any {
	if d.Turn == nil && d.Message == "" && len(d.Tasks) == 0 && d.Error == "" {
		return nil
	}
	var turn any
	if d.Turn != nil {
		turn = turnObject(*d.Turn)
	}
	return object{{"message", d.Message}, {"turn", turn}, {"tasks", each(d.Tasks, func(t ralph.Task) object {
		return object{{"command", t.Command}, {"exit_code", t.ExitCode}, {"duration_seconds", t.Duration}, {"output", end(t.Output)}}
	})}, {"error", d.Error}}
}

func taskListObject(t ralph.TaskList) object {
	done := 0
	stories := each(t.Stories, func(s ralph.Story) object {
		if s.Done {
			done++
		}
		return object{
			{"id", s.ID}, {"title", s.Title}, {"passes", s.Passes}, {"review_status", orNull(s.Status)}, {"reviews", s.Reviews},
			{"feedback", s.Feedback}, {"auto_approved", s.AutoApproved}, {"unprotected", s.Unprotected}, {"done", s.Done}, {"iterations", s.Iterations},
		}
	})
	return object{
		{"file", t.File}, {"project", t.Project}, {"skip_review", t.SkipReview}, {"review_cap", positive(t.ReviewCap)}, {"done", done},
		{"auto_approved", t.AutoApproved()}, {"unprotected", orNull(t.Unprotected)}, {"stories", stories},
	}
}

func waveObject(w ralph.Wave) object {
	story := func(s ralph.WaveStory) object {
		return object{
			{"id", s.ID}, {"title", s.Title}, {"wave", cmp.Or(s.Wave, w.Number)}, {"lane", s.Lane}, {"reviews", s.Reviews}, {"cost", s.Cost},
			{"duration_seconds", s.Took}, {"result", s.Fate}, {"why", s.Why}, {"commit", orNull(s.Commit)},
		}
	}
	return object{
		{"number", w.Number}, {"of", positive(w.Of)}, {"cost", w.Cost}, {"next", w.Next}, {"why", w.Why}, {"guardrails", each(w.Verdicts, verdictObject)},
		{"stories", each(w.Stories, story)}, {"earlier", each(w.Earlier, story)},
		{"lanes", each(w.Lanes, func(l ralph.LaneTime) object {
			return object{{"name", l.Name}, {"started", l.Started}, {"ended", l.Ended}, {"outcome", orNull(l.Outcome)}, {"stories", each(l.Stories, func(s ralph.StoryTime) object {
				return object{{"id", s.ID}, {"started", s.Started}, {"ended", s.Ended}, {"result", s.Fate}}
			})}}
		})},
		{"later", each(w.Later, func(p ralph.Postponed) object { return object{{"id", p.Story}, {"why", p.Why}} })},
	}
}

func pastObject(p ralph.Past) object {
	return object{
		{"run", p.Run}, {"iterations", p.Iterations}, {"commits", p.Commits}, {"cost", p.Cost}, {"outcome", orNull(p.Outcome)},
		{"title", p.Said.Title}, {"description", p.Said.Description}, {"did", p.Did},
	}
}

func fileObject(f ralph.File) object {
	status := "changed"
	switch {
	case f.From != "":
		status = "moved"
	case f.New:
		status = "added"
	case f.Gone:
		status = "deleted"
	}
	return object{
		{"path", f.Path}, {"from", orNull(f.From)}, {"status", status}, {"insertions", when(!f.Uncounted, f.Insertions)}, {"deletions", when(!f.Uncounted, f.Deletions)},
	}
}

func publicationObject(p ralph.Publication) object {
	pr, c := p.PullRequest, p.Checks
	return object{
		{"branch", p.Branch}, {"base", p.Base}, {"head_sha", p.HeadSHA}, {"pushed", p.Pushed}, {"fork", orNull(p.Fork)},
		{"signed", p.Signed}, {"verified", p.Verified}, {"server_url", p.ServerURL},
		{"pull_request", when(pr.Number > 0 || pr.Operation != "" && pr.Operation != ralph.OperationNone, object{
			{"number", pr.Number}, {"url", pr.URL}, {"draft", pr.Draft}, {"operation", pr.Operation}, {"foreign", pr.Foreign}, {"auto_merge", pr.AutoMerge},
		})},
		{"issue", positive(p.Issue)}, {"comment_url", orNull(p.Comment)},
		{"checks", when(c.State != "", object{
			{"sha", c.SHA}, {"state", c.State}, {"passed", c.Passed}, {"failed", c.Failed}, {"unfinished", c.Left},
		})},
		{"patch", orNull(p.Patch)}, {"files", each(p.Files, fileObject)},
		{"steps", each(p.Steps, func(s ralph.PublishStep) object {
			return object{{"name", s.Name}, {"done", s.Done}, {"detail", s.Detail}}
		})},
		{"errors", p.Errors},
	}
}

func findingObject(f ralph.Finding) object {
	return object{
		{"kind", f.Kind}, {"severity", f.Severity}, {"path", f.Path}, {"line", positive(f.Line)}, {"where", f.Where}, {"rule", f.Rule}, {"text", f.Text},
	}
}
