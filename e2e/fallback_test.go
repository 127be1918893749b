//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// codex meets the limit of its plan in the second iteration, and claude goes on
// with what is there: with its own key, and everybody is told.
func TestFallback(t *testing.T) {
	t.Parallel()
	const claudeKey = "sk-ant-api03-e2e-of-the-other-agent-0123456789"
	limit := answer{Status: 429, Kind: "usage_limit_reached", Error: map[string]any{"plan_type": "pro", "resets_at": time.Now().Add(3 * time.Hour).Unix()}}
	m := newModel(t, script(
		bash("sed -i 's/+/-/' calc.sh"),
		answer{Text: "mul is there. <promise>COMPLETE</promise>"},
		limit,
		bash(`printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`),
		answer{Text: "All is well. <promise>COMPLETE</promise>"},
	))
	j := newMainJob(t, checkoutV6)
	j.withCodex(m)
	j.Keys["fallback-agent"] = "claude"
	j.Env["ANTHROPIC_API_KEY"], j.Env["ANTHROPIC_BASE_URL"] = claudeKey, m.URL
	j.Inputs["pass-env"] = "ANTHROPIC_BASE_URL"
	res := j.run(t, 2*time.Minute)
	if res.Code != 0 {
		t.Fatalf("exit code = %d, want 0", res.Code)
	}
	qs := m.questions()
	if len(qs) != 5 {
		t.Fatalf("the model was asked %d times, want 5", len(qs))
	}
	for i, want := range []string{apiKey, apiKey, apiKey, claudeKey, claudeKey} {
		if qs[i].Key != want {
			t.Errorf("question %d came with the key %q, want %q", i+1, qs[i].Key, want)
		}
	}
	if !strings.Contains(qs[3].Text, `Guardrail "sh test.sh" failed`) {
		t.Error("the agent that took over was not told what failed")
	}
	if got := res.Outputs["status"] + " " + res.Outputs["iterations"]; got != "completed 2" {
		t.Errorf("outputs = %q, want completed after 2 iterations", got)
	}
	checkCommits(t, j.Repo, "ralph/mul")
	for where, text := range map[string]string{"log": res.Log, "summary": res.Summary, "pull request": j.Repo.pulls(t)[0].Body} {
		if where != "pull request" && !strings.Contains(text, "claude takes over from codex") {
			t.Errorf("%s: nobody says that claude took over:\n%s", where, text)
		}
		if strings.Contains(maskCommand.ReplaceAllString(text, ""), claudeKey) {
			t.Errorf("%s: a key stands in it", where)
		}
	}
	if r := j.report(t, res); len(r.Iterations) != 2 || r.Outcome != "completed" {
		t.Errorf("report: %q after %d iterations, want completed after 2: a limit counts as none", r.Outcome, len(r.Iterations))
	}
	checkSecrets(t, j, m, res)
}
