package stories

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// Report is the list as it stands.
func (b *Backlog) Report() ralph.TaskList {
	if b == nil || b.list == nil {
		return ralph.TaskList{}
	}
	t := ralph.TaskList{
		File: b.folder.Path(tasks.TasksName), Project: b.list.Project, Only: b.rules.Only,
		SkipReview: b.rules.SkipReview, ReviewCap: b.rules.ReviewCap, Unprotected: b.unprotected, Stories: b.Stories(),
	}
	for i := range t.Stories {
		t.Stories[i].Iterations = b.worked[t.Stories[i].ID]
	}
	var other []string
	for _, s := range b.list.Stories {
		if was, known := b.asked[s.ID]; known && !same(was, s) {
			other = append(other, oneLine(s.ID))
		}
	}
	if (!b.o.Published || b.o.AgentCommits) && b.overclaimed() {
		b.o.Host.Note(fmt.Sprintf("The last commit marks a story as done that is not. The correct list is in %s: commit it before anybody clones this.", b.folder.Path(tasks.TasksName)))
	}
	if now, err := b.folder.Read(tasks.PRDName); b.prd != "" && (err != nil || now != b.prd) {
		b.o.Host.Note(b.folder.Path(tasks.PRDName) + " changed during the run, which no iteration may do: review it.")
	}
	if b.o.Published && b.o.AgentCommits { // else the run counts what is not committed
		if open := nulls(b.o.Host.Git(1<<20, "status", "--porcelain", "-z")); len(open) > 0 {
			b.o.Host.Note(fmt.Sprintf("The agent left changes that are not committed (files: %d).", len(open)))
		}
	}
	if now, err := b.folder.Read(tasks.PromptName); !b.given && (err != nil || now != b.prompt) {
		b.o.Host.Note(b.folder.Path(tasks.PromptName) + " changed during the run. It instructs every iteration of the next run: review it.")
	}
	if len(other) > 0 {
		b.o.Host.Note("The agent changed what is asked for in " + ralph.Listed(other) + ": compare it with what you wrote.")
	}
	return t
}

// Stories is the list as it stands now.
func (s *List) Stories() []ralph.Story {
	if s == nil || s.list == nil {
		return nil
	}
	list := s.list.Report(s.rules)
	for i := range list {
		list[i].Unprotected = s.forgeable[list[i].ID] && list[i].Status == string(tasks.Approved)
	}
	return list
}

// Done reports whether a story is done as the list stands now.
func (s *List) Done(id string) bool {
	return slices.ContainsFunc(s.Stories(), func(story ralph.Story) bool { return story.ID == id && story.Done })
}

// Pinned is the list as it counts, for what is committed: git on the agent's side
// may be made to stage another one.
func (s *List) Pinned() map[string][]byte {
	if s == nil || s.list == nil {
		return nil
	}
	return map[string][]byte{s.folder.Path(tasks.TasksName): s.list.Bytes()}
}

// putBack leaves the list in the folder as it counts: git, run for us after the last
// look, may run what the agent planted.
func (b *Backlog) putBack() {
	if b.step == (ralph.Step{}) {
		return
	}
	data, err := b.folder.Tasks()
	if err != nil || !bytes.Equal(data, b.list.Bytes()) {
		said, err := b.repair(tasks.Between(b.list, b.rules), data, err)
		if err != nil {
			said = append(said, err.Error())
		}
		for _, p := range said {
			b.o.Host.Warn(p)
		}
	}
}

// overclaimed says that the agent committed a list in which a story is done that
// is not: a clone of that commit would believe it.
func (b *Backlog) overclaimed() bool {
	const most = 16 << 20 // bytes
	committed, err := tasks.Read([]byte(b.o.Host.Git(most, "show", "HEAD:./"+b.folder.Path(tasks.TasksName))))
	if err != nil {
		return false // none, or one that no run takes
	}
	return slices.ContainsFunc(committed.Report(b.rules), func(s ralph.Story) bool { return s.Done && !b.Done(s.ID) })
}

// Reread takes the list as the branch has it: an integration wrote it, and no agent.
func (b *Backlog) Reread(data []byte) {
	if list, err := tasks.Read(data); err == nil {
		b.list = list
	}
}
