package forgetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Scenario is a run on a forge of its own, made anew each time.
type Scenario struct {
	Name string
	Make func(testing.TB) Action
	// State is what must be the same whether the run was killed or not. It is
	// compared with ==. Nil: State of the whole repository.
	State func(*Repository) string
	// True looks at what must be so in the end in any case; nil: nothing more.
	True func(testing.TB, *Repository)
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
	clean := s.Make(t)
	clean.Repo.forge.Reset()
	var writes []string
	var mu sync.Mutex
	clean.Repo.forge.Before(func(r *http.Request) {
		if IsWrite(r) {
			mu.Lock()
			writes = append(writes, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v3"))
			mu.Unlock()
		}
	})
	s.run(t, clean)
	clean.Repo.forge.Before(nil)
	want := state(clean.Repo)
	if s.True != nil {
		s.True(t, clean.Repo)
	}
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("%d writes: %s", len(writes), strings.Join(writes, ", "))
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
				s.kill(t, a, moment)
				a.RunID = max(a.RunID, 1) + 1
				s.run(t, a)
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

func (s Scenario) run(t *testing.T, a Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	res, err := a.Run(ctx, t.TempDir())
	if err != nil || res.Code != 0 {
		t.Errorf("run %d: exit code %d, %v\n%s", a.RunID, res.Code, err, res.Log)
	}
}

// kill starts a run and ends it at the moment.
func (s Scenario) kill(t *testing.T, a Action, at Moment) {
	t.Helper()
	f := a.Repo.forge
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
		if !IsWrite(r) {
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
	running, err = a.Start(t.TempDir())
	close(ready)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	res, err := running.Wait(ctx)
	f.Before(nil)
	f.After(nil)
	if err != nil || res.Code != -1 {
		t.Fatalf("the run to be killed: exit code %d, %v\n%s", res.Code, err, res.Log)
	}
}

// State is a text of all that people see: branches with their files and the
// subjects of their commits, pull requests, comments. The description of a pull
// request is told by whether it says that the work is complete, because it
// names runs and times.
func State(r *Repository) string {
	var b strings.Builder
	for _, branch := range r.Branches() {
		fmt.Fprintf(&b, "branch %s: tree %s\n", branch, r.Tree(branch))
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
	for i := range r.issues {
		for _, c := range r.Comments(i + 1) {
			fmt.Fprintf(&b, "comment of %s on #%d, complete %v\n", c.Author, i+1, strings.Contains(c.Body, "Completed"))
		}
	}
	return b.String()
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
