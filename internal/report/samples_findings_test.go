package report_test

import (
	"fmt"

	"github.com/org/ralph-action/internal/ralph"
)

// blockedBySecret is a run whose work holds what must not leave the machine.
func blockedBySecret() ralph.Report {
	r := stopped(ralph.Blocked, "a secret is in the work")
	r.Publication.Pushed, r.Publication.PullRequest = false, ralph.PullRequest{}
	r.Findings = []ralph.Finding{
		{Kind: ralph.FindingSecret, Severity: ralph.Block, Path: "config/dev.env", Line: 3, Rule: "github-pat", Text: "a GitHub personal access token"},
		{Kind: ralph.FindingSecret, Severity: ralph.Block, Where: "the message of commit 1f0c2d3", Rule: "provider-key", Text: "the key of the model provider, in base64"},
		{Kind: ralph.FindingProtected, Severity: ralph.Block, Path: ".github/workflows/ci.yml", Rule: ".github/workflows/**", Text: "only people change this path"},
		{Kind: ralph.FindingTests, Severity: ralph.Flag, Path: "calc_test.go", Line: 12, Rule: "t.Skip", Text: "the test 'TestAdd' is skipped now, or does not count"},
	}
	r.Network = []ralph.Refused{
		{Address: "collect.example.net:443", Count: 12, Reason: "not in allowed-hosts"},
		{Address: "169.254.169.254:80", Count: 1, Reason: "an address of the metadata service"},
	}
	r.Notes = []string{"The work is in the workspace, on the branch ralph/make-the-failing-tests; nothing of it was pushed."}
	return r
}

// flagged is a run that completed and was published with things to look at.
func flagged() ralph.Report {
	r := completed()
	r.Publication.PullRequest.Draft = true
	r.Findings = []ralph.Finding{
		{Kind: ralph.FindingProtected, Severity: ralph.Draft, Path: ".github/workflows/ci.yml", Rule: ".github/workflows/**", Text: "a protected path"},
		{Kind: ralph.FindingTests, Severity: ralph.Flag, Path: "calc_test.go", Rule: "test removed", Text: "1 test removed: 'TestDivideByZero'"},
		{Kind: ralph.FindingTests, Severity: ralph.Flag, Path: "calc_test.go", Line: 12, Rule: "t.Skip", Text: "the test 'TestAdd' is skipped now, or does not count"},
		{Kind: ralph.FindingChecks, Severity: ralph.Flag, Path: "package.json", Rule: "guardrail", Text: "the guardrail 'npm test' is defined in a file that the run changed: its script 'unit'"},
		{Kind: ralph.FindingAgentConfig, Severity: ralph.Flag, Path: "CLAUDE.md", Rule: "agent configuration", Text: "what agents read of this repository was changed"},
		{Kind: ralph.FindingUnknown, Severity: ralph.Flag, Path: "data.bin", Rule: "too large", Text: "1 file was not looked at"},
	}
	r.Network = blockedBySecret().Network
	return r
}

// manyFindings has more than any document shows.
func manyFindings() ralph.Report {
	r := flagged()
	for n := range 2000 {
		r.Findings = append(r.Findings, ralph.Finding{Kind: ralph.FindingChecks, Severity: ralph.Flag, Path: fmt.Sprintf("src/file%d.go", n), Line: n + 1, Rule: "nolint", Text: "the linter is silenced at 1 new place"})
		r.Network = append(r.Network, ralph.Refused{Address: fmt.Sprintf("host%d.example.net:443", n), Count: 1, Reason: "not in allowed-hosts"})
	}
	return r
}
