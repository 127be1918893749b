package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// hasTasks says that the run had a task list.
func hasTasks(r ralph.Report) bool { return r.Tasks.File != "" || len(r.Tasks.Stories) > 0 }

// stories is "1 story", "2 stories".
func stories(n int) string {
	if n == 1 {
		return "1 story"
	}
	return strconv.Itoa(n) + " stories"
}

// autoMark is what an approval at the review cap puts before its feedback.
const autoMark = "[AUTO-APPROVED AT CAP]"

// feedback is what the last review of a story said. Foreign text.
func feedback(s ralph.Story) string {
	return strings.TrimSpace(strings.TrimPrefix(s.Feedback, autoMark))
}

// storyState is where a story stands, with an icon.
func storyState(s ralph.Story) (icon, words string) {
	switch {
	case s.AutoApproved:
		return "⚠️", "auto-approved at the cap"
	case s.Done && s.Unprotected:
		return "⚠️", approvedUnprotected
	case s.Done && s.Status == approved:
		return "✅", "approved"
	case s.Done:
		return "✅", "done"
	case s.Status == needsReview:
		return "🔎", "needs review"
	case s.Status == changesRequested:
		return "✏️", "changes requested"
	case s.Status == approved:
		return "✏️", "approved, but not done"
	}
	return "▫️", "open"
}

// byNeed sorts what people have to look at to the front: unfinished stories,
// then those that were approved because their reviews were used up, or without
// protection.
func byNeed(list []ralph.Story) []ralph.Story {
	sorted := make([]ralph.Story, 0, len(list))
	for _, keep := range []func(ralph.Story) bool{
		func(s ralph.Story) bool { return !s.Done },
		func(s ralph.Story) bool { return s.Done && doubtful(s) },
		func(s ralph.Story) bool { return s.Done && !doubtful(s) },
	} {
		for _, s := range list {
			if keep(s) {
				sorted = append(sorted, s)
			}
		}
	}
	return sorted
}

// doubtful reports whether a story was approved, but by nobody whose word counts.
func doubtful(s ralph.Story) bool { return s.AutoApproved || s.Unprotected }

// storyCount is "3 of 5 stories are done, 1 auto-approved".
func storyCount(t ralph.TaskList) string {
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
	text := fmt.Sprintf("%d of %s %s done", done, stories(len(t.Stories)), are)
	for i := range t.Stories {
		if one := &t.Stories[i]; t.Only != "" && one.ID == t.Only {
			not := map[bool]string{false: "not "}[one.Done]
			text = fmt.Sprintf("This run's story is %sdone; in all, %s", not, text)
		}
	}
	if n := t.AutoApproved(); n > 0 {
		text += fmt.Sprintf(", %d auto-approved", n)
	}
	return text
}

// reviewWords says what the reviews came to: how many stories pleased at once,
// and how many reviews a story took.
func reviewWords(t ralph.TaskList) string {
	if t.SkipReview {
		return "Nothing was reviewed: this run was asked to skip reviews (skip-review)."
	}
	reviewed, reviews, first := 0, 0, 0
	for _, s := range t.Stories {
		if s.Reviews == 0 {
			continue
		}
		reviewed++
		reviews += s.Reviews
		if s.Reviews == 1 && s.Status == approved && !s.AutoApproved {
			first++
		}
	}
	if reviewed == 0 {
		return "No story was reviewed yet."
	}
	mean := strings.TrimSuffix(strconv.FormatFloat(float64(reviews)/float64(reviewed), 'f', 1, 64), ".0")
	return fmt.Sprintf("%d of %s approved at the first review; a reviewed story took %s on average.", first, were(reviewed), plainPlural(mean, "review"))
}

// were is "1 reviewed story was", "4 reviewed stories were".
func were(n int) string {
	if n == 1 {
		return "1 reviewed story was"
	}
	return strconv.Itoa(n) + " reviewed stories were"
}

func plainPlural(n, noun string) string {
	if n == "1" {
		return n + " " + noun
	}
	return n + " " + noun + "s"
}

// storyWarnings are what people should know of the approvals.
func storyWarnings(r ralph.Report, w wording) (all []string) {
	for _, text := range []string{autoWords(r, w), unprotectedWords(r.Tasks, w)} {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// unprotectedWords says why approvals of this run could have been forged; empty if
// they could not, or there are none.
func unprotectedWords(t ralph.TaskList, w wording) string {
	if t.Unprotected == "" || !slices.ContainsFunc(t.Stories, func(s ralph.Story) bool { return s.Unprotected }) {
		return ""
	}
	return "Approvals of this run are not protected: " + w.words(t.Unprotected, 300) + ". A program that a reviewer started could have approved in its place."
}

const autoNamed = 10 // stories named in one sentence

// autoWords says which stories no reviewer accepted, and what follows; empty
// when there are none.
func autoWords(r ralph.Report, w wording) string {
	n := r.Tasks.AutoApproved()
	if n == 0 {
		return ""
	}
	var names []string
	for _, s := range r.Tasks.Stories {
		if s.AutoApproved && len(names) < autoNamed {
			names = append(names, w.words(s.ID, storyRunes))
		}
	}
	text := strings.Join(names, ", ")
	if n > autoNamed {
		text += fmt.Sprintf(" and %d more", n-autoNamed)
	}
	limit := ""
	if r.Tasks.ReviewCap > 0 {
		limit = fmt.Sprintf(" (review-cap %d)", r.Tasks.ReviewCap)
	}
	they := "its reviews were used up%s. No reviewer accepted it as it is: somebody should look at it."
	was := " was"
	if n > 1 {
		they, was = "their reviews were used up%s. No reviewer accepted them as they are: somebody should look at them.", " were"
	}
	return text + was + " approved automatically because " + fmt.Sprintf(they, limit) + draftWords(r, n)
}

// draftWords says what auto-approved stories do to the pull request; nothing
// when there is none, or when it is no draft all the same.
func draftWords(r ralph.Report, n int) string {
	pr := r.Publication.PullRequest
	if pr.Number > 0 && !pr.Draft || pr.Number == 0 && r.Publication.ServerURL == "" {
		return ""
	}
	it := "it"
	if n > 1 {
		it = "them"
	}
	return " The pull request stays a draft because of " + it + ", unless review-cap-policy is accept."
}

// unfinished tells the stories that are not done, at most limit.list.
func unfinished(t ralph.TaskList, limit bounds, w wording) []string {
	var lines []string
	more := 0
	for _, s := range t.Stories {
		if s.Done {
			continue
		}
		if len(lines) == limit.list {
			more++
			continue
		}
		_, state := storyState(s)
		line := "Story " + w.words(s.ID, storyRunes) + ", " + state
		if s.Title != "" {
			line += ": " + w.words(s.Title, min(limit.line, 200))
		}
		lines = append(lines, line)
	}
	if more > 0 {
		lines = append(lines, "…and "+stories(more)+" more.")
	}
	return lines
}

const textStoryRows = 20

// textStories tells the stories on a terminal: the counts, then a line each.
func textStories(f *Formatter, t ralph.TaskList) []string {
	shown := t.Stories
	if len(shown) > textStoryRows {
		shown = byNeed(shown)[:textStoryRows]
	}
	ids, states := 0, 0
	for _, s := range shown {
		_, state := storyState(s)
		ids, states = max(ids, len([]rune(oneLine(s.ID, storyRunes)))), max(states, len(state))
	}
	var lines []string
	for _, s := range shown {
		_, state := storyState(s)
		mark := f.sign(pending)
		switch {
		case doubtful(s):
			mark = f.sign(warn)
		case s.Done:
			mark = f.sign(finished)
		}
		reviews := ""
		if !t.SkipReview {
			reviews = fmt.Sprintf("%-10s  ", plural(s.Reviews, "review"))
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s  %-*s  %-*s  %s%s", mark, ids, oneLine(s.ID, storyRunes), states, state, reviews, oneLine(s.Title, 100)), " "))
	}
	if n := len(t.Stories) - len(shown); n > 0 {
		lines = append(lines, "  …and "+stories(n)+" more")
	}
	return lines
}
