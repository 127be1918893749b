package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
)

// What the stream shows on the way is told by nobody: the turn's end tells it.
func TestUsageSoFarIsNotTold(t *testing.T) {
	t.Parallel()
	e := ralph.Event{Kind: ralph.EventUsage, At: start, Text: "x", Usage: &ralph.Usage{Cost: ralph.Cost{Amount: ralph.USD}}, Models: []ralph.ModelUsage{{Model: "m"}}}
	for what, lines := range map[string][]string{
		"Formatter": (&logs.Formatter{Emoji: true}).Lines(e), "Verbose": logs.Verbose{}.Lines(e), "Supervise": (&logs.Supervise{}).Lines(e),
	} {
		if len(lines) > 0 {
			t.Errorf("%s tells %q", what, lines)
		}
	}
}

// A long wait names its end in every log.
func TestLongWaits(t *testing.T) {
	t.Parallel()
	e := ralph.Event{Kind: ralph.EventRetry, At: start, Text: "quota: limit\nreached", Wait: 2*time.Hour + 13*time.Minute}
	s := &logs.Supervise{}
	s.Lines(ralph.Event{Kind: ralph.EventIterationStart, Iteration: 1, At: start})
	s.Lines(ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{ExitCode: 1, Failure: &ralph.Failure{Kind: ralph.FailureQuota}}, At: start})
	for what, lines := range map[string][]string{"Verbose": logs.Verbose{}.Lines(e), "Supervise": s.Lines(e)} {
		if got, want := strings.Join(lines, "\n"), "Waiting 2h13m, until 12:13 UTC: quota: limit reached"; !strings.HasSuffix(got, want) {
			t.Errorf("%s tells %q, want %q at its end", what, got, want)
		}
	}
	e.Wait = 4 * time.Second
	if got := (logs.Verbose{}).Lines(e); len(got) != 1 || got[0] != "[ralph] Trying again in 4.0s: quota: limit reached" {
		t.Errorf("Verbose tells %q", got)
	}
}

// Agents and models are told apart where there were several, and only there.
func TestAgentsAndModels(t *testing.T) {
	t.Parallel()
	for name, r := range samples() {
		several := name == "fallback" || name == "hostile"
		page, err := report.HTML(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"Summary": report.Summary(r), "Body": report.Body(r, report.BodyOptions{}), "HTML": string(page)} {
			if got := strings.Contains(text, "Agents and models"); got != several {
				t.Errorf("%s(%s) has a table of agents and models: %t, want %t", what, name, got, several)
			}
		}
	}
	s := report.Summary(tookOver())
	for _, row := range []string{
		"| `claude` | `claude-haiku-5-5` | 1 | 2.3K\u00a0/\u00a0140 | $0.0003 |\n| `claude` | `claude-sonnet-4-5` | 1 | 20K\u00a0/\u00a0500 | $0.0120 |\n| `codex` | `gpt-6.1-sol` | 1 | 31K\u00a0/\u00a0510 | about\u00a0$0.0268 |\n\n",
		"· agents `claude`, `codex` (`claude-sonnet-4-5`, `gpt-6.1-sol`) ·",
	} {
		if !strings.Contains(s, row) {
			t.Errorf("Summary lacks %q:\n%s", row, s)
		}
	}
}

func TestAgentThatOnlyMetItsLimit(t *testing.T) {
	t.Parallel()
	r := tookOver()
	r.Iterations = r.Iterations[1:]
	unknown := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}
	r.Iterations[0].Turns[0].Usage = unknown
	if s, want := report.Summary(r), "| `claude` | – | 1 | unknown | unknown |\n| `codex` |"; !strings.Contains(s, want) {
		t.Errorf("Summary lacks %q:\n%s", want, s)
	}
}

func TestManyModels(t *testing.T) {
	t.Parallel()
	r := completed()
	for i := range 30 {
		r.Iterations[0].Turns[0].Models = append(r.Iterations[0].Turns[0].Models, ralph.ModelUsage{Model: fmt.Sprintf("m%02d", i)})
	}
	if s := report.Summary(r); !strings.Contains(s, "`m19`") || strings.Contains(s, "`m20`") || !strings.Contains(s, "_11 more are left out here; report.json has them all._") {
		t.Errorf("Summary does not bound its table of models:\n%s", s)
	}
}

// An estimate is never shown without saying so, and what is known as it is.
func TestEstimatedCosts(t *testing.T) {
	t.Parallel()
	const note = "Prices of 2026-01-31; tokens as the CLI reports them."
	reported := completed()
	reported.Prices = "2026-01-31"
	undated := estimated()
	undated.Prices = ""
	for _, c := range []struct {
		name string
		r    ralph.Report
		cost string
		note string
	}{
		{"a lower bound", estimated(), "≥ ~$1.20", note},
		{"a part", tookOver(), "about $0.0391", note},
		{"reported", reported, "$0.0274", ""},
		{"without a date", undated, "≥ ~$1.20", "Costs are estimated from list prices; tokens as the CLI reports them."},
	} {
		page, err := report.HTML(c.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"Summary": report.Summary(c.r), "Body": report.Body(c.r, report.BodyOptions{}), "HTML": string(page), "Text": report.Text(c.r, report.Style{})} {
			if !strings.Contains(text, " — "+c.cost+", ") {
				t.Errorf("%s: %s does not begin with a cost of %q", c.name, what, c.cost)
			}
			if c.note == "" && strings.Contains(text, "tokens as the CLI") || !strings.Contains(text, c.note) {
				t.Errorf("%s: %s, want the note %q:\n%s", c.name, what, c.note, text)
			}
		}
		text, err := report.JSON(c.r)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Cost struct {
				MicroUSD  *int64 `json:"micro_usd"`
				AtLeast   *int64 `json:"at_least_micro_usd"`
				Estimated bool
			}
			PricesOf *string `json:"prices_of"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if got, want := doc.Cost.Estimated, c.note != ""; got != want {
			t.Errorf("%s: cost.estimated = %t, want %t", c.name, got, want)
		}
		if got, want := doc.Cost.MicroUSD == nil, strings.HasPrefix(c.cost, "≥ "); got != want || got == (doc.Cost.AtLeast == nil) {
			t.Errorf("%s: cost = %+v", c.name, doc.Cost)
		}
		if got, want := doc.PricesOf != nil, c.note == note; got != want {
			t.Errorf("%s: prices_of is given: %t, want %t", c.name, got, want)
		}
	}
}

// 004-05: what met a usage limit and nothing else is no iteration that failed.
func TestSessionSummaryOfAUsageLimit(t *testing.T) {
	t.Parallel()
	if s := logs.SessionSummary(quota()); !strings.Contains(s, "Total Iterations: 1\nSuccessful: 1\nFailed: 0\n") {
		t.Errorf("SessionSummary() =\n%s", s)
	}
}
