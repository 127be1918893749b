//go:build e2e

package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// Two nights of a schedule: the second continues the first one's branch and
// pull request, with somebody else's commit in between.
func TestNextNight(t *testing.T) {
	t.Parallel()
	files := maps.Clone(program)
	files["agent.sh"] = "cat >/dev/null\necho \"# another night\" >>calc.sh\necho '<promise>COMPLETE</promise>'\n"
	r := forge(t).newRepository(t, files)
	night := func() result {
		t.Helper()
		j := newJob(t, r, "", checkoutV6)
		j.Env["GITHUB_EVENT_NAME"] = "schedule"
		j.Inputs["prompt"] = task
		j.Inputs["agent"] = "text"
		j.Inputs["agent-command"] = "sh agent.sh"
		j.Inputs["guardrails"] = "sh test.sh"
		res := j.run(t, 2*time.Minute)
		if res.Code != 0 || res.Outputs["status"] != "completed" {
			t.Fatalf("exit code = %d, status = %q, want 0 and completed", res.Code, res.Outputs["status"])
		}
		return res
	}

	first := night()
	branch := first.Outputs["branch"]
	if first.Outputs["pull-request-operation"] != "created" || !strings.HasPrefix(branch, "ralph/") {
		t.Fatalf("first night: outputs = %v, want a pull request created from a branch ralph/…", first.Outputs)
	}
	r.fetch(t, branch)
	git(t, r.Seed, "checkout", "-q", "-B", "review", "origin/"+branch)
	writeFiles(t, r.Seed, map[string]string{"review.txt": "a person's\n"})
	git(t, r.Seed, "add", "review.txt")
	git(t, r.Seed, "commit", "-q", "-m", "a person's commit")
	git(t, r.Seed, "push", "-q", r.pushURL(), "HEAD:refs/heads/"+branch)

	second := night()
	for _, name := range []string{"branch", "pull-request-number"} {
		if got, want := second.Outputs[name], first.Outputs[name]; got != want {
			t.Errorf("second night: output %s = %q, want %q", name, got, want)
		}
	}
	if got := second.Outputs["pull-request-operation"]; got != "updated" {
		t.Errorf("second night: output pull-request-operation = %q, want updated", got)
	}
	r.fetch(t, branch)
	subjects := strings.Split(git(t, r.Seed, "log", "--reverse", "--format=%s", r.Base+"..origin/"+branch), "\n")
	if len(subjects) != 3 || subjects[1] != "a person's commit" {
		t.Errorf("commits = %q, want a night, a person's commit, a night", subjects)
	}
	if got := strings.Count(git(t, r.Seed, "show", "origin/"+branch+":calc.sh"), "# another night"); got != 2 {
		t.Errorf("calc.sh has the work of %d nights, want 2", got)
	}
	if ps := r.pulls(t); len(ps) != 1 {
		t.Errorf("the forge has %d pull requests, want 1", len(ps))
	}
}
