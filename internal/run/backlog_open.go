package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/tasks"
)

// readTaskList looks at the task list before anything else is done: its branch is
// that of the run, its commands are guardrails, and neither is the agent's to
// change later.
func (p *plan) readTaskList() error {
	if p.cfg.Mode != config.ModeTasks {
		return nil
	}
	folder, err := tasks.OpenFolder(p.Workspace, p.cfg.RalphDir)
	if err != nil {
		return invalid(err)
	}
	p.undo.afterwards(func() { _ = folder.Close() })
	s := &storyList{
		folder: folder, prompt: p.cfg.Prompt,
		rules: tasks.Rules{ReviewCap: p.cfg.ReviewCap, SkipReview: p.cfg.SkipReview, Only: p.cfg.Story},
	}
	p.undo.atEnd(func() { // when every child is gone
		if s.seal != nil {
			s.seal()
		}
	})
	list, err := s.read()
	wrong := s.readPrompt()
	switch {
	case err == nil || wrong != nil && err.Error() == wrong.Error(): // the folder is missing: said once
		err = wrong
	default:
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return invalid(err)
	}
	if s.branch = list.BranchName; s.branch != "" {
		if err := ralph.CheckBranch(s.branch); err != nil {
			return invalid(fmt.Errorf("%s: branchName: %w", folder.Path(tasks.TasksName), err))
		}
	}
	p.checks = slices.Clone(p.checks)
	for _, command := range list.VerifyCommands {
		known := slices.ContainsFunc(p.checks, func(g config.Guardrail) bool { return g.Command == command })
		if !known && strings.TrimSpace(command) != "" {
			p.checks = append(p.checks, config.Guardrail{
				Command: command, FailAction: ralph.Append, Timeout: p.cfg.GuardrailTimeout, When: config.Always,
			})
		}
	}
	s.asked = make(map[string]tasks.Story, len(list.Stories))
	for _, story := range list.Stories {
		s.asked[story.ID] = story
	}
	p.rec.report.Task = cmp.Or(list.Description, list.Project)
	if one, known := s.asked[p.cfg.Story]; known { // parallel jobs are told apart by it
		p.rec.report.Task = one.ID + ": " + cmp.Or(one.Title, p.rec.report.Task)
	}
	p.stories = s
	return nil
}

// readPrompt keeps what every iteration is told, and what is wanted, as they are
// before the agent could edit them.
func (s *storyList) readPrompt() error {
	if prd, err := s.folder.PRD(); err == nil {
		s.prd = prd
	}
	if s.prompt != "" {
		return nil
	}
	text, err := s.folder.Prompt()
	s.prompt = text
	switch name := s.folder.Path(tasks.PromptName); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; make it with: ralph tasks init, which leaves the others as they are", err)
	case err == nil && strings.TrimSpace(text) == "":
		return fmt.Errorf("%s is empty: say in it what an iteration does, or remove it and make it anew with: ralph tasks init", name)
	}
	return err
}

// read is the list as it lies there, which has to be legal.
func (s *storyList) read() (*tasks.List, error) {
	data, err := s.folder.Tasks()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; make it with: ralph tasks init, which leaves the others as they are", err)
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
			problems = append(problems, " "+err.Error())
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

// openTaskList takes the task list of the branch that is checked out now for this
// run alone.
func (w *work) openTaskList() error {
	if w.stories == nil {
		return nil
	}
	b := &backlog{
		storyList: w.stories, at: w.branch, emit: w.emit,
		worked: map[string]int{}, began: map[string]string{}, green: map[string]bool{}, left: map[string]string{}, forgeable: map[string]bool{},
	}
	list, err := b.read()
	if err != nil {
		return invalid(err)
	}
	if err := b.killed(list); err != nil {
		return invalid(err)
	}
	b.list, b.seal, w.backlog = list, b.putBack, b
	b.compare()
	b.advise()
	take := b.folder.Lock
	if !w.local() { // a pid of another container means nothing here, and the workspace is ours alone
		take = b.folder.TakeOver
	}
	if b.lock, err = take(b.marker(tasks.Snapshot{})); err != nil {
		return invalid(err)
	}
	w.undo.atEnd(func() {
		if err := b.lock.Clear(); err != nil {
			w.rec.out.Warn(err.Error())
		}
	})
	estimate := list.Estimate(b.rules)
	if estimate.Stories == 0 {
		return nil
	}
	w.rec.out.Say(estimate.String()) // 003-34
	if most := w.cfg.MaxIterations; most > 0 && estimate.Likely > most {
		n := fmt.Sprintf("max-iterations is %d, and the task list will likely need %d.", most, estimate.Likely)
		w.rec.tell(n)
	}
	return nil
}

// marker is what .ralph-active says. 003-07
func (b *backlog) marker(s tasks.Snapshot) tasks.Marker {
	m := tasks.Marker{
		At: time.Now(), PID: os.Getpid(), MaxIterations: b.at.cfg.MaxIterations, Mode: "direct", Snapshot: s,
		Folder: b.folder.Dir(), Commits: tasks.ByAgent,
	}
	if !s.Known() {
		m.Snapshot.Rules = b.rules
	}
	if b.at.box != nil || b.at.isolation != config.IsolationOff {
		m.Mode = "sandbox"
	}
	if b.at.publishes() && b.at.cfg.Commit != config.CommitAgent {
		m.Commits = tasks.ByRalph
	}
	return m
}

// killed looks at what a loop left behind that was killed: what its last
// iteration wrote was never judged. The marker is not believed; it can only make
// this stricter.
func (b *backlog) killed(list *tasks.List) error {
	if !b.at.local() {
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
	return fmt.Errorf("a loop was killed here, and what its agent had written was never judged:\n%s\nput that right, or remove %s to take it as it is", strings.Join(said, "\n"), tasks.MarkerName)
}

// advise says what is accepted although it is not right.
func (b *backlog) advise() {
	for _, p := range tasks.Lint(b.list.Bytes()) {
		if p.Kind == tasks.Unfinished {
			n := b.folder.Path(tasks.TasksName) + ":" + p.String()
			b.at.rec.warn(n)
		}
	}
	if b.at.publishes() || b.branch == "" || b.at.box != nil {
		return
	}
	if at := strings.TrimSpace(b.at.gitText(300, "symbolic-ref", "--quiet", "--short", "HEAD")); at != "" && at != b.branch {
		b.at.rec.out.Say(fmt.Sprintf("The agent commits on %s; branchName of the task list is %s.", oneLine(at), oneLine(b.branch)))
	}
}

// compare looks for stories that people have added to the base's list since the
// branch began, and for reviews beyond the cap.
func (b *backlog) compare() {
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
		n := fmt.Sprintf("The task list of the base has stories that the one of this branch has not: %s. They are not worked on; merge the base into the branch, or close its pull request.", listed(others))
		b.at.rec.warn(n)
	}
	if b.rules.ReviewCap > 0 && most > b.rules.ReviewCap {
		b.at.rec.note(fmt.Sprintf("review-cap %d is below the %d reviews that a story has had already; %d is used.", b.rules.ReviewCap, most, most))
		b.rules.ReviewCap = most
	}
}

// ignoreMarker has git ignore the marker in this clone, as 'ralph tasks init' has
// it in the project: an agent that commits everything would commit it.
func (s *sandboxed) ignoreMarker(ctx context.Context) {
	if s.stories == nil || s.box != nil || repo.IsRepository(s.dir()) != nil {
		return
	}
	const script = `git check-ignore -q "$1" && exit
f=$(git rev-parse --git-path info/exclude) && mkdir -p "${f%/*}" && echo "/$1" >> "$f"`
	_, _ = s.children.Run(ctx, proc.Command{
		Argv: []string{"sh", "-c", script, "sh", tasks.MarkerName}, Dir: s.dir(), Env: append(s.guestEnv(nil), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"),
		Limits: proc.Limits{Grace: killGrace, Time: gitLeast},
	}) // when it cannot be ignored, it is left out of what we publish all the same
}
