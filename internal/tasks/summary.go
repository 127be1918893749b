package tasks

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxRows bounds the table of stories in a summary.
const maxRows = 1000

// summary is summary.md: what was done, and what the reviews were worth.
func (l *List) summary(o ArchiveOptions, started string) []byte {
	var b bytes.Buffer
	name := cmp.Or(strings.TrimSpace(l.Project), strings.TrimSpace(l.BranchName), "Tasks")
	figures := l.Figures(o.Rules)
	until := o.At.Format(time.DateOnly)
	if started != "" && started != until {
		until = started + " to " + until
	}
	fmt.Fprintf(&b, "# %s\n\n- Date: %s\n", markdown(name), until)
	if !blank(l.BranchName) {
		fmt.Fprintf(&b, "- Branch: %s\n", markdown(l.BranchName))
	}
	for _, line := range figures.Lines() {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if figures.Reviews > 0 {
		fmt.Fprintf(&b, "- Stories by number of reviews: %s\n", l.histogram())
	}
	if len(figures.Capped) > 0 {
		fmt.Fprintf(&b, "- **Approved at the review cap, have a look:** %s\n", some(figures.Capped, markdown))
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
	counts := slices.Sorted(maps.Keys(by))
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
		"@", "&#64;", "<", "&lt;", ">", "&gt;", "&", "&amp;", "://", "&#58;//").Replace(Visible(s))
}
