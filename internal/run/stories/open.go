package stories

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// Read reads the task list in a folder of the workspace, which has to be legal.
// prompt takes the place of the folder's prompt.md unless it is empty.
func Read(workspace, dir, prompt string, rules tasks.Rules) (*List, error) {
	folder, err := tasks.OpenFolder(workspace, dir)
	if err != nil {
		return nil, err
	}
	s := &List{folder: folder, prompt: prompt, given: prompt != "", rules: rules, forgeable: map[string]bool{}}
	list, err := s.read()
	wrong := s.readPrompt()
	switch {
	case err == nil || wrong != nil && err.Error() == wrong.Error(): // the folder is missing: said once
		err = wrong
	default:
		err = errors.Join(err, wrong)
	}
	if err == nil && list.BranchName != "" {
		if err = ralph.CheckBranch(list.BranchName); err != nil {
			err = fmt.Errorf("%s: branchName: %w", folder.Path(tasks.TasksName), err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	sum := sha256.Sum256(list.Bytes())
	s.digest = hex.EncodeToString(sum[:])
	s.branch, s.commands, s.description = list.BranchName, list.VerifyCommands, cmp.Or(list.Description, list.Project)
	s.asked = make(map[string]tasks.Story, len(list.Stories))
	for _, story := range list.Stories {
		s.asked[story.ID] = story
	}
	return s, nil
}

// Close closes the folder.
func (s *List) Close() { _ = s.folder.Close() } // what is lost of it is lost

// Seal leaves the list in the folder as it counts, once every child is gone.
func (s *List) Seal() {
	if s.seal != nil {
		s.seal()
	}
}

// Branch is the branch that the list names; empty if it names none.
func (s *List) Branch() string { return s.branch }

// Digest is the SHA-256 of the list as the run found it, in hex.
func (s *List) Digest() string { return s.digest }

// Commands are the list's guardrails.
func (s *List) Commands() []string { return s.commands }

// Task is what the run is about. Parallel jobs are told apart by their stories.
func (s *List) Task() string {
	switch len(s.rules.Only) {
	case 0:
		return s.description
	case 1:
		one := s.asked[s.rules.Only[0]]
		return one.ID + ": " + cmp.Or(one.Title, s.description)
	}
	return ralph.Listed(s.rules.Only) + ": " + s.description
}

// Reviewing reports whether the iteration at hand is a review.
func (s *List) Reviewing() bool { return s.step.Mode == string(tasks.Review) }

// Unprotected says why what a review starts could approve in the reviewer's place.
func (s *List) Unprotected(why string) { s.unprotected = why }

// Open takes the list, as the branch that is checked out now has it, for this run
// alone.
func Open(s *List, o Options) (*Backlog, error) {
	b := &Backlog{
		List: s, o: o,
		worked: map[string]int{}, began: map[string]string{}, green: map[string]bool{}, left: map[string]string{},
		earlier: map[string]bool{},
	}
	list, err := b.read()
	if err != nil {
		return nil, err
	}
	if err := b.killed(list); err != nil {
		return nil, err
	}
	if o.Conflict != "" && b.fork(o.Tip) == "" {
		return nil, fmt.Errorf("%s conflicts with the branch, and in this clone the agent cannot merge them, because it lacks the commit that they have in common: check out with fetch-depth: 0", o.Base)
	}
	b.list, b.seal = list, b.putBack
	for _, s := range list.Stories {
		b.earlier[s.ID] = s.Status == tasks.NeedsReview || s.Status == tasks.ChangesRequested
	}
	b.compare()
	b.advise()
	b.notes = o.Host.Git(1, "ls-files", "--", b.folder.Path(tasks.NotesPattern)) != ""
	b.progress, _ = b.folder.Read(tasks.ProgressName) // missing: it is written empty
	b.readProgress()
	take := b.folder.Lock
	if !o.Local { // a pid of another container means nothing here, and the workspace is ours alone
		take = b.folder.TakeOver
	}
	if b.lock, err = take(b.marker(tasks.Snapshot{})); err != nil {
		return nil, err
	}
	estimate := list.Estimate(b.rules)
	if estimate.Stories == 0 {
		return b, nil
	}
	o.Host.Say(estimate.String())
	if most := o.MaxIterations; most > 0 && estimate.Likely > most {
		n := fmt.Sprintf("max-iterations is %d, and the task list will likely need %d.", most, estimate.Likely)
		o.Host.Note(n)
		o.Host.Say(n)
	}
	return b, nil
}

// readPrompt keeps what every iteration is told, and what is wanted, as they are
// before the agent could edit them.
func (s *List) readPrompt() error {
	if prd, err := s.folder.Read(tasks.PRDName); err == nil {
		s.prd = prd
	}
	if s.prompt != "" {
		return nil
	}
	text, err := s.folder.Read(tasks.PromptName)
	s.prompt = text
	switch name := s.folder.Path(tasks.PromptName); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; create it with: ralph tasks init, which keeps the other files", err)
	case err == nil && strings.TrimSpace(text) == "":
		return fmt.Errorf("%s is empty: describe in it what an iteration does, or remove it and recreate it with: ralph tasks init", name)
	}
	return err
}

// read is the list as it lies there, which has to be legal.
func (s *List) read() (*tasks.List, error) {
	data, err := s.folder.Tasks()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; create it with: ralph tasks init, which keeps the other files", err)
	}
	if err != nil {
		return nil, err
	}
	list, err := tasks.Read(data)
	var problems []string
	var all *tasks.Problems
	switch {
	case errors.As(err, &all):
		for _, p := range all.List {
			problems = append(problems, p.String())
		}
		if all.More > 0 {
			problems = append(problems, fmt.Sprintf("and %d more problems", all.More))
		}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.folder.Path(tasks.TasksName), err)
	default:
		for _, p := range list.Check(s.rules) {
			problems = append(problems, p.String())
		}
		if err := list.CheckOnly(s.rules); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				problems = append(problems, " "+line)
			}
		}
	}
	for i, p := range problems {
		problems[i] = s.folder.Path(tasks.TasksName) + ":" + p
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	return list, nil
}

// marker is what .ralph-active says.
func (b *Backlog) marker(s tasks.Snapshot) tasks.Marker {
	m := tasks.Marker{
		At: time.Now(), PID: os.Getpid(), MaxIterations: b.o.MaxIterations, Mode: "direct", Snapshot: s,
		Folder: b.folder.Dir(), Commits: tasks.ByAgent,
	}
	if !s.Known() {
		m.Snapshot.Rules = b.rules
	}
	if b.o.Sandboxed {
		m.Mode = "sandbox"
	}
	if b.o.Published && !b.o.AgentCommits {
		m.Commits = tasks.ByRalph
	}
	return m
}

// killed looks at what a loop left behind that was killed: what its last
// iteration wrote was never judged. The marker is not believed; it can only make
// this stricter.
func (b *Backlog) killed(list *tasks.List) error {
	if !b.o.Local {
		return nil // the workspace is new
	}
	data, err := b.folder.Marker()
	if err != nil {
		return nil
	}
	marked, err := tasks.DecodeMarker(data)
	if err != nil || !marked.Snapshot.Known() || marked.PID == os.Getpid() {
		return nil
	}
	var said []string
	for _, p := range marked.Snapshot.Transitions(list) {
		if p.Kind == tasks.Transition {
			said = append(said, b.folder.Path(tasks.TasksName)+": "+p.Text)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return fmt.Errorf("a loop was killed here, and what its agent had written was never judged:\n%s\nfix the listed problems, or delete %s to accept the list as is", strings.Join(said, "\n"), tasks.MarkerName)
}

// advise says what is accepted although it is not right.
func (b *Backlog) advise() {
	for _, p := range tasks.Lint(b.list.Bytes()) {
		if p.Kind == tasks.Unfinished {
			n := b.folder.Path(tasks.TasksName) + ":" + p.String()
			b.o.Host.Warn(n)
		}
	}
	if b.o.Published || b.branch == "" || b.o.Elsewhere {
		return
	}
	if at := strings.TrimSpace(b.o.Host.Git(300, "symbolic-ref", "--quiet", "--short", "HEAD")); at != "" && at != b.branch {
		b.o.Host.Say(fmt.Sprintf("The agent commits on %s; branchName of the task list is %s.", oneLine(at), oneLine(b.branch)))
	}
}

// compare looks for stories that people have added to the base's list since the
// branch began, and for reviews beyond the cap.
func (b *Backlog) compare() {
	there := map[string]bool{}
	most := 0
	for _, s := range b.list.Stories {
		there[s.ID] = true
		if s.Status != tasks.Approved {
			most = max(most, s.ReviewCount)
		}
	}
	var others []string
	for id := range b.asked {
		if !there[id] {
			others = append(others, oneLine(id))
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		b.behind = true
		n := fmt.Sprintf("The base's task list has stories that this branch's list lacks: %s. They are not worked on; merge the base into the branch, or close its pull request.", ralph.Listed(others))
		b.o.Host.Warn(n)
	}
	if b.rules.ReviewCap > 0 && most > b.rules.ReviewCap {
		b.o.Host.Note(fmt.Sprintf("review-cap %d is below the %d reviews that a story has had already; %d is used.", b.rules.ReviewCap, most, most))
		b.rules.ReviewCap = most
	}
}
