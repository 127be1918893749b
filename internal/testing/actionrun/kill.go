package actionrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// Scenario is a run on a forge of its own, made anew each time.
type Scenario struct {
	Name string
	Make func(testing.TB) Action
	// State is what must be the same whether the run was killed or not. It is
	// compared with ==. Nil: State of the whole repository.
	State func(*fakegithub.Repository) string
	// True looks at what must be so in the end in any case; nil: nothing more.
	True func(testing.TB, *fakegithub.Repository)
}

// Moment is when a run is killed: at a write, before it takes effect or after.
type Moment struct {
	Write int // from 0
	After bool
}

// runTime bounds one run of a scenario.
const runTime = 2 * time.Minute

// KillAtEveryStep runs the scenario once undisturbed, then kills it at each write
// for which pick is true, once before the write takes effect and once after, runs
// it again in a fresh checkout, and wants the same in the end.
func KillAtEveryStep(t *testing.T, s Scenario, pick func(Moment) bool) {
	t.Helper()
	state := s.State
	if state == nil {
		state = State
	}
	s.killAll(t, state, pick, func(t *testing.T, a Action, at Moment) {
		s.kill(t, a, t.TempDir(), at)
		a.RunID = max(a.RunID, 1) + 1
		s.run(t, a, t.TempDir())
	})
}

// Again is how a killed run is run again in the same workspace.
type Again struct {
	Name     string
	Checkout bool // actions/checkout ran again meanwhile, with clean: false
	Theirs   bool // other people's uncommitted files lie there, from before the first run and from after it
}

// WaysOn are the ways to go on.
func WaysOn() []Again {
	return []Again{{Name: "as it is"}, {Name: "checked out again", Checkout: true}, {Name: "beside others' files", Theirs: true}, {Name: "beside others' files, checked out again", Checkout: true, Theirs: true}}
}

// KillAndGoOn is KillAtEveryStep for a run that goes on in the workspace of the one
// that was killed. Nothing of it is missing in the end, and what other people have
// left there uncommitted is neither published nor changed. The commits may be other
// ones: what the killed run left uncommitted is in the first of the next.
func KillAndGoOn(t *testing.T, s Scenario, again Again, pick func(Moment) bool) {
	t.Helper()
	s.killAll(t, StateOfFiles, pick, s.goOn(again))
}

// KillAndGoOnEachWay is KillAndGoOn in all of WaysOn, with one undisturbed run to compare
// with.
func KillAndGoOnEachWay(t *testing.T, s Scenario, pick func(way int, m Moment) bool) {
	t.Helper()
	want, writes := s.undisturbed(t, StateOfFiles)
	for i, again := range WaysOn() {
		t.Run(again.Name, func(t *testing.T) {
			t.Parallel()
			s.killEach(t, StateOfFiles, want, writes, func(m Moment) bool { return pick(i, m) }, s.goOn(again))
		})
	}
}

// goOn kills a run and goes on in its workspace.
func (s Scenario) goOn(again Again) func(*testing.T, Action, Moment) {
	return func(t *testing.T, a Action, at Moment) {
		dir := t.TempDir()
		theirs := map[string]string{}
		if again.Theirs {
			if err := a.Checkout(dir); err != nil {
				t.Fatal(err)
			}
			theirs["theirs.txt"] = "before\n"
			if !again.Checkout { // which puts back what is tracked
				theirs["README.md"] = "hello\nnot yet\n"
			}
			put(t, Workspace(dir), theirs)
		}
		s.kill(t, a, dir, at)
		if again.Checkout {
			if err := a.Checkout(dir); err != nil {
				t.Fatal(err)
			}
		}
		if again.Theirs {
			aliveNoMore(t, dir)
			theirs["later.txt"] = "after\n"
			put(t, Workspace(dir), map[string]string{"later.txt": "after\n"})
		}
		a.RunID = max(a.RunID, 1) + 1
		s.run(t, a, dir)
		for name, want := range theirs {
			if got, err := os.ReadFile(filepath.Join(Workspace(dir), name)); err != nil || string(got) != want {
				t.Errorf("%s = %q, %v, want it as others left it", name, got, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(Workspace(dir), ".git", "ralph-run")); err == nil {
			t.Errorf("the record of the run is left after its end")
		}
	}
}

// KillAndPost is KillAtEveryStep with the step after the killed one, as a runner starts it:
// whatever the killed run left is on the branch then, no pull request is ready or complete
// because of it, and a second such step changes nothing. Only root, or the step's folder on
// the runner itself, keeps the record from the agent. The next run leaves the title of a pull
// request as it is, so that is not compared.
func KillAndPost(t *testing.T, s Scenario, pick func(Moment) bool) {
	t.Helper()
	s.killAll(t, untitled, pick, func(t *testing.T, a Action, at Moment) {
		dir := t.TempDir()
		if err := errors.Join(a.Checkout(dir), giveToUser(dir)); err != nil {
			t.Fatal(err)
		}
		ended := s.kill(t, a, dir, at)
		before, ready := State(a.Repo), readyPulls(a.Repo)
		after := a
		after.Post = true
		s.run(t, after, dir)
		branch := a.Inputs["branch"]
		for _, name := range []string{"one", "two"} {
			_, err := os.Lstat(filepath.Join(Workspace(dir), name))
			if err == nil && !has(a.Repo, branch, name) {
				t.Errorf("the workspace has %s, and the branch has not", name)
			}
		}
		done := State(a.Repo)
		if ended && done != before {
			t.Errorf("after a run that ended by itself:\n%s\nwant, as before:\n%s", done, before)
		}
		if judged := has(a.Repo, branch, "two"); !judged && (readyPulls(a.Repo) > ready || strings.Contains(done, "complete true")) {
			t.Errorf("something is called ready or complete that is not:\n%s", done)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "temp", "*")); len(left) > 0 {
			t.Errorf("after the step, %q are left", left)
		}
		after.Host = "" // whose folder is gone, and which starts once
		s.run(t, after, dir)
		if again := State(a.Repo); again != done {
			t.Errorf("after the same step again:\n%s\nwant, as before:\n%s", again, done)
		}
		a.RunID = max(a.RunID, 1) + 1
		s.run(t, a, t.TempDir())
	})
}

func has(r *fakegithub.Repository, branch, name string) bool {
	return r.Branch(branch) != "" && slices.ContainsFunc(r.Files(branch), func(f string) bool { return strings.HasSuffix(f, " "+name) })
}

func readyPulls(r *fakegithub.Repository) int {
	return len(slices.DeleteFunc(r.Pulls(), func(p fakegithub.PullRequest) bool { return p.Draft }))
}

const runnerUser = 1001

// giveToUser gives what is below a folder to the runner's user, who can get there.
func giveToUser(dir string) error {
	for up := dir; up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, root.Lchown(path, runnerUser, runnerUser))
	})
}

// aliveNoMore waits until a run that was killed at work may not have been alive any more
// by its own record: what others put there before counts as the run's.
func aliveNoMore(t *testing.T, dir string) {
	t.Helper()
	const slack = 1100 * time.Millisecond
	if info, err := os.Stat(filepath.Join(Workspace(dir), ".git", "ralph-run")); err == nil {
		time.Sleep(time.Until(info.ModTime().Add(slack)))
	}
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// killAll runs the scenario once undisturbed, and then for each picked moment what
// disturbed does, and wants the same state in the end.
func (s Scenario) killAll(t *testing.T, state func(*fakegithub.Repository) string, pick func(Moment) bool, disturbed func(*testing.T, Action, Moment)) {
	t.Helper()
	want, writes := s.undisturbed(t, state)
	s.killEach(t, state, want, writes, pick, disturbed)
}

// undisturbed runs the scenario without a kill, and returns the state it leaves and what it
// writes.
func (s Scenario) undisturbed(t *testing.T, state func(*fakegithub.Repository) string) (want string, writes []string) {
	t.Helper()
	clean := s.Make(t)
	clean.Repo.Forge().Reset()
	var mu sync.Mutex
	clean.Repo.Forge().Before(func(r *http.Request) {
		if fakegithub.IsWrite(r) {
			mu.Lock()
			writes = append(writes, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v3"))
			mu.Unlock()
		}
	})
	s.run(t, clean, t.TempDir())
	clean.Repo.Forge().Before(nil)
	want = state(clean.Repo)
	if s.True != nil {
		s.True(t, clean.Repo)
	}
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("%d writes: %s", len(writes), strings.Join(writes, ", "))
	return want, writes
}

// killEach does for each picked moment what disturbed does, and wants the same state in the
// end.
func (s Scenario) killEach(t *testing.T, state func(*fakegithub.Repository) string, want string, writes []string, pick func(Moment) bool, disturbed func(*testing.T, Action, Moment)) {
	t.Helper()
	for i, write := range writes {
		for _, after := range []bool{false, true} {
			moment := Moment{i, after}
			if !pick(moment) {
				continue
			}
			name := fmt.Sprintf("%02d before %s", i+1, strings.ReplaceAll(write, "/", ":"))
			if after {
				name = strings.Replace(name, "before", "after", 1)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := s.Make(t)
				disturbed(t, a, moment)
				if got := state(a.Repo); got != want {
					t.Errorf("after the kill and another run:\n%s\nwant, as without the kill:\n%s", got, want)
				}
				if s.True != nil {
					s.True(t, a.Repo)
				}
			})
		}
	}
}

func (s Scenario) run(t *testing.T, a Action, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	res, err := a.Run(ctx, dir)
	if err != nil || res.Code != 0 {
		t.Errorf("run %d: exit code %d, %v\n%s", a.RunID, res.Code, err, res.Log)
	}
}

// kill starts a run below dir and ends it at the moment; true if it ended before.
func (s Scenario) kill(t *testing.T, a Action, dir string, at Moment) (ended bool) {
	t.Helper()
	f := a.Repo.Forge()
	var running *Running
	ready := make(chan struct{})
	var mu sync.Mutex
	var target *http.Request
	n := 0
	end := func() {
		<-ready
		running.Kill()
		panic(http.ErrAbortHandler)
	}
	f.Before(func(r *http.Request) {
		if !fakegithub.IsWrite(r) {
			return
		}
		mu.Lock()
		hit := n == at.Write
		n++
		if hit {
			target = r
		}
		mu.Unlock()
		if hit && !at.After {
			end()
		}
	})
	f.After(func(r *http.Request) {
		mu.Lock()
		hit := r == target
		mu.Unlock()
		if hit {
			end()
		}
	})
	var err error
	running, err = a.Start(dir)
	close(ready)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	res, err := running.Wait(ctx)
	f.Before(nil)
	f.After(nil)
	mu.Lock()
	short := n <= at.Write
	mu.Unlock()
	if err == nil && res.Code == 0 && short { // an update beside the run came too late for it
		t.Logf("the run ended after %d writes, before the moment", n)
		return true
	}
	if err != nil || res.Code != -1 {
		t.Fatalf("the run to be killed: exit code %d, %v\n%s", res.Code, err, res.Log)
	}
	return false
}

// State is a text of all that people see: branches with their files and the
// subjects of their commits, pull requests, comments. The description of a pull
// request is told by whether it says that the work is complete, because it
// names runs and times.
func State(r *fakegithub.Repository) string {
	var b strings.Builder
	for _, branch := range r.Branches() {
		fmt.Fprintf(&b, "branch %s: tree %s, files %q\n", branch, r.Tree(branch), r.Files(branch))
		if branch == r.DefaultBranch {
			continue
		}
		for _, c := range slices.Backward(r.Log(r.DefaultBranch, branch)) {
			fmt.Fprintf(&b, "  %s | %s\n", c.Subject, c.Author)
		}
	}
	for _, p := range r.Pulls() {
		fmt.Fprintf(&b, "#%d %s by %s, %s -> %s, %s, draft %v, labels %v, assignees %v, reviewers %v, teams %v, milestone %d, auto-merge %q, complete %v\n",
			p.Number, p.Title, p.Author, p.Head, p.Base, p.State, p.Draft, sorted(p.Labels), sorted(p.Assignees), sorted(p.Reviewers), sorted(p.Teams),
			p.Milestone, p.AutoMerge, strings.Contains(p.Body, "Completed"))
	}
	for i := range r.Issues() {
		for _, c := range r.Comments(i + 1) {
			fmt.Fprintf(&b, "comment of %s on #%d, complete %v\n", c.Author, i+1, strings.Contains(c.Body, "Completed"))
		}
	}
	return b.String()
}

// StateOfFiles is State without the commits.
func StateOfFiles(r *fakegithub.Repository) string {
	lines := slices.DeleteFunc(strings.SplitAfter(State(r), "\n"), func(line string) bool { return strings.HasPrefix(line, "  ") })
	return strings.Join(lines, "")
}

// untitled is StateOfFiles without the titles of pull requests.
func untitled(r *fakegithub.Repository) string { return title.ReplaceAllString(StateOfFiles(r), "$1") }

var title = regexp.MustCompile(`(?m)^(#\d+) .* by `)

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
