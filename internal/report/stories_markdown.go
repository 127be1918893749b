package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// feedbackRunes is what a table's cell shows of a review; longer ones are folded
// below the table.
const feedbackRunes = 140

// storyTable is a row for each story, with what the reviews came to above it.
func (m markdown) storyTable() string {
	t := m.Tasks
	if !hasTasks(m.Report) {
		return ""
	}
	var b strings.Builder
	b.WriteString("### Stories\n\n**" + storyCount(t) + "**")
	if facts := m.listFacts(); facts != "" {
		b.WriteString(" (" + facts + ")")
	}
	b.WriteString(". " + reviewWords(t) + "\n")
	for _, text := range storyWarnings(m.Report, markdownWords{}) {
		b.WriteString("\n" + alert("WARNING", text))
	}
	if len(t.Stories) == 0 {
		return b.String()
	}
	shown := t.Stories
	rows := m.storyRows(shown)
	if len(rows) < len(shown) {
		shown = byNeed(shown)
		rows = m.storyRows(shown)
	}
	id := 0
	for _, s := range shown[:len(rows)] {
		id = max(id, utf8.RuneCountInString(oneLine(s.ID, storyRunes)))
	}
	b.WriteString("\n| " + widened("Story", id) + " |")
	if t.SkipReview {
		b.WriteString(" Title | State | Iterations |\n|:--|:--|:--|--:|\n")
	} else {
		b.WriteString(" Title | State | Reviews | Iterations | The last review |\n|:--|:--|:--|--:|--:|:--|\n")
	}
	b.WriteString(strings.Join(rows, ""))
	if n := len(shown) - len(rows); n > 0 {
		fmt.Fprintf(&b, "\n_…and %s more; report.json has them all._\n", stories(n))
	}
	b.WriteString(m.feedbacks(shown[:len(rows)]))
	return b.String()
}

// listFacts names the list.
func (m markdown) listFacts() string {
	text := code(m.Tasks.File, 120)
	if project := inline(m.Tasks.Project, 80); project != "" {
		text = strings.TrimPrefix(text+", "+project, ", ")
	}
	return text
}

// storyRows makes rows as long as there is room.
func (m markdown) storyRows(list []ralph.Story) []string {
	var rows []string
	size := 0
	for i, s := range list {
		row := m.storyRow(s)
		if size += len(row); i == m.bounds.stories || size > m.storyBytes {
			break
		}
		rows = append(rows, row)
	}
	return rows
}

func (m markdown) storyRow(s ralph.Story) string {
	icon, state := storyState(s)
	if doubtful(s) {
		state = "**" + state + "**"
	} else {
		state = unbroken(state)
	}
	head := fmt.Sprintf("| %s | %s | %s\u00a0%s |", inline(s.ID, storyRunes), inline(s.Title, 100), icon, state)
	if m.Tasks.SkipReview {
		return fmt.Sprintf("%s %s |\n", head, times(s.Iterations))
	}
	said := inline(feedback(s), feedbackRunes)
	if said == "" {
		said = nothing
	}
	return fmt.Sprintf("%s %s | %s | %s |\n", head, times(s.Reviews), times(s.Iterations), said)
}

// times is a count that does not shout when there is none.
func times(n int) string {
	if n <= 0 {
		return nothing
	}
	return fmt.Sprint(n)
}

// feedbacks folds the reviews that a cell has no room for.
func (m markdown) feedbacks(list []ralph.Story) string {
	if m.Tasks.SkipReview {
		return ""
	}
	var b strings.Builder
	told := 0
	for _, s := range list {
		said := feedback(s)
		if !strings.HasSuffix(oneLine(said, feedbackRunes), "…") {
			continue
		}
		text, cut := head(said, m.output)
		if cut {
			text += "\n…"
		}
		fold := details(fmt.Sprintf("The last review of %s (%s)", htmlText(s.ID, storyRunes), length(text, cut)), fence(text))
		if told++; told > m.failures || b.Len()+len(fold) > m.storyBytes/2 {
			b.WriteString("\n_More reviews are left out here; report.json has them all._\n")
			break
		}
		b.WriteString("\n" + fold)
	}
	return b.String()
}

func length(text string, cut bool) string {
	if cut {
		return "the beginning"
	}
	return plural(utf8.RuneCountInString(text), "character")
}
