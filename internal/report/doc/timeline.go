package doc

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Timeline is rows of bars over one axis of time.
type Timeline struct {
	Title string
	Rows  []TimelineRow
}

// TimelineRow is what happened one after the other.
type TimelineRow struct {
	Label string // foreign
	Bars  []TimelineBar
}

// TimelineBar is from when to when something was worked on.
type TimelineBar struct {
	Label    string // foreign
	From, To time.Time
	Came     Came
}

// Came is what came of a bar's work.
type Came int

// What can come of it.
const (
	CameToAnEnd Came = iota
	CameBack
	CameToNothing
)

// row is how a bar looks: its mark and its tag in Mermaid, its class on the page.
func (c Came) row() (mark, tag, class string) {
	switch c {
	case CameToAnEnd:
		return "✓", "done", "good"
	case CameBack:
		return "↩", "crit", "bad"
	}
	return "…", "active", "limit"
}

// labelRunes bounds a label. Mermaid draws no chart of more than 50,000 characters, which
// 250 bars are not.
const labelRunes = 30

// span is the time that the bars take up, of which there is at least one.
func (t Timeline) span() (from, to time.Time) {
	for _, r := range t.Rows {
		for _, b := range r.Bars {
			if from.IsZero() || b.From.Before(from) {
				from = b.From
			}
			if b.To.After(to) {
				to = b.To
			}
		}
	}
	if !to.After(from) {
		to = from.Add(time.Second)
	}
	return from, to
}

// scale is how times are written on the axis, in Go and in Mermaid.
func (t Timeline) scale() (layout, mermaid string) {
	switch from, to := t.span(); {
	case to.Sub(from) < 10*time.Minute:
		return "15:04:05", "%H:%M:%S"
	case to.Sub(from) < 24*time.Hour:
		return "15:04", "%H:%M"
	}
	return "2 Jan 15:04", "%d %b %H:%M"
}

// mermaid is the timeline as a Gantt chart: a section for each row. A bar too short for
// its label has its mark alone, for Mermaid would write over the next bar.
func (t Timeline) mermaid() string {
	const stamp = "2006-01-02T15:04:05"
	var b strings.Builder
	_, axis := t.scale()
	from, until := t.span()
	fmt.Fprintf(&b, "```mermaid\n---\ndisplayMode: compact\n---\ngantt\n    title %s\n    dateFormat YYYY-MM-DDTHH:mm:ss\n    axisFormat %s\n    todayMarker off\n", mermaidLabel(t.Title), axis)
	for _, r := range t.Rows {
		b.WriteString("    section " + mermaidLabel(r.Label) + "\n")
		for _, bar := range r.Bars {
			mark, tag, _ := bar.Came.row()
			to := bar.To.UTC()
			if to.Before(bar.From.Add(time.Second)) {
				to = bar.From.UTC().Add(time.Second) // else it would not be seen
			}
			label := mermaidLabel(bar.Label)
			if room := 130 * float64(to.Sub(bar.From)) / float64(until.Sub(from)); float64(utf8.RuneCountInString(label)+3) > room {
				label = ""
			}
			// The mark in front keeps the label from being a keyword of Mermaid's.
			fmt.Fprintf(&b, "    %s %s :%s, %s, %s\n", mark, label, tag, bar.From.UTC().Format(stamp), to.Format(stamp))
		}
	}
	return b.String() + "```\n"
}

// mermaidLabel is s as a label in a Gantt chart: letters, digits and what stands between
// them in names. Everything else means something to Mermaid somewhere.
func mermaidLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_./", r) {
			return r
		}
		return '·'
	}, OneLine(s, labelRunes))
	if s == "" {
		return "·"
	}
	return s
}

// laidTimeline is a timeline laid out for the page's SVG.
type laidTimeline struct {
	Title                 string
	Width, Height, Bottom int
	Rows                  []laidRow
	Ticks                 []tick
}

type laidRow struct {
	Y, Middle int
	Label     string
	Bars      []laidBar
}

type laidBar struct {
	X, Width          float64
	Class, Label, Tip string
}

func (t Timeline) laid() laidTimeline {
	const width, left, height = 1000, 70, 22
	l := laidTimeline{Title: t.Title, Width: width, Bottom: 6 + height*len(t.Rows)}
	l.Height = l.Bottom + 24
	from, to := t.span()
	layout, _ := t.scale()
	x := func(at time.Time) float64 {
		return left + float64(at.Sub(from))/float64(to.Sub(from))*(width-left-40)
	}
	for i, r := range t.Rows {
		row := laidRow{Y: 8 + height*i, Middle: 8 + height*i + 13, Label: OneLine(r.Label, 9)}
		for _, b := range r.Bars {
			_, _, class := b.Came.row()
			bar := laidBar{X: round1(x(b.From)), Width: round1(math.Max(2, x(b.To)-x(b.From)-1)), Class: class}
			bar.Tip = fmt.Sprintf("%s: %s to %s UTC", OneLine(b.Label, labelRunes), b.From.UTC().Format(layout), b.To.UTC().Format(layout))
			if name := OneLine(b.Label, labelRunes); float64(7*len(name)) < bar.Width {
				bar.Label = name
			}
			row.Bars = append(row.Bars, bar)
		}
		l.Rows = append(l.Rows, row)
	}
	for i := range 6 {
		at := from.Add(to.Sub(from) / 5 * time.Duration(i))
		l.Ticks = append(l.Ticks, tick{round1(x(at)), at.UTC().Format(layout)})
	}
	return l
}
