package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/wave"
	"github.com/org/ralph-action/internal/report/words"
)

// autoMark is what an approval at the review cap puts before its feedback.
const autoMark = "[AUTO-APPROVED AT CAP]"

// feedback is what the last review of a story said. Foreign text.
func feedback(s ralph.Story) string {
	return strings.TrimSpace(strings.TrimPrefix(s.Feedback, autoMark))
}

// storyState is where a story stands, with an icon.
func storyState(s ralph.Story) (icon, state string) {
	switch {
	case s.AutoApproved:
		return "⚠️", "auto-approved at the cap"
	case s.Done && s.Unprotected:
		return "⚠️", words.ApprovedUnprotected
	case s.Done && s.Status == ralph.StoryApproved:
		return "✅", "approved"
	case s.Done:
		return "✅", "done"
	case s.Status == ralph.StoryNeedsReview:
		return "🔎", "needs review"
	case s.Status == ralph.StoryChangesRequested:
		return "✏️", "changes requested"
	case s.Status == ralph.StoryApproved:
		return "✏️", "approved, but not done"
	}
	return "▫️", "open"
}

// byNeed sorts what people have to look at to the front: unfinished stories,
// then those that were approved because their reviews were used up, or without
// protection.
func byNeed(list []ralph.Story) []ralph.Story {
	need := func(s ralph.Story) int {
		switch {
		case !s.Done:
			return 0
		case doubtful(s):
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b ralph.Story) int { return need(a) - need(b) })
}

// doubtful reports whether a story was approved, but by nobody whose word counts.
func doubtful(s ralph.Story) bool { return s.AutoApproved || s.Unprotected }

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
		if s.Reviews == 1 && s.Status == ralph.StoryApproved && !s.AutoApproved {
			first++
		}
	}
	if reviewed == 0 {
		return "No story was reviewed yet."
	}
	mean := strings.TrimSuffix(strconv.FormatFloat(float64(reviews)/float64(reviewed), 'f', 1, 64), ".0")
	stories, took := "reviewed stories were", "reviews"
	if reviewed == 1 {
		stories = "reviewed story was"
	}
	if mean == "1" {
		took = "review"
	}
	return fmt.Sprintf("%d of %d %s approved at the first review; a reviewed story took %s %s on average.", first, reviewed, stories, mean, took)
}

// storyWarnings are what people should know of the approvals.
func storyWarnings(r ralph.Report) []doc.Text {
	all := []doc.Text{autoWords(r), unprotectedWords(r.Tasks)}
	return slices.DeleteFunc(all, func(t doc.Text) bool { return len(t) == 0 })
}

// unprotectedWords says why approvals of this run could have been forged; empty if
// they could not, or there are none.
func unprotectedWords(t ralph.TaskList) doc.Text {
	if t.Unprotected == "" || !slices.ContainsFunc(t.Stories, func(s ralph.Story) bool { return s.Unprotected }) {
		return nil
	}
	return doc.Line("Approvals of this run are not protected: ", doc.Foreign(t.Unprotected, 300), ". A program that a reviewer started could have approved in its place.")
}

const autoNamed = 10 // stories named in one sentence

// autoWords says which stories no reviewer accepted, and what follows; empty
// when there are none.
func autoWords(r ralph.Report) doc.Text {
	n := r.Tasks.AutoApproved()
	if n == 0 {
		return nil
	}
	var names []doc.Text
	for _, s := range r.Tasks.Stories {
		if s.AutoApproved && len(names) < autoNamed {
			names = append(names, doc.Line(doc.Foreign(s.ID, words.StoryRunes)))
		}
	}
	named := doc.Joined(names, ", ")
	if n > autoNamed {
		named = doc.Line(named, fmt.Sprintf(" and %d more", n-autoNamed))
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
	return doc.Line(named, was+" approved automatically because "+fmt.Sprintf(they, limit)+draftWords(r, n))
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

// unfinished tells the stories that are not done, at most list of them.
func (m record) unfinished() []doc.Text {
	var lines []doc.Text
	more := 0
	for _, s := range m.Tasks.Chosen() {
		if s.Done {
			continue
		}
		if len(lines) == m.list {
			more++
			continue
		}
		_, state := storyState(s)
		t := doc.Line("Story ", doc.Foreign(s.ID, words.StoryRunes), ", "+state)
		if s.Title != "" {
			t = doc.Line(t, ": ", doc.Foreign(s.Title, min(m.line, 200)))
		}
		lines = append(lines, t)
	}
	if more > 0 {
		lines = append(lines, doc.Line("…and "+words.Stories(more)+" more."))
	}
	return lines
}

// storyHead is what the stories and their reviews came to.
func (m record) storyHead(facts doc.Text) doc.Section {
	count := doc.Line(doc.Strong(words.StoryCount(m.Tasks)))
	if len(facts) > 0 {
		count = doc.Line(count, " (", facts, ")")
	}
	s := doc.Section{Title: doc.Line("Stories"), Blocks: []doc.Block{doc.Para(count, ".")}}
	for _, t := range storyWarnings(m.Report) {
		s.Blocks = append(s.Blocks, doc.Block{Kind: doc.WarningBlock, Lines: []doc.Text{t}})
	}
	return s
}

// storyLines tells the stories on a terminal: the counts, then a line each.
func (m record) storyLines(o doc.Style) doc.Section {
	t := m.Tasks
	if !words.HasTasks(m.Report) {
		return doc.Section{}
	}
	shown := t.Stories
	if len(shown) > m.bounds.stories {
		shown = byNeed(shown)[:m.bounds.stories]
	}
	var ids, states []string
	for _, one := range shown {
		_, state := storyState(one)
		ids, states = append(ids, doc.OneLine(one.ID, words.StoryRunes)), append(states, state)
	}
	var lines []doc.Text
	for i, one := range shown {
		mark := o.Sign(doc.Pending)
		switch {
		case doubtful(one):
			mark = o.Sign(doc.Warn)
		case one.Done:
			mark = o.Sign(doc.Finished)
		}
		reviews := ""
		if !t.SkipReview {
			reviews = fmt.Sprintf("%-10s  ", words.Plural(one.Reviews, "review"))
		}
		lines = append(lines, doc.Line(fmt.Sprintf("%s  %-*s  %-*s  %s", mark, doc.Longest(ids), ids[i], doc.Longest(states), states[i], reviews), doc.Foreign(one.Title, m.cell)))
	}
	if n := len(t.Stories) - len(shown); n > 0 {
		lines = append(lines, doc.Line("…and "+words.Stories(n)+" more"))
	}
	s := m.storyHead(nil)
	s.Blocks = append(s.Blocks, doc.Block{Kind: doc.LinesBlock, Lines: lines})
	return s
}

// feedbackRunes is what a table's cell shows of a review; longer ones are folded
// below the table.
const feedbackRunes = 140

// storyTable is a row for each story, with what the reviews came to above it.
func (m record) storyTable() doc.Section {
	t := m.Tasks
	if !words.HasTasks(m.Report) {
		return doc.Section{}
	}
	s := m.storyHead(m.listFacts())
	if m.Wave != nil { // whose own table tells what is new
		s.Title, s.Fold = nil, doc.Line(doc.Strong("The whole list"))
	}
	if len(t.Stories) == 0 {
		return s
	}
	shown, rows := doc.Fitting(t.Stories, byNeed, m.storyRow, m.bounds.stories, m.storyBytes)
	var ids []string
	for _, one := range shown {
		ids = append(ids, doc.OneLine(one.ID, words.StoryRunes))
	}
	g := doc.Grid{Rows: rows, Columns: []doc.Column{{Title: "Story", Class: "id", Room: doc.Longest(ids)}, {Title: "Title", Class: "t"}, {Title: "State"}}}
	if !t.SkipReview {
		g.Columns = append(g.Columns, doc.Column{Title: "Reviews", Right: true})
	}
	g.Columns = append(g.Columns, doc.Column{Title: "Iterations", Right: true})
	if !t.SkipReview {
		g.Columns = append(g.Columns, doc.Column{Title: "The last review", Class: "f"})
	}
	s.Blocks = append(s.Blocks, doc.Block{Kind: doc.GridBlock, Grid: g})
	if n := len(t.Stories) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft("…and "+words.Stories(n)+" more; report.json has them all."))
	}
	s.Blocks = append(s.Blocks, m.feedbacks(shown)...)
	return s
}

// listFacts names the list.
func (m record) listFacts() doc.Text {
	var facts []doc.Text
	if m.Tasks.File != "" {
		facts = append(facts, doc.Line(doc.Mono(m.Tasks.File, 120)))
	}
	if doc.OneLine(m.Tasks.Project, 80) != "" {
		facts = append(facts, doc.Line(doc.Foreign(m.Tasks.Project, 80)))
	}
	return doc.Joined(facts, ", ")
}

func (m record) storyRow(s ralph.Story) []doc.Text {
	icon, stands := storyState(s)
	state := doc.Line(doc.Tight(icon + " " + stands))
	if doubtful(s) {
		state = doc.Line(doc.Tight(icon+" "), doc.Strong(stands))
	}
	row := []doc.Text{doc.Line(doc.Foreign(s.ID, words.StoryRunes)), doc.Line(doc.Foreign(s.Title, 100)), state}
	if m.Tasks.SkipReview {
		return append(row, doc.Line(doc.Count(s.Iterations)))
	}
	said := doc.Line(doc.Foreign(feedback(s), feedbackRunes))
	if doc.OneLine(feedback(s), feedbackRunes) == "" {
		said = doc.Line(doc.Nothing)
	}
	return append(row, doc.Line(doc.Count(s.Reviews)), doc.Line(doc.Count(s.Iterations)), said)
}

// feedbacks folds the reviews that a cell has no room for.
func (m record) feedbacks(list []ralph.Story) []doc.Block {
	if m.Tasks.SkipReview {
		return nil
	}
	var blocks []doc.Block
	size := 0
	for _, s := range list {
		said := feedback(s)
		if !strings.HasSuffix(doc.OneLine(said, feedbackRunes), "…") {
			continue
		}
		body, cut := doc.Head(said, m.output)
		length := words.Plural(utf8.RuneCountInString(body), "character")
		if cut {
			body, length = body+"\n…", "the beginning"
		}
		review := doc.Fold(doc.Line("The last review of ", doc.Foreign(s.ID, words.StoryRunes), " ("+length+")"), doc.Pre(body))
		if size += len(review.Markdown()) + 1; len(blocks) == m.failures || size > m.storyBytes/2 {
			return append(blocks, doc.Soft("More reviews are left out here; report.json has them all."))
		}
		blocks = append(blocks, review)
	}
	return blocks
}

// putBack lists the newest of what iterations wrote into the task list and may
// not.
func (m record) putBack() doc.Section {
	var lines []doc.Text
	for _, it := range m.Iterations {
		for _, p := range it.Settled.Problems {
			lines = append(lines, doc.Line("Iteration "+words.IterationNumber(it)+" (", doc.Foreign(words.StepName(it.Step), 80), "): ", doc.Foreign(p, m.line)))
		}
	}
	if len(lines) == 0 {
		return doc.Section{}
	}
	shown := lines[max(0, len(lines)-m.list):]
	s := doc.Section{
		Title:  doc.Line("Changes to the task list that were put back"),
		Blocks: append([]doc.Block{doc.Para("An iteration may change only the story that it is for, and only as its step allows.")}, doc.Bulleted(shown)...),
	}
	if n := len(lines) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(words.Plural(n, "earlier one")+" left out here; report.json has them all."))
	}
	return s
}

// wave is what became of the lanes that the run integrated.
func (m record) wave() []doc.Section {
	if m.Wave == nil {
		return nil
	}
	return wave.Sections(*m.Wave, wave.Limits{
		Rows: m.bounds.stories, Bytes: cmp.Or(m.storyBytes, math.MaxInt), Lanes: m.lanes, Bars: m.bars, List: m.list, Line: m.line,
	}, func(id string) string { return commitURL(m.Report, id) })
}
