package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/actions/trigger"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
)

// onTheirs reports whether the run works on the branch of the pull request it came from.
func (p *plan) onTheirs() bool { return p.decision.Existing && p.cfg.Git.Branch == "" }

// askForge is what the forge knows of the run's branch: which of its pull requests
// were merged, what its open one was made for, and where that goes by now. A branch
// whose pull request somebody else described is left to what git shows.
func (b *branch) askForge(ctx context.Context, branch, tip string) (repo.Word, error) {
	history, err := b.remote.forge.History(ctx, branch, b.cfg.Git.PushToFork)
	if err != nil {
		return repo.Word{}, err
	}
	b.pulls.Store(&history)
	word := repo.Word{Moved: map[string]string{}}
	theirs := func(one forge.OpenPullRequest) bool { return one.Foreign }
	if len(history.Open) > 0 && !slices.ContainsFunc(history.Open, func(one forge.OpenPullRequest) bool { return !theirs(one) }) {
		return repo.Word{}, nil
	}
	for _, one := range slices.DeleteFunc(slices.Clone(history.Open), theirs) {
		about := memory.ReadAbout(one.Body)
		if about.Base != "" && about.Base != one.Base {
			word.Moved[about.Base] = one.Base
		}
		word.Gained = append(word.Gained, stoodOn(about)...)
	}
	for _, one := range history.Open {
		delete(word.Moved, one.Base) // one goes there as it should
	}
	merged := slices.DeleteFunc(slices.Clone(history.Closed), func(one forge.ClosedPullRequest) bool { return !one.Merged })
	if len(history.Open) == 0 && len(merged) == 0 {
		if merged, err = b.remote.forge.MergedWith(ctx, tip); err != nil { // under another name
			return repo.Word{}, err
		}
	}
	for _, one := range merged {
		gained := repo.Gained{Base: one.Base, Head: one.HeadSHA, PullRequest: one.Number}
		if one.Follows {
			gained.Head = ""
		}
		word.Gained = append(word.Gained, gained)
	}
	for _, one := range history.Closed {
		if strings.Contains(one.Body, forge.Marker) {
			word.Gained = append(word.Gained, stoodOn(memory.ReadAbout(one.Body))...)
		}
	}
	return word, nil
}

// stoodOn are the commits of bases that a branch stood on, which count as the base's
// when somebody has rewritten that.
func stoodOn(about memory.About) []repo.Gained {
	var list []repo.Gained
	for _, one := range about.StoodOn {
		list = append(list, repo.Gained{Base: one.Base, Head: one.SHA})
	}
	return list
}

// stillThere reports whether the pull request that the run came from is open and has the
// work. No other is opened in its place: the error says where the work is, which is in
// no pull request then.
func (w *work) stillThere(ctx context.Context, p *ralph.Publication) (bool, error) {
	number, branch := w.decision.PullRequest, w.decision.Branch
	history, err := w.remote.forge.History(ctx, branch, "")
	if err != nil {
		return false, err
	}
	open := slices.IndexFunc(history.Open, func(one forge.OpenPullRequest) bool { return one.Number == number })
	if open >= 0 {
		p.PullRequest = history.Open[open].PullRequest
		if p.Branch == branch {
			return true, nil
		}
	}
	what := fmt.Sprintf("pull request #%d was closed while the run went on", number)
	closed := slices.IndexFunc(history.Closed, func(one forge.ClosedPullRequest) bool { return one.Number == number })
	switch {
	case open >= 0:
		what = fmt.Sprintf("the work could not be put on %s, the branch of pull request #%d", branch, number)
	case closed >= 0 && history.Closed[closed].Merged:
		what = fmt.Sprintf("pull request #%d was merged while the run went on", number)
		if one := history.Closed[closed]; one.HeadSHA == p.Tip && !one.Follows {
			w.rec.note("P" + what[1:] + ", with all that the run did.")
			return false, nil
		}
	}
	if p.HeadSHA == "" {
		w.rec.note("P" + what[1:] + "; the run had added nothing to it.")
		return false, nil
	}
	return false, fmt.Errorf("%s: the work is on the branch %s (commit %s) and in no pull request; open one from there, or take the commit over by hand", what, p.Branch, p.HeadSHA[:min(7, len(p.HeadSHA))])
}

// toBase is what is known of the branch's pull requests to its base.
func (b *branch) toBase() forge.Found {
	if history := b.pulls.Load(); history != nil {
		return history.To(b.start.Base)
	}
	return forge.History{}.To(b.start.Base)
}

// last is the number of the pull request of the branch that was open when it was
// looked at last; 0: none.
func (b *branch) last() int {
	if p := b.rec.report.Publication.PullRequest; p.Number != 0 {
		return p.Number
	}
	return b.toBase().Open.Number
}

// about is what the pull request is about, by what its body remembers and what this
// run brings.
func (b *branch) about(body string, now publish.State) memory.About {
	about := memory.ReadAbout(body)
	if body == "" {
		about.Issues = b.leftOpen()
	}
	about = about.With(b.decision.Issue)
	if about.Base == "" {
		about.Base = b.start.AskedBase
	}
	if now.OnBase != "" {
		about = about.On(memory.BaseCommit{Base: b.start.Base, SHA: now.OnBase})
	}
	about.Tip = now.Tip
	return about
}

// leftOpen are the issues of a branch that goes on without an open pull request: those
// of the last one, when somebody closed it unmerged, else the one that the branch is
// named for, when a run was ended before it made one.
func (b *branch) leftOpen() []int {
	if !b.start.Resumed {
		return nil
	}
	if last := b.toBase().Closed; last.Number != 0 {
		if last.Merged || !strings.Contains(last.Body, forge.Marker) {
			return nil
		}
		return memory.ReadAbout(last.Body).Issues
	}
	if n := trigger.IssueOf(b.start.Branch); n > 0 {
		return []int{n}
	}
	return nil
}

// revise makes title and body of a pull request of ours that is there already. What
// it closes and what it is called stays: a later run on the branch may have come from
// a comment on it, or from nothing but its branch. A title that the owner gave, or the
// first one that an agent gives, is set anew, unless somebody edited it on the forge;
// so is that of a pull request which this run has made, or one that was killed.
func (w *work) revise(r ralph.Report, at publish.State, title, body string) (string, string) {
	about := w.about(body, at)
	if plain := forge.PlainTitle(title); about.Title == memory.TitleMark(plain) {
		title = plain
	}
	ours, now := about.Title == memory.TitleMark(title), w.title(r)
	said, early := now == memory.SaidTitle(r), r.Publication.PullRequest.Operation == ralph.OperationCreated || strings.Contains(body, forge.UnderWayMark)
	if w.cfg.PullRequest.Title != "" && (about.Title == "" || ours) || ours && (early || said && !about.Said) || title == "" {
		title = now
		about.Title, about.Said = memory.TitleMark(title), said
	}
	return title, w.body(r, about)
}

// body is that of the pull request.
func (w *work) body(public ralph.Report, about memory.About) string {
	text := w.rec.redact.Text(report.Body(public, report.BodyOptions{Extra: w.cfg.PullRequest.Body, Marker: forge.Marker, About: about}))
	if public.Outcome == "" {
		text += "\n" + forge.UnderWayMark + "\n"
	}
	return text
}
