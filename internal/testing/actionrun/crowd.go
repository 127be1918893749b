package actionrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// Crowd runs many runs at once, each in a folder of its own below dir, and
// returns what became of each.
func Crowd(ctx context.Context, dir string, runs []Action) ([]Result, []error) {
	results, problems := make([]Result, len(runs)), make([]error, len(runs))
	var all sync.WaitGroup
	for i, a := range runs {
		all.Go(func() {
			folder := filepath.Join(dir, fmt.Sprint(i))
			if problems[i] = os.MkdirAll(folder, 0o755); problems[i] != nil {
				return
			}
			results[i], problems[i] = a.Run(ctx, folder)
		})
	}
	all.Wait()
	return results, problems
}

// NewCrowd is n runs that each make a file of its own, each on its own branch or
// all on one.
func NewCrowd(t testing.TB, program string, n int, own bool, o fakegithub.Options) (*fakegithub.Repository, []Action) {
	t.Helper()
	r, token := Place(t, "cat >/dev/null\necho \"$NUMBER\" >\"file-$NUMBER\"\necho '<promise>COMPLETE</promise>'\n", o)
	var runs []Action
	for i := range n {
		branch := "ralph/one"
		if own {
			branch = fmt.Sprintf("ralph/%d", i)
		}
		runs = append(runs, Action{Program: program, Repo: r, Token: token, RunID: i + 1, Env: map[string]string{"NUMBER": fmt.Sprint(i)}, Inputs: map[string]string{
			"prompt": fmt.Sprint("Make file ", i), "agent": "text", "agent-command": "sh agent.sh", "branch": branch, "pass-env": "NUMBER", "title": branch,
		}})
	}
	return r, runs
}

// CheckCrowd wants every run's file on the forge, and so many pull requests, one
// for a branch.
func CheckCrowd(t testing.TB, r *fakegithub.Repository, runs, pulls int) {
	t.Helper()
	heads := map[string]int{}
	for _, p := range r.Pulls() {
		if p.State == "open" {
			heads[p.Head]++
		}
		if len(p.Commits) == 0 {
			t.Errorf("#%d has no commits", p.Number)
		}
	}
	if len(heads) != pulls {
		t.Errorf("pull requests of %d branches, want %d", len(heads), pulls)
	}
	for head, n := range heads {
		if n != 1 {
			t.Errorf("%s has %d pull requests, want 1", head, n)
		}
	}
	files := map[string]bool{}
	for head := range heads {
		for _, file := range r.Files(head) {
			_, name, _ := strings.Cut(file, " ")
			files[name] = true
		}
	}
	for i := range runs {
		if name := fmt.Sprint("file-", i); !files[name] {
			t.Errorf("the work of run %d, %s, is in no pull request", i, name)
		}
	}
}
