package forge

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

// withWorkflows completes the check runs by the workflow runs on the commit:
//
//   - of one workflow and event only the newest run counts, so that a run that a
//     newer one cancelled is no failure;
//   - a run that has not finished is a check that has not finished;
//   - a run that failed without a check run (its file is not valid, or it waits
//     for approval) is a check that failed.
//
// The run of a check that is left out says nothing of its own. A token that may not read them gets the check runs as they are, and a note.
func (l *checkLook) withWorkflows(ctx context.Context, runs []finding) ([]finding, error) {
	workflows, err := l.workflows(ctx)
	var refused *PermissionError
	if errors.As(err, &refused) {
		l.noWorkflows = true
		l.note("whether jobs of workflows are still to start cannot be seen: github-token lacks actions: read")
		return runs, nil
	}
	if err != nil || l.noWorkflows {
		return runs, err
	}

	type key struct {
		workflow int64
		event    string
	}
	of := func(run *github.WorkflowRun) key { return key{run.GetWorkflowID(), run.GetEvent()} }
	newest := map[key]int64{}
	for _, run := range workflows {
		newest[of(run)] = max(newest[of(run)], run.GetID())
	}
	runOf := func(check finding) *github.WorkflowRun {
		if i := slices.IndexFunc(workflows, check.origin.is); i >= 0 {
			return workflows[i]
		}
		return nil
	}
	runs = slices.DeleteFunc(runs, func(check finding) bool {
		run := runOf(check)
		return run != nil && newest[of(run)] != run.GetID()
	})
	count := map[string]int{}
	for _, check := range runs {
		count[check.Name]++
	}
	told := map[int64]bool{} // workflow runs whose failure a check run tells
	for i, check := range runs {
		run := runOf(check)
		if run == nil {
			continue
		}
		told[run.GetID()] = told[run.GetID()] || check.standing == hasFailed
		if count[check.Name] > 1 {
			runs[i].Name = l.c.checkName(run.GetName() + " / " + check.Name)
		}
	}
	for _, run := range workflows {
		stand := stands(run.GetStatus(), run.GetConclusion())
		if newest[of(run)] != run.GetID() || run.GetID() == l.o.RunID || stand == hasPassed || stand == hasFailed && told[run.GetID()] ||
			slices.ContainsFunc(l.leftOut, func(o checkOrigin) bool { return o.is(run) }) {
			continue
		}
		if l.o.Workflow != "" && run.GetName() == l.o.Workflow && run.GetStatus() == "pending" {
			l.note("another run of this workflow waits for its turn, and is not waited for: it may be this run's turn it waits for")
			continue
		}
		name := l.c.checkName("workflow " + run.GetName())
		conclusion := l.c.api.Clean(run.GetConclusion())
		text := "The workflow ended without a failed job: " + conclusion + "."
		if conclusion == "startup_failure" || conclusion == "failure" {
			text += " Its file may not be valid."
		}
		runs = append(runs, finding{
			Failure:  Failure{Name: name, Conclusion: conclusion, URL: webAddress(run.GetHTMLURL()), text: text},
			standing: stand,
		})
	}
	return runs, nil
}

func (l *checkLook) workflows(ctx context.Context) ([]*github.WorkflowRun, error) {
	var all []*github.WorkflowRun
	for page := 1; page <= maxCheckPages; page++ {
		var answer github.WorkflowRuns
		next, err := l.get(ctx, l.c.api.Path("/actions/runs?head_sha=%s&per_page=100&page=%d", l.sha, page), &answer)
		if api.Status(err) == http.StatusNotFound {
			l.noWorkflows = true // a forge without workflows, or one that hides them
			return nil, nil
		}
		if err != nil {
			return nil, l.explain("read the workflow runs", "actions: read", err)
		}
		for _, run := range answer.WorkflowRuns {
			if run != nil && run.GetHeadSHA() == l.sha {
				all = append(all, run)
			}
		}
		if next == 0 || len(answer.WorkflowRuns) == 0 {
			break
		}
	}
	return all, nil
}

// webAddress is an address of the web, or "".
func webAddress(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || len(raw) > 2000 {
		return ""
	}
	return u.String()
}
