package report_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// A run says how it was checked, also when it was not.
func TestSaysThatNothingWasChecked(t *testing.T) {
	t.Parallel()
	local := completed()
	local.Baseline, local.Publication, local.Iterations = nil, ralph.Publication{}, local.Iterations[1:]
	local.Iterations[0].Verdicts, local.Iterations[0].Commit = nil, ralph.Commit{}
	never := local
	never.Outcome, never.Guardrails = ralph.Interrupted, []string{"npm test", "npm run lint"}
	for what, c := range map[string]struct {
		r    ralph.Report
		want []string
	}{
		"no guardrails": {local, []string{"How it was checked", "Not at all: the run has no guardrails."}},
		"never ran":     {never, []string{"How it was checked", "npm test", "npm run lint", "not run"}},
	} {
		for _, want := range c.want {
			if text := report.Text(c.r, report.Style{}); !strings.Contains(text, want) {
				t.Errorf("%s: Text lacks %q:\n%s", what, want, text)
			}
			if text := report.Summary(c.r); !strings.Contains(text, want) {
				t.Errorf("%s: Summary lacks %q:\n%s", what, want, text)
			}
		}
	}
}

// What this run did stands above what earlier ones did, also when the agent said nothing of it.
func TestOwnCommitsComeFirst(t *testing.T) {
	t.Parallel()
	r := continuedRun()
	for i := range r.Iterations {
		r.Iterations[i].Said = ralph.Said{}
		r.Iterations[i].Turns[len(r.Iterations[i].Turns)-1].FinalText = ""
		r.Iterations[i].Commit.Subject = "Fix the sum"
	}
	for what, text := range map[string]string{"Summary": report.Summary(r), "Body": report.Body(r, report.BodyOptions{}), "Text": report.Text(r, report.Style{})} {
		_, text, _ = strings.Cut(text, "What changed and why")
		if own, earlier := strings.Index(text, "Fix the sum"), strings.Index(text, "Before, in"); own < 0 || earlier < own {
			t.Errorf("%s has the commits of this run at %d, earlier runs at %d:\n%s", what, own, earlier, text)
		}
	}
}

// A guardrail that failed stays to be mended when the agent failed after it.
func TestRedGuardrailIsLeftAfterACrash(t *testing.T) {
	t.Parallel()
	r := agentFailed()
	r.Baseline = []ralph.Verdict{{Command: "npm test", ExitCode: 1}}
	text := report.Text(r, report.Style{})
	for _, want := range []string{"The last turn failed: ", "Guardrail 'npm test' failed with exit code 1 when it last ran."} {
		if !strings.Contains(text, want) {
			t.Errorf("Text lacks %q:\n%s", want, text)
		}
	}
}
