package report_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// What blocks stands first, in every rendering, with where and what kind.
func TestFindings(t *testing.T) {
	t.Parallel()
	for what, text := range renderings(t, blockedBySecret()) {
		for _, part := range []string{"config/dev.env", "1f0c2d3", "github-pat", "workflows/ci.yml"} {
			if !strings.Contains(strings.ReplaceAll(text, "\\", ""), part) {
				t.Errorf("%s lacks %q:\n%s", what, part, text)
			}
		}
	}
	body := report.Body(blockedBySecret(), report.BodyOptions{})
	for _, part := range []string{
		"### ❌ Blocked after 3 iterations: secrets are in the work (2 places), 1 protected path changed — ",
		"- Secrets in `config/dev.env:3`.\n- Secrets in the message of commit 1f0c2d3.\n- Protected paths in `.github/workflows/ci.yml`.\n",
		"### ⛔ What blocks publishing\n\n**Secrets**: Remove it from the work",
		"- `config/dev.env:3`: a GitHub personal access token (`github-pat`)\n",
		"### 👀 Look at these before you merge\n\n**Tests**\n\n- `calc_test.go:12`: the test 'TestAdd' is skipped now, or does not count (`t.Skip`)\n",
		"| `collect.example.net:443` | 12 | not in allowed-hosts |\n", "name its host in `allowed-hosts`.",
	} {
		if !strings.Contains(body, part) {
			t.Errorf("Body lacks %q:\n%s", part, body)
		}
	}
	if strings.Index(body, "⛔") > strings.Index(body, "👀") {
		t.Errorf("Body tells what blocks last:\n%s", body)
	}
}

// A socket cannot be named in allowed-hosts, so nobody is told to.
func TestRefusedSocket(t *testing.T) {
	t.Parallel()
	r := blockedBySecret()
	r.Network = []ralph.Refused{{Address: "unix:/run/docker.sock", Count: 2, Reason: "a container engine"}}
	if text := report.Summary(r); !strings.Contains(text, "unix:/run/docker.sock") || strings.Contains(text, "allowed-hosts") {
		t.Errorf("of a refused socket the summary says\n%s", text)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	r := manyFindings()
	body := report.Body(r, report.BodyOptions{})
	if n := strings.Count(body, "- `src/"); n != 46 || !strings.Contains(body, "…and 1956 more; report.json has them all.") || !strings.Contains(body, "…and 1992 more") {
		t.Errorf("Body has %d findings of one kind, want 46 and how many more:\n%s", n, body)
	}
	if text := report.Summary(r); len(text) > 1<<20-1 || !strings.Contains(text, "…and 1806 more") {
		t.Errorf("Summary has %d bytes, or does not say how many findings it leaves out", len(text))
	}
	if text := report.Comment(r, ""); len(text) > 16_000 {
		t.Errorf("Comment has %d bytes", len(text))
	}
}

// A secret in a finding's path is masked like everywhere.
func TestFindingsAreRedacted(t *testing.T) {
	t.Parallel()
	r := blockedBySecret()
	r.Findings[0].Path, r.Findings[0].Rule, r.Findings[0].Text, r.Findings[0].Where = "ghp_x/a", "ghp_x", "ghp_x", "ghp_x"
	r.Network[0].Address, r.Network[0].Reason = "ghp_x.example:443", "ghp_x"
	redacted := report.Redacted(r, func(s string) string { return strings.ReplaceAll(s, "ghp_x", "***") })
	for what, text := range renderings(t, redacted) {
		if strings.Contains(text, "ghp_x") {
			t.Errorf("%s has the secret:\n%s", what, text)
		}
	}
	if r.Findings[0].Path != "ghp_x/a" || r.Network[0].Reason != "ghp_x" {
		t.Error("Redacted changed its argument")
	}
}

// Nothing is said of findings where there are none, and unknown kinds are told.
func TestFindingsOfAllKinds(t *testing.T) {
	t.Parallel()
	if text := report.Summary(completed()) + report.Body(completed(), report.BodyOptions{}); strings.Contains(text, "before you merge") || strings.Contains(text, "Network") {
		t.Errorf("a run without findings tells of them:\n%s", text)
	}
	r := completed()
	for _, kind := range []ralph.FindingKind{"secret", "protected", "size", "link", "tests", "checks", "agent-config", "not-looked-at", "new"} {
		for _, severity := range []ralph.Severity{ralph.Block, ralph.Draft, ralph.Flag, "new"} {
			r.Findings = append(r.Findings, ralph.Finding{Kind: kind, Severity: severity, Text: string("text of " + kind + " " + ralph.FindingKind(severity))})
		}
	}
	r.Outcome = ralph.Blocked
	body := report.Body(r, report.BodyOptions{})
	for _, f := range r.Findings {
		if !strings.Contains(body, "- "+f.Text+"\n") {
			t.Errorf("Body lacks %q:\n%s", f.Text, body)
		}
	}
}
