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
		{"nothing", []ralph.Iteration{{Number: 1}}, false, "Nothing was published. Remove the secret"},
		{"a part", []ralph.Iteration{one, {Number: 2}}, true, "Published up to iteration 1; later work is withheld. Remove the secret"},
		{"a part, not pushed", []ralph.Iteration{one, {Number: 2}}, false, "Nothing was published. Remove the secret"},
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

// A secret of a commit is not looked for in a file that later ones removed.
func TestFindingsNameTheCommit(t *testing.T) {
	t.Parallel()
	r := ralph.Report{Outcome: ralph.Completed, Findings: []ralph.Finding{
		{Kind: ralph.FindingSecret, Severity: ralph.Draft, Path: "a", Line: 2, Where: "in commit 1f0c2d3", Text: "the format of a secret", Rule: "github-pat"},
	}}
	if got, want := report.Body(r, report.BodyOptions{}), "`a:2` (in commit 1f0c2d3): the format of a secret"; !strings.Contains(got, want) {
		t.Errorf("Body() = %s, want %q in it", got, want)
	}
}

// What blocks publishing stands in a list of its own, and is not said again as a part
// of the reason and as a failed guardrail.
func TestFindingsAreSaidOnce(t *testing.T) {
	t.Parallel()
	const detail = "changed, which only people may do: take this change back"
	r := maxIterations()
	r.Outcome = ralph.Blocked
	r.Findings = []ralph.Finding{{Kind: ralph.FindingProtected, Severity: ralph.Block, Path: "CODEOWNERS", Text: detail}}
	said := ralph.Blocking(r.Findings)
	r.Reason = "max-iterations 1 is reached and the work is not done; what is in the workspace may not be published: " + said
	last := &r.Iterations[len(r.Iterations)-1]
	last.Verdicts = append(last.Verdicts, ralph.Verdict{Command: ralph.WithheldCheck, ExitCode: -1, Digest: said, Output: "- " + said, Reason: "nothing is published while this stands"})
	for what, text := range renderings(t, r) {
		text = strings.Join(strings.Fields(text), " ")
		if n := strings.Count(text, detail); n != 1 || strings.Contains(text, ralph.WithheldCheck+"</code> failed") {
			t.Errorf("%s says %d times why the work is blocked, want once:\n%s", what, n, text)
		}
		if !strings.Contains(text, "what is in the workspace may not be published") {
			t.Errorf("%s does not say that it is blocked:\n%s", what, text)
		}
	}
	if text := report.Announcement(r); strings.Count(text, detail) != 1 {
		t.Errorf("Announcement() = %q, want the detail once", text)
	}
}
