// Package matrix says which stories of a task list get a job of their own, each with a
// branch and a pull request.
package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// merge is the mode of a story that is done on a branch that conflicts with its base.
const merge tasks.Mode = "merge"

// job is one entry of the matrix. Its values are safe to stand in a shell.
type job struct {
	Story  string     `json:"story"`
	Branch string     `json:"branch"`
	Mode   tasks.Mode `json:"mode"`
}

// Branch is a branch that has commits which the base lacks.
type Branch struct {
	List      *tasks.List // nil: none that can be read
	Conflicts bool        // branch and base changed the same
}

// Of is the stories that are ready now, one job and one branch each, as the "include"
// of a matrix of GitHub Actions, on one line. look returns nil if a branch is missing or
// merged. A story that is done on its branch waits for people, and is left out unless the
// branch has to be merged with its base. An empty matrix fails in GitHub Actions: jobs is
// for the condition of the job. At most 256 are given; the others are ready the next
// time. The error says which ids or branch names cannot stand in a workflow, and which
// stories git could not merge.
func Of(l *tasks.List, r tasks.Rules, look func(branch string) (*Branch, error)) (matrix []byte, jobs int, err error) {
	all, open := []job{}, map[string]bool{}
	var problems []error
	names := Branches(l)
	for _, s := range l.Ready(r) {
		if err := fanout.CheckID(s.ID); err != nil {
			problems = append(problems, err)
			continue
		}
		one := job{s.ID, names[s.ID], l.Mode(only(r, s.ID))}
		if err := ralph.CheckBranch(one.Branch); err != nil {
			return nil, 0, fmt.Errorf("branchName %s makes no branch for story %s: %w", tasks.Quote(l.BranchName), tasks.Visible(s.ID), err)
		}
		there, err := look(one.Branch)
		if err != nil {
			return nil, 0, err
		}
		if open[s.ID] = there != nil || len(all) < fanout.MaxLanes; there != nil && there.List != nil {
			one.Mode = there.List.Mode(only(r, s.ID))
			if there.List.Done(only(r, s.ID)) && !there.Conflicts {
				continue
			} else if there.List.Done(only(r, s.ID)) {
				one.Mode = merge
			}
		}
		if len(all) < fanout.MaxLanes {
			all = append(all, one)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, 0, err
	}
	if a, b, touch := l.Touching(open); touch {
		return nil, 0, fmt.Errorf("stories %s and %s stand on touching lines of %s, so git could not merge both pull requests: give each field a line of its own, for example with jq", tasks.Visible(a), tasks.Visible(b), tasks.TasksName)
	}
	matrix, err = json.Marshal(map[string][]job{"include": all})
	return matrix, len(all), err
}

func only(r tasks.Rules, id string) tasks.Rules {
	r.Only = []string{id}
	return r
}

// Branches names the branch of each story: beside the list's branch and not below it,
// because git keeps no branch a/b where there is a branch a.
func Branches(l *tasks.List) map[string]string {
	names, used := map[string]string{}, map[string]bool{}
	for i := range l.Stories {
		id := l.Stories[i].ID
		base := l.BranchName + "-" + strings.ToLower(strings.ReplaceAll(id, ".", "-"))
		name := base
		for n := 2; used[name]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		names[id], used[name] = name, true
	}
	return names
}
