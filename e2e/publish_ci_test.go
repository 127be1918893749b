//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

// status sets a commit status.
func (r *repository) status(sha, name, state, description string) error {
	_, err := r.call(http.MethodPost, "/repos/"+r.Name+"/statuses/"+sha, map[string]any{
		"context": name, "state": state, "description": description, "target_url": r.URL + "/ci/" + url.PathEscape(name),
	}, nil)
	return err
}

// watchCI stands for a CI: it gives each new commit of the branch the statuses
// that judge says, until the test is over. Its answer is the commits that it saw.
func (r *repository) watchCI(t *testing.T, branch string, judge func(n int, sha string) error) func() []string {
	t.Helper()
	end, over := make(chan struct{}), make(chan []string, 1)
	go func() {
		var seen []string
		for {
			var b struct {
				Commit struct {
					ID string `json:"id"`
				} `json:"commit"`
			}
			// Until the branch is there, an error is the answer.
			if _, err := r.call(http.MethodGet, "/repos/"+r.Name+"/branches/"+url.PathEscape(branch), nil, &b); err == nil && !slices.Contains(seen, b.Commit.ID) {
				seen = append(seen, b.Commit.ID)
				if err := judge(len(seen), b.Commit.ID); err != nil {
					t.Errorf("commit %d: %v", len(seen), err)
				}
			}
			select {
			case <-end:
				over <- seen
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() []string { close(end); return <-over }
}

// mends is an agent that breaks the build, and repairs it once it is told.
const mends = `case $(cat) in
*'3 of 7 tests failed'*) echo fixed >mul.txt ;;
*) echo broken >mul.txt ;;
esac` + done

// The checks have the last word: what failed goes back to the agent, and the run
// is complete once they pass. Gitea has statuses and no check runs.
func TestPublishWaitForCI(t *testing.T) {
	t.Parallel()
	shared := forge(t).newRepository(t, program)
	for i, c := range []struct {
		name          string
		first, second string // the state of "test"
		code          int
		status        string
		commits       int
		content       string
		draft         bool
		says          []string
	}{
		{"error, then success", "error", "success", 0, "completed", 2, "fixed", false, []string{"test"}},
		{"success at once", "success", "", 0, "completed", 1, "broken", false, nil},
		{"failure for ever", "failure", "failure", 1, "max-iterations", 2, "fixed", true, []string{"test"}},
		{"never finished", "pending", "", 1, "deadline", 1, "broken", true, []string{"have not finished within", "test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := shared.view(t)
			branch := fmt.Sprintf("ralph/mul-%d", i)
			seen := r.watchCI(t, branch, func(n int, sha string) error {
				state, text := c.first, "3 of 7 tests failed"
				if n > 1 {
					state, text = c.second, "4 of 7 tests failed"
				}
				if err := r.status(sha, "lint", "warning", "long lines"); err != nil {
					return err
				}
				return r.status(sha, "test", state, text)
			})
			j := newNight(t, r, mends)
			j.Inputs["branch"] = branch
			j.Env["GITHUB_RUN_ID"] = fmt.Sprint(60 + i) // the statuses are those of a commit, whose id it is a part of
			j.Inputs["wait-for-ci"], j.Keys["ci-start-timeout"], j.Inputs["max-iterations"] = "true", "8s", "2"
			if c.first == "pending" {
				j.Keys["ci-timeout"] = "10s"
			}
			res := j.must(t, c.code, c.status)
			if got := seen(); len(got) != c.commits {
				t.Errorf("the CI saw %q, want %d commits", got, c.commits)
			}
			if got := r.content(t, branch, "mul.txt"); got != c.content {
				t.Errorf("mul.txt = %q, want %s", got, c.content)
			}
			ps := r.pullsOf(t, branch)
			if len(ps) != 1 || ps[0].Draft != c.draft {
				t.Errorf("pull requests = %+v, want one, a draft: %t", ps, c.draft)
			}
			wants(t, "summary", res.Summary, c.says...)
		})
	}
}
