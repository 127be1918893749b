package report

import (
	"slices"

	"github.com/org/ralph-action/internal/ralph"
)

// Redacted is a deep copy of r in which every text is cleaned of invisible
// characters (which could split a secret) and then passed through mask. Render
// from it, so that no rendering has to know about secrets.
func Redacted(r ralph.Report, mask func(string) string) ralph.Report {
	text := func(s *string) { *s = mask(clean(*s)) }
	texts := func(list *[]string) {
		*list = slices.Clone(*list)
		for i := range *list {
			text(&(*list)[i])
		}
	}
	verdicts := func(list *[]ralph.Verdict) {
		*list = slices.Clone(*list)
		for i := range *list {
			v := &(*list)[i]
			for _, s := range []*string{&v.Command, &v.Reason, &v.LogFile, &v.Message, &v.Output} {
				text(s)
			}
		}
	}
	for _, s := range []*string{&r.Task, &r.Agent, &r.Model, &r.Prices, &r.Reason, &r.Isolation, &r.Actor, &r.RunURL, &r.Publication.Branch, &r.Publication.Base, &r.Publication.PullRequest.URL, &r.Publication.Fork, &r.Publication.Comment, &r.Publication.Patch, &r.Publication.PatchText} {
		text(s)
	}
	texts(&r.Notes)
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, s := range []*string{&f.Path, &f.Where, &f.Rule, &f.Text} {
			text(s)
		}
	}
	r.Network = slices.Clone(r.Network)
	for i := range r.Network {
		text(&r.Network[i].Address)
		text(&r.Network[i].Reason)
	}
	text(&r.Tasks.File)
	text(&r.Tasks.Project)
	r.Tasks.Stories = slices.Clone(r.Tasks.Stories)
	for i := range r.Tasks.Stories {
		s := &r.Tasks.Stories[i]
		text(&s.ID)
		text(&s.Title)
		text(&s.Feedback)
	}
	texts(&r.Publication.Errors)
	texts(&r.Publication.Checks.Failed)
	texts(&r.Publication.Checks.Left)
	r.Publication.Steps = slices.Clone(r.Publication.Steps)
	for i := range r.Publication.Steps {
		text(&r.Publication.Steps[i].Name)
		text(&r.Publication.Steps[i].Detail)
	}
	r.History.Runs = slices.Clone(r.History.Runs)
	for i := range r.History.Runs {
		text(&r.History.Runs[i].Run)
	}
	verdicts(&r.Baseline)
	turn := func(t *ralph.Turn) {
		for _, s := range []*string{&t.Agent, &t.Model, &t.Session, &t.FinalText} {
			text(s)
		}
		t.Models = slices.Clone(t.Models)
		for i := range t.Models {
			text(&t.Models[i].Model)
		}
		t.Todos = slices.Clone(t.Todos)
		for i := range t.Todos {
			text(&t.Todos[i].Text)
		}
		if t.Failure != nil {
			f := *t.Failure
			text(&f.Message)
			t.Failure = &f
		}
	}
	asked := func(t **ralph.Turn) {
		if *t != nil {
			masked := **t
			turn(&masked)
			*t = &masked
		}
	}
	delivery := func(d *ralph.Delivery) {
		text(&d.Message)
		text(&d.Error)
		d.Tasks = slices.Clone(d.Tasks)
		for i := range d.Tasks {
			text(&d.Tasks[i].Command)
			text(&d.Tasks[i].Output)
		}
		asked(&d.Turn)
	}
	r.Iterations = slices.Clone(r.Iterations)
	for i := range r.Iterations {
		it := &r.Iterations[i]
		verdicts(&it.Verdicts)
		texts(&it.Change.Notes)
		text(&it.Step.Story)
		text(&it.Step.Title)
		texts(&it.Settled.Problems)
		text(&it.Commit.Subject)
		text(&it.Commit.PushError)
		it.Turns = slices.Clone(it.Turns)
		for j := range it.Turns {
			turn(&it.Turns[j])
		}
		asked(&it.Asked)
		delivery(&it.Delivery)
	}
	return r
}
