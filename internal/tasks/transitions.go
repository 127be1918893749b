package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/tasks/document"
)

// Transitions finds what an iteration of the snapshot's mode may not have
// changed. With reviews skipped the state of the stories that the work is about
// is their own business, and only those that do not pass are kept from
// disappearing. Without a snapshot nothing is found.
func (s Snapshot) Transitions(after *List) []Problem {
	if !s.Known() {
		return nil
	}
	t := transitions{Snapshot: s, after: after, chosen: -1}
	t.moves()
	t.gone()
	if len(t.found.List) == 0 && s.Mode == Review && !s.still && t.chosen < 0 {
		id := Visible(s.Story.ID)
		if s.brief {
			next, _ := after.Next(s.Rules)
			id = Visible(next.ID)
		}
		t.found.add(Problem{Kind: Stuck, index: -1, Story: id, Text: reviewText(id,
			"review must increment reviewCount and either approve the story or request changes, and no story changed")})
	}
	for i := range t.found.List {
		if p := &t.found.List[i]; p.index >= 0 {
			p.Line, p.Column = document.Place(after.doc.Source, after.stories.Items[p.index].Value.At)
		}
	}
	return t.found.all()
}

type transitions struct {
	Snapshot
	after  *List
	chosen int // the one story that moved as the mode has it; -1: none
	found  Problems
}

// change is a field of a story that is not what it was.
type change struct{ field, old, now string }

// changes compares the review fields of a story, and its feedback if that is
// known of before.
func (s *Story) changes(was *Story, feedback bool) (all []change) {
	if s.Passes != was.Passes {
		all = append(all, change{fieldPasses, strconv.FormatBool(was.Passes), strconv.FormatBool(s.Passes)})
	}
	if s.Status != was.Status {
		all = append(all, change{fieldStatus, was.Status.String(), s.Status.String()})
	}
	if s.ReviewCount != was.ReviewCount {
		all = append(all, change{fieldCount, strconv.Itoa(was.ReviewCount), strconv.Itoa(s.ReviewCount)})
	}
	if feedback && s.ReviewFeedback != was.ReviewFeedback {
		all = append(all, change{fieldFeedback, Quote(was.ReviewFeedback), Quote(s.ReviewFeedback)})
	}
	return all
}

// moves judges every story that is there.
func (t *transitions) moves() {
	if t.Rules.SkipReview && !t.closed() {
		return
	}
	t.chosen = t.choose()
	for i := range t.after.Stories {
		now := &t.after.Stories[i]
		was, known := t.before(now.ID)
		if !known {
			was = &Story{}
		}
		changes := now.changes(was, !t.brief || !known)
		switch {
		case len(changes) == 0:
		case t.Rules.SkipReview && !t.still && t.Rules.covers(now.ID):
		case !known:
			t.fresh(i, changes)
		case t.Mode == Review && i != t.chosen:
			t.review(i, now, was)
		case t.Mode == Review:
		case t.Mode == ReviewFix && i == t.chosen && now.ReviewFeedback != "":
			// Without its status the feedback would be lost on the next fix.
			old := Quote(was.ReviewFeedback)
			if t.brief {
				old = "what was requested"
			}
			t.illegal(i, change{fieldFeedback, old, Quote(now.ReviewFeedback)}, `a review-fix sets reviewFeedback to ""`, stateFields()...)
			t.work(i, changes)
		default:
			t.work(i, changes)
		}
	}
}

// choose finds the one story whose move is the iteration's: the one the
// iteration was for, or else the first that moved like that.
func (t *transitions) choose() int {
	first := -1
	if t.still || t.Rules.SkipReview {
		return first
	}
	for i := range t.after.Stories {
		now := &t.after.Stories[i]
		was, known := t.before(now.ID)
		if !known || !t.Rules.covers(now.ID) || !t.legal(now, was) {
			continue
		}
		if now.ID == t.Story.ID {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// legal reports whether a story moved as the mode is for. Of implement and review-fix
// it looks at the status only, because the other fields are judged one by one.
func (t *transitions) legal(now, was *Story) bool {
	switch t.Mode {
	case Implement:
		return was.Status == Open && now.Status == NeedsReview && t.free(was)
	case ReviewFix:
		return was.Status == ChangesRequested && now.Status == NeedsReview
	}
	return t.verdict(now, was) == ""
}

// free reports whether a story depended on nothing unfinished.
func (t *transitions) free(was *Story) bool {
	return !slices.ContainsFunc(was.DependsOn, func(id string) bool {
		other, known := t.before(id)
		return known && !other.done(t.Rules)
	})
}

// fresh is a story that was not there before: it starts at the beginning.
func (t *transitions) fresh(i int, changes []change) {
	for n, c := range changes {
		if c.field == fieldFeedback && !marked(t.after.Stories[i].ReviewFeedback) {
			continue
		}
		details := "a new story must start at passes=false, reviewStatus=null and reviewCount=0"
		if n > 0 && t.Mode != Review {
			details = "" // it was said
		}
		t.illegal(i, c, details)
	}
}

// work judges a story in implement and review-fix iterations.
func (t *transitions) work(i int, changes []change) {
	for _, c := range changes {
		switch {
		case i == t.chosen && c.field == fieldStatus:
		case i == t.chosen && c.field == fieldFeedback && t.Mode == ReviewFix:
		default:
			t.illegal(i, c, t.crowd(i, c))
		}
	}
}

// crowd says that a story made the move of the mode after another one did; "" when
// that is not what is wrong with a change.
func (t *transitions) crowd(i int, c change) string {
	if i == t.chosen || t.chosen < 0 || c.field != fieldStatus || c.now != string(NeedsReview) {
		return ""
	}
	return "in this iteration multiple stories were changed; it may only work on one, and worked on " + Visible(t.after.Stories[t.chosen].ID)
}

// illegal reports a change with the text of the mode. Its field is put back, and
// so is what is named besides.
func (t *transitions) illegal(i int, c change, details string, besides ...string) {
	id := Visible(t.after.Stories[i].ID)
	move := fmt.Sprintf("%s %s → %s.", c.field, c.old, c.now)
	p := Problem{Kind: Transition, Story: id, index: i, reset: append(besides, c.field)}
	switch {
	case t.still:
		p.Text = fmt.Sprintf("No story may change state between two iterations. Story %s had illegal transition: %s", id, move)
	case t.Rules.SkipReview:
		p.Text = fmt.Sprintf("This run works on %s only. Story %s had illegal transition: %s", t.Rules.only(), id, move)
	case t.Mode == Implement && t.chosen >= 0 && i != t.chosen && c.field == fieldStatus && c.now == NeedsReview.String():
		p.Text = fmt.Sprintf("Implement iterations cannot move multiple stories, and this one implemented %s. Story %s had illegal transition: %s",
			Visible(t.after.Stories[t.chosen].ID), id, move)
	case t.Mode == Implement:
		p.Text = fmt.Sprintf("Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "+
			"Story %s had illegal transition: %s", id, move) + sentence(details)
	case t.Mode == ReviewFix:
		p.Text = fmt.Sprintf("Review-fix iterations cannot approve stories. Story %s must go back to needs_review for re-review. "+
			"Illegal transition: %s", id, move) + sentence(details)
	default:
		p.Text = reviewText(id, details)
	}
	t.found.add(p)
}

// sentence puts details behind a sentence, as one of their own.
func sentence(details string) string {
	if details == "" {
		return ""
	}
	return " " + strings.ToUpper(details[:1]) + details[1:] + "."
}

func (t *transitions) review(i int, now, was *Story) {
	details := t.verdict(now, was)
	switch {
	case details != "":
	case t.chosen < 0:
		details = "this run works on " + t.Rules.only() + " only"
	default:
		details = "multiple stories were changed; review may only modify one story, and this one reviewed " + Visible(t.after.Stories[t.chosen].ID)
	}
	id := Visible(now.ID)
	t.found.add(Problem{Kind: Transition, Story: id, index: i, reset: stateFields(), Text: reviewText(id, details)})
}

func reviewText(id, details string) string {
	return fmt.Sprintf("Review iteration made illegal transition on story %s: %s.", id, details)
}

// verdict says what is wrong with a review; "" when it is one. At the cap a
// story is approved whatever is left to say, and says so.
func (t *transitions) verdict(now, was *Story) string {
	approved := now.Status == Approved && now.Passes
	switch {
	case was.Status != NeedsReview:
		return fmt.Sprintf("only a story with reviewStatus needs_review may be reviewed, and this one had %s", was.Status)
	case now.ReviewCount != was.ReviewCount+1:
		return fmt.Sprintf("review must increment reviewCount by 1, and it went from %d to %d", was.ReviewCount, now.ReviewCount)
	case approved && marked(now.ReviewFeedback) && !now.atCap(t.Rules):
		return fmt.Sprintf("reviewFeedback begins with %s, but reviewCount %d is below the review cap: request changes, or approve without it",
			CapMark, now.ReviewCount)
	case approved:
		return ""
	case now.Status != ChangesRequested || now.Passes:
		return fmt.Sprintf("a review ends with approved and passes=true or with changes_requested and passes=false, and this one with %s and passes=%t",
			now.Status, now.Passes)
	case blank(now.ReviewFeedback):
		return "changes_requested needs reviewFeedback that says what has to change"
	case now.atCap(t.Rules):
		return fmt.Sprintf("reviewCount %d has reached the review cap of %d: approve the story, with what is left in reviewFeedback after %s",
			now.ReviewCount, t.Rules.ReviewCap, CapMark)
	}
	return ""
}

// gone finds stories that disappeared and may not: before they were done, or
// where nobody else may touch them.
func (t *transitions) gone() {
	there := make(map[string]bool, len(t.after.Stories))
	for i := range t.after.Stories {
		there[t.after.Stories[i].ID] = true
	}
	for i := range t.list.Stories {
		was := &t.list.Stories[i]
		if !there[was.ID] && t.stays(was) {
			t.found.add(t.lost(was))
		}
	}
}

// stays reports whether a story of the snapshot may not be removed.
func (s Snapshot) stays(was *Story) bool { return s.closed() || !was.done(s.Rules) }

// lost is a story that may not be removed and is not there any more.
func (s Snapshot) lost(was *Story) Problem {
	text := "Story %s was removed or renamed, but is not approved. Keep it with its id; what it leaves over can become new stories."
	switch {
	case was.done(s.Rules) && s.still:
		text = "Story %s was removed or renamed between two iterations. Keep it with its id."
	case was.done(s.Rules):
		text = "Story %s was removed or renamed, and this run works on others only. Keep it with its id."
	case s.Rules.SkipReview:
		text = "Story %s was removed or renamed, but does not pass. Keep it with its id; what it leaves over can become new stories."
	}
	id := Visible(was.ID)
	return Problem{Kind: Transition, Story: id, index: -1, Text: fmt.Sprintf(text, id)}
}
