package stories

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// apart reports whether the run works on some stories, and others beside it on others.
func (b *Backlog) apart() bool { return b.o.Published && len(b.rules.Only) > 0 }

// alone reports whether the run works on one story, on a branch that is published: others
// beside it work on other stories, and the forge merges what they publish as text.
func (b *Backlog) alone() bool { return b.apart() && len(b.rules.Only) == 1 && !b.o.Lane }

// only names the stories of the run.
func (b *Backlog) only() string {
	if len(b.rules.Only) == 1 {
		return "story " + oneLine(b.rules.Only[0])
	}
	return "stories " + oneLine(ralph.Listed(b.rules.Only))
}

// onto puts a list back, but for its story and new ones, to the text that it was made
// from.
func (b *Backlog) onto(from *tasks.List, r tasks.Repaired) tasks.Repaired {
	again := r.List.Onto(from, b.rules, nil)
	var others []string
	now := map[string]tasks.Story{}
	for _, s := range r.List.Stories {
		now[s.ID] = s
	}
	for _, s := range from.Stories {
		if !slices.Contains(b.rules.Only, s.ID) && !reflect.DeepEqual(s, now[s.ID]) {
			others = append(others, oneLine(s.ID))
		}
	}
	if len(others) > 0 && len(r.Problems) == 0 {
		r.Problems = append(r.Problems, tasks.Problem{Kind: tasks.Transition,
			Text: fmt.Sprintf("This run works on %s only. What was changed in others was put back: %s.", b.only(), ralph.Listed(others))})
	}
	r.Changed = r.Changed || string(again.Bytes()) != string(r.List.Bytes())
	r.List = again
	return r
}

// keepNotes moves what was added to progress.txt to the story's own notes.
func (b *Backlog) keepNotes() {
	if !b.alone() || b.o.AgentCommits {
		return
	}
	now, err := b.folder.Read(tasks.ProgressName)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = b.moveNotes(now)
	}
	if err != nil {
		b.o.Host.Warn(fmt.Sprintf("The notes of %s stay in %s, where those of other stories may conflict with them: %v", b.only(), b.folder.Path(tasks.ProgressName), err))
	}
}

func (b *Backlog) moveNotes(now string) error {
	if now == b.progress {
		return nil
	}
	if more := Added(b.progress, now); more != "" {
		name := tasks.NotesName(b.rules.Only[0])
		notes, err := b.folder.Read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := b.folder.Write(name, []byte(notes+more)); err != nil {
			return err
		}
	}
	return b.folder.Write(tasks.ProgressName, []byte(b.progress))
}

// readProgress keeps progress.txt as the branch found it in its base, if it was there and
// is text.
func (b *Backlog) readProgress() {
	const most = 1 << 20 // bytes
	fork := cmp.Or(b.fork(b.o.Tip), b.fork(b.base()))
	if fork == "" {
		return
	}
	if text := b.o.Host.Git(most, "show", fork+":./"+b.folder.Path(tasks.ProgressName)); text != "" && len(text) < most && !strings.ContainsRune(text, utf8.RuneError) {
		b.progress = text
	}
}

// Added are the lines that a text has and an earlier one lacks, as lines.
func Added(was, now string) string {
	old, lines := strings.Split(was, "\n"), strings.Split(now, "\n")
	for len(old) > 0 && len(lines) > 0 && old[0] == lines[0] {
		old, lines = old[1:], lines[1:]
	}
	for len(old) > 0 && len(lines) > 0 && old[len(old)-1] == lines[len(lines)-1] {
		old, lines = old[:len(old)-1], lines[:len(lines)-1]
	}
	there := map[string]bool{}
	for _, line := range old {
		there[line] = strings.TrimSpace(line) != ""
	}
	var kept []string
	for _, line := range lines {
		if !there[line] {
			kept = append(kept, line)
		}
	}
	text := strings.Trim(strings.Join(kept, "\n"), "\n")
	if text != "" {
		text += "\n"
	}
	return text
}

// fork is the newest commit that HEAD has in common with another; empty: none is known.
func (b *Backlog) fork(other string) string {
	return strings.TrimSpace(b.o.Host.Git(200, "merge-base", "HEAD", other))
}

// base is the newest commit of the base that git knows here.
func (b *Backlog) base() string {
	base := b.o.BaseSHA
	for _, name := range []string{"refs/remotes/origin/" + b.o.Base, "refs/heads/" + b.o.Base} {
		if at := strings.TrimSpace(b.o.Host.Git(200, "rev-parse", "--verify", "--quiet", name)); at != "" {
			base = at
		}
	}
	return base
}

// unmerged reports whether the branch still conflicts with its base.
func (b *Backlog) unmerged() bool { return b.o.Conflict != "" && !b.o.Host.Merged() }

// maxReopened is how many times a story is given back before the run ends.
const maxReopened = 3

// reopen gives a story back because the base is not merged yet: the merge is an
// iteration's work, and is reviewed like any other.
func (b *Backlog) reopen() error {
	b.reopened++
	b.list = b.list.Reopen(b.rules, b.o.Conflict)
	return b.write(b.list.Bytes())
}

// join takes the base's list for what counts of other stories, once the agent has merged the base.
// It is asked of the agent's git, which may lie: what it gains is the list that people have.
func (b *Backlog) join() {
	if b.o.Conflict == "" || b.joined || b.fork(b.o.Tip) != b.o.Tip {
		return
	}
	data, err := b.o.Host.BaseFile(b.folder.Path(tasks.TasksName))
	if err != nil {
		return // it has none
	}
	base, err := tasks.Read(data)
	if err != nil {
		return
	}
	b.joined, b.behind = true, false
	b.began[b.turn.snapshot.Story.ID] = b.o.Tip // the review is of what the branch changes now
	b.list = b.list.Onto(base, b.rules, nil)
	was := b.turn.snapshot
	b.turn.snapshot = tasks.Take(b.list, b.rules)
	b.turn.snapshot.Mode, b.turn.snapshot.Story = was.Mode, was.Story
	b.readProgress()
	// However the agent merged the file: it counts for the story of the iteration.
	if data, err = b.folder.Tasks(); err != nil || was.Story.ID == "" {
		return
	}
	if left, err := tasks.Read(data); err == nil {
		if err := b.write(left.Onto(b.list, tasks.Rules{Only: []string{was.Story.ID}}, nil).Bytes()); err != nil {
			b.o.Host.Warn(err.Error())
		}
	}
}
