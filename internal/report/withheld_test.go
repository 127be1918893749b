package report_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// A blocked run does not say that nothing was published when earlier commits were.
func TestWhatABlockedRunPublished(t *testing.T) {
	t.Parallel()
	one := ralph.Iteration{Number: 1, Commit: ralph.Commit{SHA: strings.Repeat("1", 40)}}
	for _, tt := range []struct {
		name       string
		iterations []ralph.Iteration
		pushed     bool
		want       string
	}{
		{"nothing", []ralph.Iteration{{Number: 1}}, false, "Nothing of it was published. Take the secret out"},
		{"a part", []ralph.Iteration{one, {Number: 2}}, true, "What is published ends with iteration 1: the work after it is withheld. Take the secret out"},
		{"a part, not pushed", []ralph.Iteration{one, {Number: 2}}, false, "Nothing of it was published. Take the secret out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ralph.Report{
				Outcome: ralph.Blocked, Iterations: tt.iterations, Publication: ralph.Publication{Pushed: tt.pushed},
				Findings: []ralph.Finding{{Kind: ralph.FindingSecret, Severity: ralph.Block, Path: "a", Text: "a secret of this run", Rule: "known-value"}},
			}
			if got := report.Body(r, report.BodyOptions{}); !strings.Contains(got, tt.want) {
				t.Errorf("Body() = %s, want %q in it", got, tt.want)
			}
		})
	}
}
