package integration

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/tasks"
)

// Resolve asks an agent to resolve a conflict.
func (o *Owner) Resolve(ctx context.Context, c integrate.Conflict) (integrate.Files, string, error) {
	step := ralph.Step{Mode: "resolve", Story: c.ID, Title: o.title(c.ID)}
	files, cost, why, err := o.Ask(ctx, c, step, o.prompt(c))
	h := o.lanes[c.ID]
	h.turn = h.turn.Add(cost)
	return files, why, err
}

func (o *Owner) title(id string) string {
	if s := o.base.Story(id); s != nil {
		return s.Title
	}
	return ""
}

// prompt says what is to be resolved. What stories say is foreign text.
func (o *Owner) prompt(c integrate.Conflict) string {
	var b strings.Builder
	b.WriteString("Resolve merge conflicts. The story " + tasks.Visible(c.ID) + " was implemented on a branch of its own, while other stories were put onto this branch, which changed the same lines. " +
		"The work tree holds the merge, with conflict markers: between `<<<<<<< branch` and `||||||| base` stands what the branch has, then what both began with, " +
		"then, from `=======` to `>>>>>>> story`, what the story made of it.\n\nFiles with conflicts:\n")
	var others []string
	for i, path := range c.Paths {
		fmt.Fprintf(&b, "- %q\n", path)
		for _, id := range c.By[i] {
			if !strings.Contains("\n"+strings.Join(others, "\n")+"\n", "\n"+id+"\n") {
				others = append(others, id)
			}
		}
	}
	b.WriteString("\nEdit these files so that the intent of both sides holds, and remove every marker. Change, add and remove no other file. " +
		"Do not commit, and leave git's index, branches and the task list alone. Checks run afterwards.\n\n# The story\n\n")
	o.tell(&b, c.ID)
	if len(others) > 0 {
		b.WriteString("\n# Stories on the branch that changed these files\n\n")
		for _, id := range others {
			o.tell(&b, id)
		}
	}
	return b.String()
}

// maxStory bounds what is told of a story, in bytes.
const maxStory = 8 << 10

func (o *Owner) tell(b *strings.Builder, id string) {
	s := o.base.Story(id)
	if s == nil {
		return
	}
	var one strings.Builder
	fmt.Fprintf(&one, "%s: %s\n", tasks.Visible(s.ID), s.Title)
	if s.Description != "" {
		one.WriteString(s.Description + "\n")
	}
	for _, c := range s.AcceptanceCriteria {
		one.WriteString("- " + c + "\n")
	}
	text := one.String()
	if len(text) > maxStory {
		text = strings.ToValidUTF8(text[:maxStory], "") + "…\n"
	}
	b.WriteString(text)
}
