package stories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// Ask builds the prompt of an iteration: prompt.md, and what this iteration needs
// to know besides.
func (b *Backlog) Ask(ask ralph.Ask) (ralph.Prompt, error) {
	values := Values{Iteration: ask.Iteration, MaxIterations: ask.Max, Dir: b.folder.Dir(), Snapshot: b.turn.snapshot}
	parts := []string{strings.TrimRight(values.Expand(b.prompt), "\n")}
	if back := append(append([]string(nil), ask.Settled.Problems...), b.turn.between...); len(back) > 0 {
		parts = append(parts, "## What was put back\n\nThe task list was changed in ways that were not allowed. This was undone:\n\n- "+strings.Join(oneLines(back), "\n- "))
	}
	notes := b.folder.Path(tasks.NotesPattern)
	switch {
	case b.alone():
		parts = append(parts, fmt.Sprintf("Other jobs work on other stories of the list at the same time, on branches of their own. Write your notes to `%s`, not to `%s`, and read the other `%s`, too.",
			b.folder.Path(tasks.NotesName(b.rules.Only[0])), b.folder.Path(tasks.ProgressName), notes))
	case b.notes:
		parts = append(parts, fmt.Sprintf("Stories that had a branch of their own left their notes in `%s`: read them, too.", notes))
	}
	if b.unmerged() && ask.Step.Mode != string(tasks.Review) {
		parts = append(parts, b.o.Conflict)
	}
	switch {
	case b.unseen != "":
		parts = append(parts, "Every story is approved, and more was changed since, which no review has seen: "+b.unseen+". Add a story that says what it is for, in the way of the others, and change nothing else. It is reviewed like them.")
	case ask.Step.Done:
		parts = append(parts, "Every story is done, but the checks below fail. Add a story that says what is missing, in the way of the others, and change nothing else. It is implemented and reviewed like them.")
	case ask.Settled.Stuck && ask.Settled.Status == string(tasks.NeedsReview):
		text := "The review before this one came to no verdict that counts. Decide: approve the story, or request changes."
		if most := b.rules.ReviewCap; most > 0 && b.turn.snapshot.Story.ReviewCount+1 >= most {
			text = "The review before this one came to no verdict that counts. This story has no more reviews than this: approve it, and if something is left to say, begin reviewFeedback with " + tasks.CapMark + "."
		}
		parts = append(parts, text)
	case ask.Rejection == ralph.RejectedStoriesLeft && ask.Claimed:
		parts = append(parts, "The iteration before this one said that everything is done. It is not: the task list says what is left.")
	case ask.Rejection == ralph.RejectedTurn && ask.Failure != nil:
		parts = append(parts, fmt.Sprintf("The previous iteration ended early (%s). What it changed is still in place: look at it first, then continue.", ask.Failure.Kind))
	}
	if ask.Step.Mode == string(tasks.Review) {
		parts = append(parts, b.o.Host.Redact(b.material(ask)))
	}
	text := strings.Join(parts, "\n\n")
	return prompt.Builder{Task: func() (string, error) { return text, nil }, Completion: b.o.Completion, Bare: true}.Build(ask)
}

// oneLines keeps each text on one line.
func oneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.Join(strings.Fields(s), " ")
	}
	return out
}

const (
	maxDiff    = 48 << 10 // bytes of a story's changes in a prompt
	maxCommits = 50       // of a story
)

// material is what a reviewer gets to see: what was asked for, what was done, and
// what the checks say. Nothing the implementer said is among it.
func (b *Backlog) material(ask ralph.Ask) string {
	var m strings.Builder
	s := b.turn.snapshot.Story
	fmt.Fprintf(&m, "## What to review\n\nStory %s: %s\n", s.ID, strings.Join(strings.Fields(s.Title), " "))
	if text := strings.TrimSpace(s.Description); text != "" { // quoted: others wrote it
		fmt.Fprintf(&m, "\n> %s\n", strings.ReplaceAll(text, "\n", "\n> "))
	}
	m.WriteString("\nAcceptance criteria:\n\n")
	for _, c := range s.AcceptanceCriteria {
		fmt.Fprintf(&m, "- %s\n", strings.Join(strings.Fields(c), " "))
	}
	if was, known := b.asked[s.ID]; known && !same(was, s) {
		fmt.Fprintf(&m, "\nThat is not what was asked for; it was changed since. Judge by what was asked for, unless the change is right:\n\n%s\n", strings.Join(strings.Fields(was.Title), " "))
		if text := strings.TrimSpace(was.Description); text != "" {
			fmt.Fprintf(&m, "\n> %s\n\n", strings.ReplaceAll(text, "\n", "\n> "))
		}
		for _, c := range was.AcceptanceCriteria {
			fmt.Fprintf(&m, "- %s\n", strings.Join(strings.Fields(c), " "))
		}
	}
	if prd, err := b.folder.Read(tasks.PRDName); b.prd != "" && (err != nil || prd != b.prd) {
		fmt.Fprintf(&m, "\n%s was changed since this run began, which no iteration may do: see git for what it said.\n", b.folder.Path(tasks.PRDName))
	}
	if len(ask.Verdicts) > 0 {
		m.WriteString("\nThe checks after the last change, which you judge and do not mend:\n\n")
		for _, v := range ask.Verdicts {
			what := "passed"
			if !v.Passed {
				what = fmt.Sprintf("failed (exit code %d)", v.ExitCode)
			}
			fmt.Fprintf(&m, "- `%s`: %s\n", strings.Join(strings.Fields(v.Command), " "), what)
		}
	}
	m.WriteString("\n" + b.changes(s.ID))
	m.WriteString("\nWrite your decision into the task list as described above, and end your last message with it, too: " +
		approval + " or " + openVerdict + "changes requested" + closeVerdict + ". An approval without these words does not count, nor does one with both.\n")
	return m.String()
}

// changes shows what was done for a story: everything since it was begun, because
// the loop works on one at a time; of one that was begun in an earlier run,
// everything since the first commit that names it.
func (b *Backlog) changes(id string) string {
	from := b.began[id]
	if from == "" {
		if named := b.commits(id); len(named) > 0 {
			from = b.o.Host.Git(200, "rev-parse", "--verify", "--quiet", b.first(named[0])+"^")
		}
	}
	from = strings.TrimSpace(from)
	if from == "" {
		return "No commit names this story: find its changes with `git log` and `git diff`.\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Its changes (`git diff %s HEAD`):\n\n", from)
	for _, c := range nulls(b.o.Host.Git(1<<16, "log", "--reverse", "-n", strconv.Itoa(maxCommits), "--format=%h %s%x00", from+"..HEAD")) {
		if c = strings.Join(strings.Fields(c), " "); c != "" {
			fmt.Fprintf(&out, "- commit %s\n", c)
		}
	}
	b.diff(&out, from, "HEAD")
	if strings.TrimSpace(b.o.Host.Git(200, append([]string{"diff", "--name-only", "HEAD"}, b.without()...)...)) != "" {
		out.WriteString("\nNot committed yet (`git diff HEAD`):\n")
		b.diff(&out, "HEAD")
	}
	if files := nulls(b.o.Host.Git(1<<20, "ls-files", "--others", "--exclude-standard", "-z")); len(files) > 0 {
		for i := range files {
			files[i] = oneLine(files[i])
		}
		fmt.Fprintf(&out, "\nFiles that git does not know yet: %s\n", ralph.Listed(files))
	}
	return out.String()
}

// first is the oldest of the agent's own commits right below one of ours: they
// belong to the same iteration, whatever they call themselves. Where we do not
// commit, a commit stands for itself.
func (b *Backlog) first(commit string) string {
	if !b.o.Published {
		return commit
	}
	const format = "%h %(trailers:key=Ralph-Run,valueonly,separator=%x2C)%x00"
	below := nulls(b.o.Host.Git(1<<16, "log", "-n", strconv.Itoa(maxCommits), "--first-parent", "--format="+format, b.base()+".."+commit+"^"))
	for _, line := range below {
		hash, run, _ := strings.Cut(strings.TrimSpace(line), " ")
		if hash == "" || strings.TrimSpace(run) != "" {
			break
		}
		commit = hash
	}
	return commit
}

// same says that a story asks for what it asked for.
func same(a, b tasks.Story) bool {
	return a.Title == b.Title && a.Description == b.Description && slices.Equal(a.AcceptanceCriteria, b.AcceptanceCriteria)
}

// without leaves out of a diff what every iteration writes.
func (b *Backlog) without() []string {
	spec := []string{"--", "."}
	for _, path := range b.own() {
		spec = append(spec, ":(top,exclude,literal)"+path)
	}
	return spec
}

// diff shows a diff, and names what git does not show of it.
func (b *Backlog) diff(out *strings.Builder, revs ...string) {
	args := func(more ...string) []string {
		return slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color"}, more, revs, b.without())
	}
	text := b.o.Host.Git(maxDiff, args("--stat", "--patch")...)
	fence := strings.Repeat("`", longest(text)+3)
	fmt.Fprintf(out, "\n%sdiff\n%s\n%s\n", fence, strings.TrimRight(text, "\n"), fence)
	if len(text) >= maxDiff {
		out.WriteString("\nThis is cut: read the rest with that command.\n")
	}
	var hidden []string
	for _, line := range nulls(b.o.Host.Git(1<<20, args("--numstat", "-z")...)) {
		if path, binary := strings.CutPrefix(line, "-\t-\t"); binary {
			hidden = append(hidden, oneLine(path))
		}
	}
	if len(hidden) > 0 {
		fmt.Fprintf(out, "\nGit takes these for binary and does not show them; read them: %s\n", ralph.Listed(hidden))
	}
}

// longest is the longest run of backquotes in a text.
func longest(text string) (n int) {
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		n = max(n, run)
	}
	return n
}

// commits are those that name the story, the oldest first, without reviews.
func (b *Backlog) commits(id string) (all []string) {
	const format = "%h%x00%s%x00"
	fields := strings.Split(b.o.Host.Git(1<<20, "log", "-n", "1000", "--format="+format), "\x00")
	for i := 0; i+1 < len(fields) && len(all) < maxCommits; i += 2 {
		hash, subject := strings.TrimSpace(fields[i]), fields[i+1]
		if strings.Contains(subject, "["+id+"]") && !strings.HasPrefix(subject, "review:") {
			all = append([]string{hash}, all...)
		}
	}
	return all
}
