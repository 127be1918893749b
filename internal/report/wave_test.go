package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// A wave of 10,000 stories stays within what each place accepts, says what it leaves out,
// and shows what needs a look first.
func TestBigWave(t *testing.T) {
	t.Parallel()
	r := bigWave(10_000)
	summary, body := report.Summary(r), report.Body(r, report.BodyOptions{})
	if len(summary) > 1<<20 || utf8.RuneCountInString(body) > 65_536 {
		t.Errorf("a summary of %d bytes and a body of %d characters", len(summary), utf8.RuneCountInString(body))
	}
	for what, text := range map[string]string{"Summary": summary, "Body": body} {
		for _, want := range []string{"↩️\u00a0returned |", "9000 of 10000 stories integrated, 1000 returned, 10000 waiting", "more; report.json has them all", " of 256 lanes; report.json has them all."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%.3000s", what, want, text)
			}
		}
		if strings.Contains(text, "Left out for length") {
			t.Errorf("%s leaves a section out", what)
		}
		_, chart, _ := strings.Cut(text, "```mermaid\n---\ndisplayMode")
		if chart, _, _ = strings.Cut(chart, "```"); len(chart) > 50_000 || len(chart) < 1000 {
			t.Errorf("%s has a chart of %d bytes", what, len(chart))
		}
	}
	file, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Wave struct{ Stories, Lanes, Later []any }
	}
	if err := json.Unmarshal(file, &got); err != nil || len(got.Wave.Stories) != 10_000 || len(got.Wave.Lanes) != 256 || len(got.Wave.Later) != 10_000 {
		t.Errorf("JSON has %d stories, %d lanes, %d that wait; %v", len(got.Wave.Stories), len(got.Wave.Lanes), len(got.Wave.Later), err)
	}
}

// The history of the branch counts what an integration brought in.
func TestWaveInHistory(t *testing.T) {
	t.Parallel()
	r := bigWave(10)
	r.History = ralph.History{Runs: []ralph.Past{{Run: "41", Iterations: 3, Commits: 2, Cost: ralph.Cost{Amount: ralph.USD}, Outcome: ralph.Completed}}}
	r.Iterations = nil
	for i := range r.Wave.Stories {
		r.Wave.Stories[i].Cost = ralph.Cost{Amount: ralph.USD}
	}
	for _, want := range []string{"| 9 |", "$9.00", "**11** |", "**$10.00**"} {
		if got := report.Summary(r); !strings.Contains(got, want) {
			t.Errorf("Summary has no %q:\n%s", want, got)
		}
	}
}
