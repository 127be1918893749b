package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/tasks"
)

// hookStop answers a stop. With a file, only the loop whose state it holds
// counts; without one, only a loop of the project does, so that whoever has the
// plugin installed is not counted twice. readErr is what was wrong with the input.
func (a *app) hookStop(in hook.Input, readErr error, file string) hook.Answer {
	ctx := context.Background()
	p := findProject(a.startFolders(in.CWD))
	var warnings []string
	facts := hook.StopFacts{Active: p.active, Now: time.Now()}
	if p.active {
		a.taskFacts(ctx, p, &facts)
	}
	var s *state
	var err error
	switch {
	case in.Event != "" && in.Event != string(hook.Stop): // Reply says that it is wired wrongly
	case file != "":
		s, err = openState(ctx, file)
	default:
		s, err = claimState(ctx, p, in)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warnings = append(warnings, err.Error())
	}
	if s == nil {
		return warned(hook.Hook{Stop: facts}.Reply(hook.Stop, in, readErr), warnings)
	}
	defer s.close()
	facts.Session = &s.session
	facts.Changed = func() (bool, error) { return a.treeChanged(ctx, p, s.session.Tree) }
	var last hook.Entry
	facts.Log = func(e hook.Entry) {
		last = e
		if err := s.log(e); err != nil {
			warnings = append(warnings, "the log of the session loop: "+err.Error())
		}
	}
	answer := hook.Hook{Stop: facts}.Reply(hook.Stop, in, readErr)
	if s.session.Over() && file == "" {
		err = s.remove() // nobody waits for its status but the person in front of the session
		if last.Status != "" {
			answer.Message = fmt.Sprintf("ralph: the loop ended at iteration %d with %s: %s", last.Iteration, last.Status, last.Why)
		}
	} else {
		var there bool
		if there, err = s.save(); !there {
			answer = hook.Answer{Event: hook.Stop, Warnings: append(answer.Warnings, "the session loop was cancelled")}
		}
	}
	if err != nil {
		// A loop that forgets how often it ran must not go on.
		answer.Refused, answer.Reason = false, ""
		warnings = append(warnings, "the stop is approved, because the state of the session loop cannot be kept: "+err.Error())
	}
	return warned(answer, warnings)
}

func warned(answer hook.Answer, warnings []string) hook.Answer {
	answer.Warnings = append(answer.Warnings, warnings...)
	return answer
}

// treeChanged compares with the tree as a loop found it.
func (a *app) treeChanged(ctx context.Context, p project, before string) (bool, error) {
	if before == "" {
		return false, errors.New("its state at the start of the loop is unknown")
	}
	now, err := a.treeMark(ctx, p)
	return err == nil && now != before, err
}

// taskFacts is what a stop of a task loop is judged by. The marker lies where
// the agent can write: what it says is advice, and the loop looks for itself.
func (a *app) taskFacts(ctx context.Context, p project, facts *hook.StopFacts) {
	var marked tasks.Marked
	data, err := readPlain(filepath.Join(p.dir, tasks.MarkerName), maxMarker)
	if err == nil {
		marked, err = tasks.DecodeMarker(data)
	}
	facts.Checks = func() (problems, warnings []string) {
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		if !marked.Snapshot.Known() {
			warnings = append(warnings, tasks.MarkerName+" holds no snapshot of the stories: transitions are not checked, invariants are")
		}
		return checkTasks(p.dir, marked), warnings
	}
	if marked.Commits != tasks.ByRalph {
		facts.Uncommitted = func() ([]string, error) { return a.uncommitted(ctx, p.dir) }
	}
}

// checkTasks is the loop's own check of the task list.
func checkTasks(project string, marked tasks.Marked) []string {
	folder, err := tasks.OpenFolder(project, marked.Folder)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = folder.Close() }()
	data, err := folder.Tasks()
	if err != nil {
		return []string{err.Error()}
	}
	_, found := marked.Snapshot.Verify(data)
	texts := make([]string, len(found))
	for i, problem := range found {
		texts[i] = problem.Text
		if problem.Kind == tasks.Schema {
			texts[i] = folder.Path(tasks.TasksName) + ":" + problem.String()
		}
	}
	return texts
}
