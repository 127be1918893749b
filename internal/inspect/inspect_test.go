package inspect

import (
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// A workflow is protected, configures checks and may be read by agents: that is
// one line. What is wrong in it is another.
func TestProtectedFilesAreNamedOnce(t *testing.T) {
	t.Parallel()
	const workflow = ".github/workflows/ci.yml"
	protected := ralph.Finding{Kind: ralph.FindingProtected, Severity: ralph.Block, Path: workflow, Rule: ".github/workflows/"}
	silenced := ralph.Finding{Kind: ralph.FindingChecks, Severity: ralph.Flag, Path: workflow, Line: 3, Rule: "|| true"}
	other := ralph.Finding{Kind: ralph.FindingChecks, Severity: ralph.Flag, Path: "ci.yml", Rule: "ci.yml"}
	got := Sorted([]ralph.Finding{
		other,
		{Kind: ralph.FindingChecks, Severity: ralph.Flag, Path: workflow, Rule: "ci.yml"},
		{Kind: ralph.FindingAgentConfig, Severity: ralph.Flag, Path: workflow, Rule: "agent configuration"},
		silenced, protected,
	})
	if want := []ralph.Finding{protected, silenced, other}; !slices.Equal(got, want) {
		t.Errorf("sorted = %+v, want %+v", got, want)
	}
}

// What sums up findings stands behind them.
func TestSumsStandBehindFindings(t *testing.T) {
	t.Parallel()
	sum := ralph.Finding{Kind: ralph.FindingTests, Severity: ralph.Flag, Rule: "#[ignore]", Text: "and 3 more of this kind"}
	one := ralph.Finding{Kind: ralph.FindingTests, Severity: ralph.Flag, Path: "src/lib.rs", Rule: "#[ignore]", Text: "the test 'a' is skipped now, or does not count"}
	if got, want := Sorted([]ralph.Finding{one, sum}), []ralph.Finding{one, sum}; !slices.Equal(got, want) {
		t.Errorf("sorted = %+v, want %+v", got, want)
	}
}
