package tasks_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// No sequence of writes makes a story pass without a legal review; what is put
// back is legal; no story that is not done is lost; and what was legal already
// is not touched. 003-20, 003-21, 003-22
func TestNoWayAroundReview(t *testing.T) {
	t.Parallel()
	sequences := 300
	switch {
	case testing.Short() || raceDetector:
		sequences = 200
	case everySequence:
		sequences = 1000
	}
	var legal, mended, whole, passed int
	for seed := range sequences {
		a := &agent{r: rand.New(rand.NewSource(int64(seed)))}
		rules := tasks.Rules{ReviewCap: a.r.Intn(4), Only: strings.Fields(a.pick("", "", "A1", "A2", "A4", "A1 A4").(string))}
		l := read(t, file(story("A1", open), story("A2", open, `"dependsOn": ["A1"]`), story("A3", open, `"extra": {"x": [1, 2]}`), story("A4", open)))
		for step := range 12 {
			s := tasks.Take(l, rules)
			left := a.write(t, l.Bytes(), s.Mode, s.Story.ID)
			r := s.Repair(left)
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d, step %d, mode %s, rules %+v: %s\nbefore %s\nleft %s\nrepaired %s\nproblems %q", seed, step, s.Mode, rules,
					fmt.Sprintf(format, args...), l.Bytes(), left, r.List.Bytes(), texts(r.Problems))
			}
			found, before := s.Verify(left)
			if r.Changed && len(before) == 0 || !r.Changed && !bytes.Equal(left, r.List.Bytes()) {
				fail("what was legal was changed")
			}
			after := before
			if r.Changed {
				_, after = s.Verify(r.List.Bytes())
			}
			for _, p := range after {
				if p.Kind != tasks.Stuck {
					fail("repaired, and still: %s", p.Text)
				}
			}
			if r.Changed && len(r.Problems) == 0 {
				fail("changed without a word")
			}
			oracle(l, r.List, s.Mode, rules, fail)
			hook(t, s, left, found, before, fail)
			if a.r.Intn(3) == 0 {
				before, after := r.List, s.Withdraw(r.List, "make test").List
				oracle(l, after, s.Mode, rules, fail)
				for i, story := range after.Stories {
					if story.Passes != before.Stories[i].Passes && (s.Mode != tasks.Review || story.Passes) {
						fail("%s was withdrawn", story.ID)
					}
				}
				r.List = after
			}
			if a.r.Intn(4) == 0 { // a process that was left behind
				between := tasks.Between(r.List, rules)
				left := between.Repair(a.write(t, r.List.Bytes(), s.Mode, s.Story.ID)).List
				oracle(r.List, left, "", rules, fail)
				r.List = left
			}
			switch {
			case r.Whole:
				whole++
			case r.Changed:
				mended++
			default:
				legal++
			}
			l = r.List
		}
		for _, s := range l.Stories {
			if s.Passes {
				passed++
			}
		}
	}
	t.Logf("%d writes were legal, %d mended, %d replaced; %d stories passed", legal, mended, whole, passed)
	if legal == 0 || mended == 0 || whole == 0 || passed == 0 {
		t.Error("the agent is too good, or too bad")
	}
}

// hook says that the stop hook, which has only what a marker tells, finds what
// the loop finds, feedback apart, and nothing else: loop is that, in the list after.
func hook(t *testing.T, s tasks.Snapshot, left []byte, after *tasks.List, loop []tasks.Problem, fail func(string, ...any)) {
	_, hook := decode(t, tasks.Marker{At: noon, Snapshot: s}).Snapshot.Verify(left)
	switch {
	case len(loop) == 0 && len(hook) > 0:
		fail("only the hook says %q", texts(hook))
	case len(hook) > 0 || len(loop) == 0:
		return
	}
	now := map[string]tasks.Story{}
	for _, s := range after.Stories {
		now[s.ID] = s
	}
	moved := map[string]bool{}
	for _, was := range s.List().Stories {
		s := now[was.ID]
		moved[was.ID] = s.Passes != was.Passes || s.Status != was.Status || s.ReviewCount != was.ReviewCount
	}
	for _, p := range loop {
		if moved[p.Story] && !strings.Contains(p.Text, "reviewFeedback") {
			fail("the hook does not say %s", p.Text)
		}
	}
}

// oracle says in its own words what an iteration may have done. The mode "" is
// the time between two of them.
func oracle(before, after *tasks.List, mode tasks.Mode, rules tasks.Rules, fail func(string, ...any)) {
	was := map[string]tasks.Story{}
	for _, s := range before.Stories {
		was[s.ID] = s
	}
	moved := 0
	for _, s := range after.Stories {
		old, known := was[s.ID]
		delete(was, s.ID)
		if s.Passes != (s.Status == tasks.Approved) {
			fail("%s passes = %t with %s", s.ID, s.Passes, s.Status)
		}
		if s.Passes && strings.TrimSpace(s.Notes) == "" {
			fail("%s passes without notes", s.ID)
		}
		if !known && (s.Passes || s.Status != tasks.Open || s.ReviewCount != 0) {
			fail("%s is new and begins in the middle", s.ID)
		}
		if !known || s.Passes == old.Passes && s.Status == old.Status && s.ReviewCount == old.ReviewCount && s.ReviewFeedback == old.ReviewFeedback {
			continue
		}
		moved++
		if len(rules.Only) > 0 && !slices.Contains(rules.Only, s.ID) {
			fail("%s moved, and the work is about %s", s.ID, rules.Only)
		}
		to := fmt.Sprintf("%s: %s to %s", mode, old.Status, s.Status)
		ways := []string{"implement: null to needs_review", "review: needs_review to approved", "review: needs_review to changes_requested",
			"review-fix: changes_requested to needs_review"}
		if !slices.Contains(ways, to) {
			fail("%s went %s", s.ID, to)
		}
		counted := 0
		if mode == tasks.Review {
			counted = 1
		}
		if s.ReviewCount != old.ReviewCount+counted {
			fail("%s: %d reviews became %d", s.ID, old.ReviewCount, s.ReviewCount)
		}
		if s.Status == tasks.ChangesRequested && rules.ReviewCap > 0 && s.ReviewCount >= rules.ReviewCap {
			fail("%s is sent back at the cap", s.ID)
		}
	}
	if moved > 1 {
		fail("%d stories moved", moved)
	}
	for id, s := range was {
		if !s.Passes || mode == "" || len(rules.Only) > 0 {
			fail("%s is lost", id)
		}
	}
}

// Without reviews, too, only the story that the work is about may change.
func TestOnlyWithoutReview(t *testing.T) {
	t.Parallel()
	sequences := 100
	if raceDetector {
		sequences = 30
	}
	passed := 0
	for seed := range sequences {
		a := &agent{r: rand.New(rand.NewSource(int64(seed)))}
		rules := tasks.Rules{SkipReview: true, Only: []string{"A2"}}
		l := read(t, file(story("A1", `true null 0 ""`), story("A2", open), story("A3", open), story("A4", approved)))
		for range 12 {
			s := tasks.Take(l, rules)
			r := s.Repair(a.write(t, l.Bytes(), s.Mode, s.Story.ID))
			now := map[string]tasks.Story{}
			for _, story := range r.List.Stories {
				now[story.ID] = story
			}
			for _, was := range l.Stories {
				s, there := now[was.ID]
				if was.ID != rules.Only[0] && (s.Passes != was.Passes || s.Status != was.Status || s.ReviewCount != was.ReviewCount || s.ReviewFeedback != was.ReviewFeedback) || !there {
					t.Fatalf("seed %d: %+v became %+v", seed, was, s)
				}
				delete(now, was.ID)
			}
			for id, s := range now {
				if s.Passes || s.Status != tasks.Open || s.ReviewCount != 0 {
					t.Fatalf("seed %d: %s is new and begins in the middle", seed, id)
				}
			}
			if l = r.List; l.Done(rules) {
				passed++
			}
		}
	}
	if passed == 0 {
		t.Error("the story never passed")
	}
}
