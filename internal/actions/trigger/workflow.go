package trigger

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// workflow decides on the run of another workflow.
func (d Decision) workflow() (Decision, error) {
	e := d.event
	w := e.WorkflowRun
	if w == nil {
		return Decision{}, fmt.Errorf("the event workflow_run (%s) has no workflow run", word(e.Action))
	}
	name := quoted(w.Name)
	if d.uses() {
		switch {
		case e.Action != "completed":
			return nothing("workflow_run (%s): a workflow starts a run when it has failed", word(e.Action))
		case w.Conclusion != "failure" && w.Conclusion != "timed_out":
			return nothing("the workflow %s ended with %s: a failure starts a run", name, word(w.Conclusion))
		}
	}
	if w.HeadRepository == "" || !strings.EqualFold(w.HeadRepository, e.Repository) {
		where := "a repository that is gone"
		if w.HeadRepository != "" {
			where = word(w.HeadRepository)
		}
		return nothing("the workflow %s ran on a head in %s: ralph runs on heads in the repository itself only, because it pushes to them and starts what lies there", name, where)
	}
	d.Run = true
	if d.settings.Use == UseNever {
		return d, nil
	}
	if ours(w.HeadMessage) {
		return nothing("the workflow %s ran on a commit of ralph's own: wait-for-ci: true lets a run answer the checks of its own commits", name)
	}
	if !d.uses() && !Anybodys(w.Event) {
		return d, nil
	}
	which := "the failed run"
	if !d.uses() {
		which = "its run"
	}
	people := []struct {
		Person
		who string
	}{{w.Actor, "who caused " + which}, {w.Triggering, "who started " + which}, {e.Sender, "who sent the event"}}
	for _, p := range people {
		if bot(p.Person) && !d.allowed(p.Person) {
			return nothing("%s, %s of %s, is a bot that allow-bots does not name", word(p.Login), p.who, name)
		}
		if p.Login == "" && p.who != people[0].who { // older servers tell one of them
			continue
		}
		if err := d.ask(p.Person, p.who); err != nil {
			return d.refused(err)
		}
	}
	if !d.uses() {
		return d, nil
	}
	if err := d.at(w); err != nil {
		return d.refused(err)
	}
	d.Why = fmt.Sprintf("Started by the workflow %s, which failed on %s", name, word(w.HeadBranch))
	d.RunID, d.Needs = w.ID, NeedsRun
	return d, nil
}

// at says where the repair of a run goes: to the open pull request of its
// branch, else to a branch of ralph's own that is to be merged into it.
func (d *Decision) at(w *WorkflowRun) error {
	for _, pr := range w.PullRequests {
		if pr.HeadRef == w.HeadBranch && pr.HeadRef != d.event.DefaultBranch {
			d.CommentOn = pr.Number
			return d.onto(pr.Number, pr.HeadRef, pr.BaseRef)
		}
	}
	if err := ralph.CheckRef(w.HeadBranch); err != nil {
		return fmt.Errorf("the branch %s of the failed run: %w", word(w.HeadBranch), err)
	}
	if strings.HasPrefix(w.HeadBranch, "ralph/") {
		d.Branch = w.HeadBranch
		return nil
	}
	d.Branch, d.Base = "ralph/fix-"+slug(w.HeadBranch), w.HeadBranch
	return nil
}

// Job is a job of a failed run.
type Job struct {
	Name       string
	Conclusion string // failure, timed_out, success, ...
	Log        string // what matters of it, without colours and times
}

// WithRun completes a decision that NeedsRun. Jobs that did not fail are
// left out. No job at all means that the logs could not be had.
func (d Decision) WithRun(jobs []Job) (Decision, error) {
	if d.Needs != NeedsRun {
		return Decision{}, errors.New("the decision does not wait for a run")
	}
	d.Needs = NeedsNothing
	w := d.event.WorkflowRun
	name := plain(w.Name, maxName).line()
	d.asks = asks{
		task: fmt.Sprintf("The workflow %q of this repository failed on the branch %s (commit %s). Find out why, and repair the cause. Do not make it pass by weakening, skipping or deleting checks and tests.",
			name, word(w.HeadBranch), word(w.HeadSHA)),
		from:  fmt.Sprintf("This run was started by the workflow %q, which failed on the branch %s (commit %s). Take it into account where the task above leaves room for it.", name, word(w.HeadBranch), word(w.HeadSHA)),
		title: "Repair " + name + " on " + word(w.HeadBranch),
	}
	failed := 0
	for _, job := range jobs {
		if job.Conclusion != "failure" && job.Conclusion != "timed_out" {
			continue
		}
		if failed++; failed > maxJobs {
			continue
		}
		text := plain(job.Log, maxLog)
		text.hidden = 0 // a log is shown as it is: what its programs print is no attempt to hide
		d.asks.add(part{head: fmt.Sprintf("The end of the log of the job %q, which ended with %s", plain(job.Name, maxName).line(), word(job.Conclusion)), text: text})
		d.Notes = append(d.Notes, text.notes("the log of the job "+quoted(job.Name))...)
	}
	switch {
	case failed > maxJobs:
		d.asks.task += fmt.Sprintf(" %d jobs failed; the logs of the first %d stand below.", failed, maxJobs)
	case failed == 0:
		d.asks.task += " Its log could not be had: run the checks yourself."
	}
	d.write()
	return d, nil
}

const (
	maxJobs = 5
	maxName = 100 // bytes of a workflow's or job's name
)

// ours reports whether a commit is a checkpoint of a run.
func ours(message string) bool {
	for line := range strings.Lines(message) {
		if strings.HasPrefix(strings.ToLower(line), "ralph-run:") {
			return true
		}
	}
	return false
}

// slug makes a part of a branch's name of one that others gave. Different names
// have different slugs.
func slug(name string) string {
	const most = 50
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == most {
			break
		}
	}
	s := strings.Trim(b.String(), "-")
	if s == name {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return strings.TrimLeft(fmt.Sprintf("%s-%08x", s, h.Sum32()), "-")
}
