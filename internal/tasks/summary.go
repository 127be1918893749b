package tasks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxRows bounds the table of stories in a summary.
const maxRows = 1000

// summary is summary.md: what was done, and what the reviews were worth.
func (l *List) summary(o ArchiveOptions, started string) []byte {
	var b bytes.Buffer
	name := l.Project
	if blank(name) {
		name = l.BranchName
	}
	if blank(name) {
		name = "Tasks"
	}
	done, reviews, most := 0, 0, 0
	var capped []string
	for i := range l.Stories {
		s := &l.Stories[i]
		if s.done(o.Rules) {
			done++
		}
		reviews += s.ReviewCount
		most = max(most, s.ReviewCount)
		if s.AutoApproved() {
			capped = append(capped, markdown(s.ID))
		}
	}
	until := o.At.Format(time.DateOnly)
	if started != "" && started != until {
		until = started + " to " + until
	}
	fmt.Fprintf(&b, "# %s\n\n- Stories completed: %d of %d\n- Date: %s\n", markdown(name), done, len(l.Stories), until)
	if !blank(l.BranchName) {
		fmt.Fprintf(&b, "- Branch: %s\n", markdown(l.BranchName))
	}
	if reviews > 0 {
		fmt.Fprintf(&b, "- Reviews: %d, %.1f per story, at most %d\n", reviews, float64(reviews)/float64(len(l.Stories)), most)
		fmt.Fprintf(&b, "- Stories by number of reviews: %s\n", l.histogram())
	}
	if len(capped) > 0 {
		more := ""
		if n := len(capped) - 50; n > 0 {
			capped, more = capped[:50], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "- **Approved at the review cap, have a look:** %s%s\n", strings.Join(capped, ", "), more)
	}
	b.WriteString("\n| Story | Title | State | Reviews |\n| --- | --- | --- | ---: |\n")
	for i := range l.Stories[:min(len(l.Stories), maxRows)] {
		s := &l.Stories[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", markdown(s.ID), markdown(s.Title), s.state(o.Rules), s.ReviewCount)
	}
	if n := len(l.Stories) - maxRows; n > 0 {
		fmt.Fprintf(&b, "\nAnd %d more.\n", n)
	}
	return b.Bytes()
}

// histogram is how many stories had how many reviews: "4 with 1, 2 with 3".
func (l *List) histogram() string {
	by := map[int]int{}
	for i := range l.Stories {
		by[l.Stories[i].ReviewCount]++
	}
	var counts []int
	for n := range by {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	var parts []string
	for _, n := range counts[:min(len(counts), 20)] {
		parts = append(parts, fmt.Sprintf("%d with %d", by[n], n))
	}
	return strings.Join(parts, ", ")
}

// state is a story's state in a word.
func (s *Story) state(r Rules) string {
	switch {
	case s.AutoApproved():
		return "approved at cap"
	case s.done(r):
		return "done"
	case s.Status == NeedsReview:
		return "needs review"
	case s.Status == ChangesRequested:
		return "changes requested"
	}
	return "open"
}

// markdown makes foreign text mean itself within a line or a table.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "#", `\#`, "~", `\~`,
		"@", "&#64;", "<", "&lt;", ">", "&gt;", "&", "&amp;", "://", "&#58;//").Replace(visible(s))
}
