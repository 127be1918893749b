// Package stories joins a task list to a run: what an iteration is for, what the
// agent is asked, and what of what it wrote into the list counts.
package stories

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// List is a task list as it was before the agent could edit it, and as it
// counts now. The methods that are called without one take nil.
type List struct {
	folder *tasks.Folder
	rules  tasks.Rules
	prompt string                 // prompt.md, or what was given in its place
	given  bool                   // the prompt was
	prd    string                 // prd.md; empty: there was none
	digest string                 // of the list as it was read
	branch string                 // that the list names
	asked  map[string]tasks.Story // by id, as people wrote them
	list   *tasks.List            // legal, and what the file holds; nil before it is opened
	step   ralph.Step             // what the iteration at hand is for
	seal   func()                 // called when every child is gone; nil before the list is opened
	// unprotected is why what a review starts could approve in the reviewer's place;
	// empty: it could not.
	unprotected string
	forgeable   map[string]bool // stories that such a review approved in this run
	description string          // of the list, or the project
	commands    []string
}

// Backlog is the task list of a run; it is the loop's ralph.Backlog. What the
// list says is believed as it was before an iteration, and after it only as far
// as the iteration was allowed to write it.
type Backlog struct {
	*List
	o        Options
	lock     *tasks.Lock
	baseline []ralph.Verdict
	green    map[string]bool // guardrails that have passed once
	earlier  map[string]bool // stories that an earlier run began: nobody knows what failed before them

	turn      turn
	worked    map[string]int    // iterations by story
	began     map[string]string // HEAD before a story's first iteration
	left      map[string]string // what changed while a story's review was withdrawn
	behind    bool              // the base's list has stories that this one has not
	artifacts bool              // an approval counts though files changed meanwhile
	since     string            // HEAD before what unseen names
	unseen    string            // what was changed after the last story was approved; empty: nothing
	progress  string            // progress.txt as the branch found it
	notes     bool              // stories have files of notes beside it
	joined    bool              // the base's list is in the branch's: the agent has merged them
	reopened  int               // times that a story was given back because the base is not merged
}

// turn is the iteration at hand.
type turn struct {
	snapshot tasks.Snapshot // the list before it
	between  []string       // what was put back since the iteration before
	looks    int            // at the list, since it began
	head     string         // HEAD when it began
	seen     string         // the work as it found it
	withdrew bool           // an approval of its
}

// Begin keeps the list and says what the iteration is for. What changed since the
// last one was not the agent's to change: it does not run.
func (b *Backlog) Begin(iteration, _ int) (ralph.Step, error) {
	b.turn = turn{snapshot: b.turn.snapshot}
	if iteration == 1 {
		for _, v := range b.baseline {
			b.green[v.Command] = v.Passed
		}
	}
	data, err := b.folder.Tasks()
	if err != nil || !bytes.Equal(data, b.list.Bytes()) {
		said, err := b.repair(tasks.Between(b.list, b.rules), data, err)
		if err != nil {
			return ralph.Step{}, err
		}
		for _, p := range said {
			b.o.Host.Emit(ralph.Event{Kind: ralph.EventWarning, At: time.Now(), Text: p, Iteration: iteration})
		}
		b.turn.between = said
	}
	switch {
	case !b.unmerged():
	case b.reopened > maxReopened:
		return ralph.Step{}, &ralph.Refusal{Outcome: ralph.Stalled, Err: fmt.Errorf("after %d attempts %s is not merged into the branch, and they conflict", maxReopened, b.o.Base)}
	case b.list.Done(b.rules):
		if err := b.reopen(); err != nil {
			return ralph.Step{}, err
		}
	}
	b.turn.snapshot = tasks.Take(b.list, b.rules)
	if err := b.lock.Update(b.marker(b.turn.snapshot)); err != nil {
		b.o.Host.Show(err.Error()) // it is for people and hooks; nothing of ours depends on it
	}
	b.step = ralph.Step{Mode: string(b.turn.snapshot.Mode), Story: b.turn.snapshot.Story.ID, Title: b.turn.snapshot.Story.Title}
	over := b.list.Done(b.rules)
	b.step.Done = over && b.unseen == ""
	if b.step.Story == "" && !over {
		why := b.list.CheckOnly(b.rules)
		if why == nil {
			why = errors.New("no story is ready, and some are not done")
		}
		return b.step, &ralph.Refusal{Outcome: ralph.Stalled, Err: why}
	}
	b.turn.head = b.head()
	b.turn.seen = b.o.Host.Seen()
	if id := b.step.Story; id != "" {
		b.worked[id]++
		if _, known := b.began[id]; !known && b.step.Mode != string(tasks.Review) {
			b.began[id] = b.turn.head
			if b.unseen != "" { // it has to account for that
				b.began[id] = b.since
			}
		}
	}
	return b.step, nil
}

// repair makes data, which an agent wrote, a legal list and writes it back. err
// says that it could not be read.
func (b *Backlog) repair(s tasks.Snapshot, data []byte, err error) (said []string, _ error) {
	var r tasks.Repaired
	if err != nil {
		r = s.Restore(err)
	} else {
		r = s.Repair(data)
	}
	setup := s.Setup(r.List)
	r.List, r.Changed, r.Problems = setup.List, r.Changed || setup.Changed, append(r.Problems, setup.Problems...)
	if b.apart() && !b.o.AgentCommits {
		r = b.onto(b.list, r)
	}
	return b.accept(r)
}

// accept makes a list the one that counts.
func (b *Backlog) accept(r tasks.Repaired) (said []string, _ error) {
	for _, p := range r.Problems {
		if p.Kind != tasks.Stuck { // there is nothing to put back
			said = append(said, b.folder.Path(tasks.TasksName)+": "+p.Text)
		}
	}
	if r.Changed {
		if err := b.write(r.List.Bytes()); err != nil {
			return said, fmt.Errorf("what the agent wrote into the task list cannot be put back: %w", err)
		}
	}
	b.list = r.List
	return said, nil
}

// Again puts back the state of every story as Begin kept it.
func (b *Backlog) Again() error {
	data, err := b.folder.Tasks()
	if err == nil && bytes.Equal(data, b.list.Bytes()) {
		return nil
	}
	_, err = b.repair(tasks.Between(b.list, b.rules), data, err)
	return err
}

// Settle puts back what the iteration was not allowed to write.
func (b *Backlog) Settle(it ralph.Iteration) (ralph.Settlement, error) {
	b.turn.looks++
	b.join()
	b.keepNotes()
	data, err := b.folder.Tasks()
	if b.turn.looks > 1 { // guardrails run code of the agent's, and nothing in them moves a story
		var said []string
		if err != nil || !bytes.Equal(data, b.list.Bytes()) {
			if said, err = b.repair(tasks.Between(b.list, b.rules), data, err); err != nil {
				return ralph.Settlement{}, err
			}
		}
		more, err := b.freshEyes()
		if err != nil {
			return ralph.Settlement{}, err
		}
		return b.settlement(it, append(said, more...))
	}
	said, err := b.repair(b.turn.snapshot, data, err)
	if err != nil {
		return ralph.Settlement{}, err
	}
	return b.settlement(it, said)
}

// write puts the list back, also where the agent sees it.
func (b *Backlog) write(data []byte) error {
	if err := b.folder.Write(tasks.TasksName, data); err != nil || b.o.Host.Put == nil {
		return err
	}
	return b.o.Host.Put(b.folder.Path(tasks.TasksName), data)
}

// head is the commit that is checked out; "" when there is none.
func (b *Backlog) head() string {
	return strings.TrimSpace(b.o.Host.Git(200, "rev-parse", "--verify", "--quiet", "HEAD"))
}

// Baseline tells what the guardrails said before any change.
func (b *Backlog) Baseline(verdicts []ralph.Verdict) { b.baseline = verdicts }

// Doubtful reports whether the list is done and the work nevertheless has to be
// looked at: files changed while it was reviewed, or the base has more stories.
func (b *Backlog) Doubtful() bool { return b.artifacts || b.behind }

// Close gives the list up.
func (b *Backlog) Close() {
	if err := b.lock.Clear(); err != nil {
		b.o.Host.Show(err.Error())
	}
}

// Options are what a task list is opened with.
type Options struct {
	MaxIterations int // 0: no limit
	Completion    ralph.Completion
	Local         bool   // the workspace may be another's, too
	Sandboxed     bool   // the agent is
	Elsewhere     bool   // the agent works on a copy, see Host.Put
	Published     bool   // the work is looked at and published
	AgentCommits  bool   // the agent makes the commits
	Lane          bool   // the work is handed over for another job to integrate, and not merged as text
	Base, BaseSHA string // of the branch, where it is published
	// Conflict asks for the base to be merged into the branch, which ralph could not;
	// empty: there is nothing to ask for. Tip is the base's newest commit, which git may
	// lack here unless it is to be merged.
	Conflict, Tip string
	Host          Host
}

// Host is what a task list needs of the run.
type Host struct {
	// Git asks the repository as the agent's user; empty if it cannot answer. most
	// bounds the answer, in bytes.
	Git func(most int, args ...string) string
	// Seen identifies the work as it was seen last; "" where nothing looks.
	Seen func() string
	// Changed lists the paths that changed since the work was seen; nil: git is asked.
	Changed func(since string) ([]string, error)
	// Merged reports whether what is about to be published holds Options.Tip.
	Merged func() bool
	// BaseFile is the base's version of a file.
	BaseFile func(name string) ([]byte, error)
	// Put writes a file where the agent sees it; nil: it sees ours.
	Put                   func(name string, data []byte) error
	Note, Warn, Say, Show func(string) // keep; keep and show; show; show as a warning
	Redact, Mask          func(string) string
	Emit                  func(ralph.Event)
}
