package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// maxJobs is how many jobs a matrix of GitHub Actions may have
// (docs.github.com, "Running variations of jobs in a workflow").
const maxJobs = 256

// Job is one entry of the matrix. Its values are safe to stand in a shell.
type Job struct {
	Story  string `json:"story"`
	Branch string `json:"branch"`
	Mode   Mode   `json:"mode"`
}

var plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Matrix is the stories that are ready now, one job and one branch each, as the
// "include" of a matrix of GitHub Actions, on one line. An empty matrix fails in
// GitHub Actions: jobs is for the condition of the job. At most 256 are given;
// the others are ready the next time. The error says which ids or branch names
// cannot stand in a workflow.
func (l *List) Matrix(r Rules) (matrix []byte, jobs int, err error) {
	all := []Job{}
	used := map[string]bool{}
	var problems []error
	for _, s := range l.Ready(r) {
		if len(all) == maxJobs {
			break
		}
		if !plainID.MatchString(s.ID) {
			problems = append(problems, fmt.Errorf("story id %s cannot stand in a workflow: give letters, digits, dots, _ and - only", quote(s.ID)))
			continue
		}
		branch := l.branch(s.ID, used)
		if err := ralph.CheckBranch(branch); err != nil {
			return nil, 0, fmt.Errorf("branchName %s makes no branch for story %s: %w", quote(l.BranchName), visible(s.ID), err)
		}
		used[branch] = true
		alone := List{Stories: []Story{s}}
		all = append(all, Job{s.ID, branch, alone.Mode(r)})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, 0, err
	}
	matrix, err = json.Marshal(map[string][]Job{"include": all})
	return matrix, len(all), err
}

// branch is beside the list's branch and not below it: git keeps no branch a/b
// where there is a branch a.
func (l *List) branch(id string, used map[string]bool) string {
	base := l.BranchName + "-" + strings.ToLower(strings.ReplaceAll(id, ".", "-"))
	name := base
	for n := 2; used[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}
