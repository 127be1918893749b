package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
)

// 001-28, 001-30: what the SCM tasks did is told wherever a run is.
func TestSCMTasksAreTold(t *testing.T) {
	t.Parallel()
	good, bad := scmTasks(), commitFailed()
	page := func(r ralph.Report) string {
		text, err := report.HTML(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for what, c := range map[string]struct{ text, want string }{
		"summary":               {report.Summary(good), "- Iteration 2: ✅\u00a0`git commit -am Repair the sum`, ✅\u00a0`git push`\n"},
		"page":                  {page(good), "<li>Iteration 2: ✅ <code>git commit -am Repair the sum</code>, ✅ <code>git push</code></li>"},
		"terminal":              {report.Text(good, report.Style{}), "  2  [OK] git commit -am Repair the sum (exit code 0)\n  2  [OK] git push (exit code 0)\n"},
		"session log":           {logs.SessionFooter(good.Iterations[1]), "SCM Task: git push (exit code 0)\nStatus: success (complete)\n"},
		"summary of a failure":  {report.Summary(bad), "- Iteration 2: ❌\u00a0`git commit -am Repair the sum` exit code 1\n"},
		"its output":            {report.Summary(bad), "```text\nlint: calc.go:3: unused variable\n```"},
		"no commit message":     {report.Summary(bad), "- Iteration 1: ❌\u00a0git commit: the agent was asked for a commit message and gave none\n"},
		"what is left":          {report.Text(bad, report.Style{}), "  - The SCM tasks failed\n  - Open in"},
		"what to do":            {report.Announcement(bad), "The work is in the workspace. Fix what made the SCM task fail, then do the rest by hand or run it again."},
		"page of a failure":     {page(bad), "<summary>Iteration 2: <code>git commit -am Repair the sum</code> exit code 1</summary><pre>lint: calc.go:3: unused variable</pre>"},
		"the row of the table":  {report.Summary(bad), "| 2 | ❌\u00a0SCM\u00a0tasks\u00a0failed: git commit: exit code 1: lint: calc.go:3: unused variable<br>"},
		"requests of the turns": {report.Summary(good), "| 17s | 5 |"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s lacks %q:\n%s", what, c.want, c.text)
		}
	}
}

func TestJSONDelivery(t *testing.T) {
	t.Parallel()
	text, err := report.JSON(commitFailed())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Iterations []struct {
			Rejection string
			Cost      struct {
				MicroUSD int64 `json:"micro_usd"`
			}
			Delivery *struct {
				Message, Error string
				Turn           *struct{ Messages int }
				Tasks          []struct {
					Command  string
					ExitCode int `json:"exit_code"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	it := doc.Iterations[1]
	if d := it.Delivery; it.Rejection != "scm-failed" || d == nil || d.Message != "Repair the sum" || d.Error == "" || d.Turn == nil || len(d.Tasks) != 1 || d.Tasks[0].ExitCode != 1 {
		t.Errorf("iteration = %+v with the delivery %+v", it, it.Delivery)
	}
	if it.Cost.MicroUSD != 15_800 { // 0.0151 for the work, 0.0007 for the message
		t.Errorf("cost = %d, want the question's in it", it.Cost.MicroUSD)
	}
	text, err = report.JSON(completed())
	if err != nil || !strings.Contains(string(text), `"delivery": null`) {
		t.Errorf("JSON(without SCM tasks) = %v, want a null delivery", err)
	}
}
