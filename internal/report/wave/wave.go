// Package wave renders what became of a wave: a table of its stories, what came back and
// why, when the lanes worked, what waits, and whether another wave follows.
package wave

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// Limits bound what a document shows of a wave.
type Limits struct {
	Rows  int // of a table
	Bytes int // of a table, as Markdown
	Lanes int // in the chart; 0: there is none
	Bars  int // there, of all lanes together
	List  int // of what came back, and of what waits
	Line  int // runes of one line of foreign text
}

// in reports whether a story's commits are on the branch.
func in(s ralph.WaveStory) bool { return s.Fate == ralph.FateIn || s.Fate == ralph.FateAlready }

// landed counts the stories that are on the branch.
func landed(w ralph.Wave) int {
	n := 0
	for _, s := range w.Stories {
		if in(s) {
			n++
		}
	}
	return n
}

// Headline is the wave in a clause.
func Headline(w ralph.Wave) string {
	return fmt.Sprintf("Integrated %d of %s in wave %d", landed(w), words.Stories(len(w.Stories)), w.Number)
}

// fates says what became of a story, in a table and in a sentence about several.
func fates(f ralph.Fate) (cell, several string) {
	switch f {
	case ralph.FateIn:
		return "✅ integrated", ""
	case ralph.FateAlready:
		return "✅ integrated before", ""
	case ralph.FateReturned:
		return "↩️ returned", "returned"
	case ralph.FateRefused:
		return "⛔ refused", "refused"
	case ralph.FateUnfinished:
		return "⏳ not finished", "not finished"
	case ralph.FateMissing:
		return "❔ no result", "without a result"
	}
	return "▫️ unknown", "unknown"
}

// Sections is the wave in the order of what people ask. link is the address of a commit,
// or empty.
func Sections(w ralph.Wave, l Limits, link func(commit string) string) []doc.Section {
	return []doc.Section{stories(w, l, link), returned(w, l), lanes(w, l), later(w, l), earlier(w, l, link)}
}

// stories is how many are in, what that cost, what follows, and the table.
func stories(w ralph.Wave, l Limits, link func(string) string) doc.Section {
	of := ""
	if w.Of > 0 {
		of = fmt.Sprintf(" of at most %d", w.Of)
	}
	parts := []string{fmt.Sprintf("%d of %s integrated", landed(w), words.Stories(len(w.Stories)))}
	for _, f := range []ralph.Fate{ralph.FateReturned, ralph.FateRefused, ralph.FateUnfinished, ralph.FateMissing} {
		n := 0
		for _, s := range w.Stories {
			if s.Fate == f {
				n++
			}
		}
		if _, several := fates(f); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, several))
		}
	}
	if n := len(w.Later); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	next := "No other wave follows"
	if w.Next {
		next = "Another wave follows"
	}
	follows := doc.Line(doc.Strong(next))
	if doc.OneLine(w.Why, l.Line) != "" {
		follows = doc.Line(follows, ": ", doc.Foreign(w.Why, l.Line))
	}
	cost := "Lanes and integration: " + words.Cost(w.Cost)
	s := doc.Section{Title: doc.Line(fmt.Sprintf("Wave %d%s", w.Number, of)), Blocks: []doc.Block{
		doc.Para(doc.Strong(strings.Join(parts, ", ")), ". "+cost+"."),
		doc.Para(follows, "."),
	}}
	return table(s, w.Stories, l, link)
}

// table adds a row for each story, those that are not in first where there is no room
// for all.
func table(s doc.Section, list []ralph.WaveStory, l Limits, link func(string) string) doc.Section {
	if len(list) == 0 {
		return s
	}
	row := func(s ralph.WaveStory) []doc.Text { return tableRow(s, link) }
	shown, rows := doc.Fitting(list, returnedFirst, row, l.Rows, l.Bytes)
	var ids []string
	for _, one := range shown {
		ids = append(ids, doc.OneLine(one.ID, words.StoryRunes))
	}
	s.Blocks = append(s.Blocks, doc.Block{Kind: doc.GridBlock, Grid: doc.Grid{Rows: rows, Columns: []doc.Column{
		{Title: "Story", Class: "id", Room: doc.Longest(ids)}, {Title: "Title", Class: "t"}, {Title: "Wave", Right: true}, {Title: "Lane"},
		{Title: "Reviews", Right: true}, {Title: "Time", Right: true}, {Title: "Cost", Right: true}, {Title: "Result"},
	}}})
	if n := len(list) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft("…and "+words.Stories(n)+" more; report.json has them all."))
	}
	return s
}

// returnedFirst sorts those that are not in to the front.
func returnedFirst(list []ralph.WaveStory) []ralph.WaveStory {
	var isIn, isNot []ralph.WaveStory
	for _, s := range list {
		if in(s) {
			isIn = append(isIn, s)
		} else {
			isNot = append(isNot, s)
		}
	}
	return append(isNot, isIn...)
}

func tableRow(s ralph.WaveStory, link func(string) string) []doc.Text {
	cell, _ := fates(s.Fate)
	result := doc.Line(doc.Tight(cell))
	if sha := words.Sha(s.Commit); sha != "" && in(s) {
		result = doc.Line(result, " ", doc.Linked(link(s.Commit), doc.Bare(sha, 12)))
	}
	took, cost := doc.Nothing, doc.Nothing
	if s.Took > 0 {
		took = words.Span(s.Took)
	}
	if s.Cost != (ralph.Cost{}) {
		cost = s.Cost.String()
	}
	return []doc.Text{
		doc.Line(doc.Foreign(s.ID, words.StoryRunes)), doc.Line(doc.Foreign(s.Title, 100)), doc.Line(doc.Count(s.Wave)), doc.Line(doc.Foreign(s.Lane, 12)),
		doc.Line(doc.Count(s.Reviews)), doc.Line(doc.Tight(took)), doc.Line(doc.Tight(cost)), result,
	}
}

// returned is what is not in, and why.
func returned(w ralph.Wave, l Limits) doc.Section {
	var lines []doc.Text
	for _, s := range w.Stories {
		if in(s) {
			continue
		}
		_, what := fates(s.Fate)
		t := doc.Line(doc.Foreign(s.ID, words.StoryRunes), " ("+what+")")
		if doc.OneLine(s.Why, l.Line) != "" {
			t = doc.Line(t, ": ", doc.Foreign(s.Why, l.Line))
		}
		lines = append(lines, t)
	}
	return listed(doc.Section{Title: doc.Line("What is not integrated, and why")}, lines, l)
}

// later is what was in no lane.
func later(w ralph.Wave, l Limits) doc.Section {
	var lines []doc.Text
	for _, s := range w.Later {
		lines = append(lines, doc.Line(doc.Foreign(s.Story, words.StoryRunes), ": ", doc.Foreign(s.Why, l.Line)))
	}
	title := "Waiting: " + words.Stories(len(w.Later))
	return listed(doc.Section{Name: "what waits", Fold: doc.Line(doc.Strong(title))}, lines, l)
}

// listed is a section that is a list, cut, or none.
func listed(s doc.Section, lines []doc.Text, l Limits) doc.Section {
	if len(lines) == 0 {
		return doc.Section{}
	}
	shown := lines[:min(len(lines), l.List)]
	s.Blocks = doc.Bulleted(shown)
	if n := len(lines) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft("…and "+words.Stories(n)+" more; report.json has them all."))
	}
	return s
}

// earlier is what is on the branch already.
func earlier(w ralph.Wave, l Limits, link func(string) string) doc.Section {
	if len(w.Earlier) == 0 {
		return doc.Section{}
	}
	title := "From earlier waves: " + words.Stories(len(w.Earlier))
	return table(doc.Section{Name: "earlier waves", Fold: doc.Line(doc.Strong(title))}, w.Earlier, l, link)
}

// lanes is when each lane worked on what.
func lanes(w ralph.Wave, l Limits) doc.Section {
	if l.Lanes == 0 {
		return doc.Section{}
	}
	t := doc.Timeline{Title: "Time in UTC"}
	all, bars := 0, 0
	for _, lane := range w.Lanes {
		row := row(lane)
		if len(row.Bars) == 0 {
			continue
		}
		all++
		if bars += len(row.Bars); len(t.Rows) < l.Lanes && bars <= l.Bars {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return doc.Section{}
	}
	s := doc.Section{Title: doc.Line("Lanes"), Blocks: []doc.Block{{Kind: doc.TimesBlock, Times: t}}}
	if all > len(t.Rows) {
		s.Blocks = append(s.Blocks, doc.Soft(fmt.Sprintf("%d of %d lanes; report.json has them all.", len(t.Rows), all)))
	}
	return s
}

func row(lane ralph.LaneTime) doc.TimelineRow {
	row := doc.TimelineRow{Label: lane.Name}
	for _, s := range lane.Stories {
		if s.Started.IsZero() || s.Ended.Before(s.Started) {
			continue // nobody worked on it
		}
		came := doc.CameToNothing
		switch s.Fate {
		case ralph.FateIn, ralph.FateAlready:
			came = doc.CameToAnEnd
		case ralph.FateReturned, ralph.FateRefused:
			came = doc.CameBack
		}
		row.Bars = append(row.Bars, doc.TimelineBar{Label: s.ID, From: s.Started, To: s.Ended, Came: came})
	}
	return row
}
