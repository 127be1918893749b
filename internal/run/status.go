package run

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/lastrun"
)

const (
	statusText = 200 // characters of a foreign text in the record
	statusTask = 500 // of the task
)

// remember begins the record of this run for `ralph status`, `ralph resume` and `ralph
// logs`. The one of the run before stays until here, where all is ready: a run that does
// not start is not the last one.
func (w *work) remember() {
	dir := lastrun.Dir(w.getenv)
	if !w.local() || dir == "" || w.Before.Locked {
		return
	}
	run := lastrun.Run{
		Version: w.Version, Workspace: w.Workspace, Folder: w.locked(), PID: os.Getpid(), Command: w.command(w.rec.masked),
		Mode: w.cfg.Mode, Task: w.rec.short(w.rec.report.Task, statusTask), Agent: w.cfg.Agent.Name, Started: w.rec.started(),
		Log: w.session, Files: w.files.FullPath(""), Branch: gitdir.Branch(w.dir()), Now: "setup", MaxIterations: w.cfg.Loop.MaxIterations,
		Before: w.Before.Cost,
	}
	if w.repo != nil {
		run.Branch, run.Ours, run.Base = w.start.Branch, true, w.start.Base
	}
	w.rec.report.Before = w.Before.Cost
	last, err := lastrun.Begin(dir, run)
	if err != nil {
		w.rec.out.Aside("This run is not recorded for ralph status, ralph logs and ralph resume: " + err.Error())
	}
	w.rec.last = last
	w.rec.report.Resumable = err == nil && run.Mode != config.ModeSession && len(run.Command.Withheld) == 0
}

// locked is the directory that this run has for itself.
func (w *workspace) locked() string {
	if w.tasks == nil || w.publishes() {
		return w.Workspace
	}
	return w.tasks.Dir.Path()
}

// Command is the command line, without the flags that hold a secret.
func (in *Input) Command() (lastrun.Command, error) {
	i, err := inspect.New(in.Config.Content, in.Config.Checks.Guardrails, credentials.Known(in.Config, in.Environ, in.Credentials.Left))
	if err != nil {
		return lastrun.Command{}, err
	}
	return in.command(func(text string) string { return i.Mask(in.Redactor.Text(text)) }), nil
}

func (in *Input) command(masked func(string) string) lastrun.Command {
	c := lastrun.Command{Flags: map[string]string{}, Files: lastrun.Digests(in.Workspace, in.Config.Files())}
	for name, value := range in.Sources.Flags {
		text := strings.TrimSpace(value)
		inline := name != "prompt" && strings.HasPrefix(text, "{") || strings.HasPrefix(name, "agent-") && strings.HasPrefix(text, "[") // JSON may hold anything
		if inline || masked(value) != value {
			c.Withheld = append(c.Withheld, name)
			continue
		}
		c.Flags[name] = value
	}
	slices.Sort(c.Withheld)
	return c
}

// short is the beginning of a foreign text.
func (r *Record) short(text string, most int) string {
	if runes := []rune(text); len(runes) > 8*most { // what is masked need not be long
		text = string(runes[:8*most])
	}
	text = strings.Join(strings.Fields(r.masked(text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// doing notes in the record what the run does now.
func (r *Record) doing(what string) {
	r.last.Note(func(run *lastrun.Run) { run.Now, run.Tool = what, "" })
}

// follow notes what an event says about the run.
func (r *Record) follow(e ralph.Event) {
	switch e.Kind {
	case ralph.EventIterationStart:
		r.last.Note(func(run *lastrun.Run) {
			run.Now, run.Iteration, run.MaxIterations, run.Turn = "the agent works", e.Iteration, e.Max, ralph.Usage{}
		})
	case ralph.EventPrompt:
		r.doing("the agent works")
	case ralph.EventToolStart:
		r.last.Note(func(run *lastrun.Run) { run.Tool = r.short(e.Tool+" "+e.Text, statusText) })
	case ralph.EventUsage:
		if e.Usage != nil {
			r.last.Note(func(run *lastrun.Run) { run.Turn = *e.Usage })
		}
	case ralph.EventGuardrailStart:
		r.doing("guardrail: " + r.short(e.Text, statusText))
	case ralph.EventGuardrailEnd:
		if e.Verdict != nil {
			r.last.Note(func(run *lastrun.Run) { run.Judged(r.guardrail(*e.Verdict, run.Iteration)) })
		}
	case ralph.EventTaskStart:
		r.doing("SCM task: " + r.short(e.Text, statusText))
	case ralph.EventRetry, ralph.EventNext:
		if e.Wait > 0 {
			r.doing(strings.TrimSuffix(fmt.Sprintf("waits %s: %s", e.Wait, r.short(e.Text, statusText)), ": "))
		}
	case ralph.EventIterationEnd:
		if e.Record != nil {
			r.last.Write(func(run *lastrun.Run) { // resume counts them
				run.Done, run.Used, run.Turn = run.Done+1, run.Used.Add(e.Record.Usage()), ralph.Usage{}
			})
		}
	}
}

func (r *Record) guardrail(v ralph.Verdict, iteration int) lastrun.Guardrail {
	return lastrun.Guardrail{Command: r.short(v.Command, statusText), Passed: v.Passed, ExitCode: v.ExitCode, Iteration: iteration, Log: v.LogFile}
}

// limit names the input that ended a run; empty: another reason.
func limit(r ralph.Report) string {
	switch {
	case r.Outcome == ralph.MaxIterations:
		return "max-iterations"
	case r.Outcome == ralph.OverBudget:
		return r.Budget.Limit(r.Usage())
	case r.Outcome == ralph.Deadline && len(r.Publication.Checks.Left) == 0: // else it is ci-timeout
		return "max-duration"
	}
	return ""
}

// keepEnd notes how the run ended.
func (r *Record) keepEnd(public ralph.Report) {
	p := public.Publication
	end := lastrun.End{
		Outcome: public.Outcome, Limit: limit(public), ExitCode: public.ExitCode, Headline: report.Headline(public), Reason: r.short(public.Reason, statusTask),
		Duration: public.Duration, Pushed: p.Pushed, PullRequest: p.PullRequest.URL,
	}
	done := func(s ralph.Story) bool { return s.Done }
	if left := len(slices.DeleteFunc(slices.Clone(public.Tasks.Stories), done)); left > 0 {
		end.Left = append(end.Left, fmt.Sprintf("not done: %d of %d stories", left, len(public.Tasks.Stories)))
	}
	if p.Patch != "" {
		end.Left = append(end.Left, "unpublished work, as a patch: "+p.Patch)
	}
	if n := len(public.Iterations); n > 0 {
		if f := public.Iterations[n-1].Last().Failure; f != nil && !strings.Contains(public.Reason, f.Message) {
			end.Left = append(end.Left, "the agent's last error: "+r.short(f.Message, statusTask))
		}
	}
	r.last.Note(func(run *lastrun.Run) {
		run.Done, run.Used, run.Branch = max(run.Done, len(public.Iterations)), public.Usage(), cmp.Or(p.Branch, run.Branch)
	})
	r.last.End(end)
}
