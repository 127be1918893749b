package doc

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// chartLine is what a line of a Gantt chart may be: words of Mermaid's that are ours, and
// labels in which nothing means anything to Mermaid, Markdown or HTML.
var chartLine = regexp.MustCompile(`^(---|displayMode: compact|gantt|    (title|section) [\pL\pN _./·-]+|    dateFormat YYYY-MM-DDTHH:mm:ss|    axisFormat [%\w: ]+|    todayMarker off|    [✓↩…] [\pL\pN _./·-]* :(done|crit|active), [\dT:-]+, [\dT:-]+)$`)

func FuzzTimeline(f *testing.F) {
	for _, s := range []string{
		"", "US-001", "a:b", "section x", "click a href \"javascript:alert(1)\"", "%%{init: {\"securityLevel\":\"loose\"}}%%", "```\n# out", "---\ntitle: x\n---", "#59;", "a;b", "title x", "<b>", "é ß 漢字", "\u202e", "gantt", "2026-01-01", "end", "%% x", "done, 1, 2",
	} {
		f.Add(s, int64(0), int64(60))
	}
	f.Fuzz(func(t *testing.T, s string, from, took int64) {
		at := time.Unix(from%4e9, 0)
		bar := TimelineBar{Label: s, From: at, To: at.Add(time.Duration(took % 1e6 * 1e9)), Came: Came(uint64(from) % 3)}
		chart := Timeline{Title: s, Rows: []TimelineRow{{Label: s, Bars: []TimelineBar{bar}}, {Label: "L002", Bars: []TimelineBar{bar, bar}}}}
		text := Block{Kind: TimesBlock, Times: chart}.Markdown()
		lines := strings.Split(text, "\n")
		if len(lines) != 16 || lines[0] != "```mermaid" || lines[14] != "```" || lines[15] != "" {
			t.Fatalf("%d lines, want 16:\n%s", len(lines), text)
		}
		for _, line := range lines[1:14] {
			if !chartLine.MatchString(line) {
				t.Errorf("the line %q", line)
			}
		}
		if _, err := Page("t", "i", "good", []Section{{Blocks: []Block{{Kind: TimesBlock, Times: chart}}}}); err != nil {
			t.Error(err)
		}
	})
}

// The page's bars lie within its picture, in the order of time.
func TestTimelineIsLaidOut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	minutes := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	l := Timeline{Rows: []TimelineRow{
		{Label: "L001", Bars: []TimelineBar{{"US-001", minutes(0), minutes(30), CameToAnEnd}, {"US-002", minutes(30), minutes(31), CameBack}}},
		{Label: "L002", Bars: []TimelineBar{{"US-003", minutes(10), minutes(100), CameToNothing}}},
	}}.laid()
	first, second, third := l.Rows[0].Bars[0], l.Rows[0].Bars[1], l.Rows[1].Bars[0]
	if first.X != 70 || first.X+first.Width > second.X || third.X+third.Width > float64(l.Width) || first.Label != "US-001" || second.Label != "" || third.Class != "limit" {
		t.Errorf("laid() = %+v", l)
	}
	if third.Tip != "US-003: 10:10 to 11:40 UTC" || l.Ticks[5].Label != "11:40" {
		t.Errorf("laid() = %+v", l)
	}
}
