// Package left is what a step of a job notes down in case that it is killed, and how that is found
// again by a later step.
package left

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/run/stash"
	"github.com/org/ralph-action/internal/run/stepdir"
)

// MainWait is for a main part that is ending, or that the runner lost.
const MainWait = 30 * time.Second

const maxNote = 8 << 20 // bytes of a record without its iterations

// Left is what a step of a job notes down, in case that it is killed. It lies in the
// record of killed.Find, where the agent has another user, else in the step's own folder.
type Left struct {
	Step string // of which run, attempt and job
	// Files are those that the configuration was read from, as the step found them; nil:
	// there was none of that name. By now they are the agent's.
	Files map[string][]byte
	// Report is masked, and has what is settled: the repository, the task, iterations that
	// are over, and the outcome of a loop that is.
	Report ralph.Report

	note []byte
}

// Note is the note for the record.
func (l *Left) Note() []byte {
	if l.note == nil {
		l.note, _ = json.Marshal(l) // texts, numbers and times
		if len(l.note) > maxNote {
			short := *l
			short.Report.Iterations = nil
			l.note, _ = json.Marshal(&short)
		}
	}
	return l.note
}

// Ended adds an iteration.
func (l *Left) Ended(it ralph.Iteration, mask func(string) string) {
	if l != nil {
		masked := report.Redacted(ralph.Report{Iterations: []ralph.Iteration{it}}, mask)
		l.Report.Iterations, l.note = append(l.Report.Iterations, masked.Iterations...), nil
	}
}

// Settle notes how the loop ended, before anything of that is published. r is masked.
func (l *Left) Settle(r ralph.Report) { l.Report, l.note = r, nil }

// Step names the step of the job that this process is; empty outside of a runner.
func Step(getenv func(string) string) string {
	if job := Job(getenv); job != "" {
		return job + " " + getenv("GITHUB_ACTION")
	}
	return ""
}

// Job names the job, likewise.
func Job(getenv func(string) string) string {
	if getenv("GITHUB_RUN_ID") == "" {
		return ""
	}
	var words []string
	for _, name := range []string{"GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"} {
		words = append(words, getenv(name))
	}
	return strings.Join(words, " ")
}

// Restore puts back what a step hid that was killed.
func Restore(d *stepdir.Dir, say func(string)) error {
	if !d.Hides() {
		return nil
	}
	notes, err := stash.PutBack(d.Hidden())
	for _, n := range notes {
		say(n)
	}
	return err
}

// Find finds what this step of the job has left if it did not end by itself; nil if it
// did. It waits for a step that is still ending, and puts the git settings back that it hid.
// The configuration that names dir, where the agent worked, need not be the step's own.
func Find(ctx context.Context, workspace, dir string, getenv func(string) string, own *stepdir.Dir, say func(string)) (*Left, error) {
	if err := awaitEnd(ctx, workspace, MainWait); err != nil {
		return nil, err
	}
	if own != nil {
		if err := Restore(own, say); err != nil {
			return nil, err
		}
	}
	found, _, err := Record(dir, own)
	if err != nil {
		return &Left{}, nil //nolint:nilerr // the one who publishes says so
	}
	if left := By(found, Step(getenv)); left != nil {
		return left, nil
	}
	_, marked := os.Lstat(rundir.Handover(workspace))
	if store := stash.Store(workspace); marked == nil || store != "" && stash.OursAlone(store) {
		return &Left{}, nil
	}
	return nil, nil //nolint:nilnil // there is nothing
}

// Record finds the record of a killed run, first in its step's own folder: sealed.
func Record(dir string, own *stepdir.Dir) (run *killed.Run, sealed bool, err error) {
	if own != nil {
		if run, err = killed.FindIn(own.Root); run != nil || err != nil {
			return run, true, err
		}
	}
	run, err = killed.Find(dir)
	return run, false, err
}

// awaitEnd waits until no run holds the workspace: a docker client that was killed leaves
// its container running.
func awaitEnd(ctx context.Context, workspace string, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if held, _, err := rundir.Held(workspace); err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("the step before is still at work in the workspace, in a container that the runner did not end: nothing is published in its place")
		case <-tick.C:
		}
	}
}

// By is what a step noted in the record of a run; nil if the record is not its.
func By(found *killed.Run, step string) *Left {
	var left Left
	if found == nil || step == "" || json.Unmarshal(found.Note, &left) != nil || left.Step != step {
		return nil
	}
	return &left
}
