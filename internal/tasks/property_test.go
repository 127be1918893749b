package tasks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// agent writes what comes to its mind: good work, cheating and rubbish.
type agent struct {
	r    *rand.Rand
	made int
}

type object = map[string]any

func (a *agent) pick(all ...any) any { return all[a.r.Intn(len(all))] }

// write is what it leaves of a list.
func (a *agent) write(t *testing.T, before []byte, mode tasks.Mode, id string) []byte {
	doc := unmarshal(t, before).(object)
	stories := doc["userStories"].([]any)
	if a.r.Intn(3) > 0 {
		a.work(stories, mode, id)
	}
	for range a.r.Intn(4) {
		stories = a.cheat(stories)
	}
	doc["userStories"] = stories
	if a.r.Intn(12) == 0 {
		a.rubbish(doc)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", a.pick("", " ", "\t").(string))
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	data := out.Bytes()
	switch a.r.Intn(40) {
	case 0: // killed while it wrote
		return data[:a.r.Intn(len(data))]
	case 1:
		return append(data, data...)
	case 2:
		return bytes.Replace(data, []byte(`"passes"`), []byte(`"passes": true, "passes"`), 1+a.r.Intn(2))
	case 3:
		return bytes.ReplaceAll(data, []byte(`"passes": false`), []byte(`"passes": false, "passes": true`))
	case 4:
		return bytes.ReplaceAll(data, []byte(`"id"`), []byte(`"\u0069d"`))
	case 5:
		data[a.r.Intn(len(data))] = byte(a.r.Intn(256))
	}
	return data
}

// work is what the mode is for, mostly done right.
func (a *agent) work(stories []any, mode tasks.Mode, id string) {
	for _, one := range stories {
		s := one.(object)
		if s["id"] != id {
			continue
		}
		switch mode {
		case tasks.Implement:
			s["reviewStatus"], s["notes"] = "needs_review", a.pick("done", "done", "done", "")
		case tasks.ReviewFix:
			s["reviewStatus"], s["reviewFeedback"] = "needs_review", ""
		case tasks.Review:
			s["reviewCount"] = s["reviewCount"].(float64) + 1
			if a.r.Intn(2) == 0 {
				s["reviewStatus"], s["passes"] = "approved", true
			} else {
				s["reviewStatus"], s["reviewFeedback"] = "changes_requested", "more"
			}
		}
	}
}

func (a *agent) cheat(stories []any) []any {
	if len(stories) == 0 {
		return append(stories, a.fresh())
	}
	i := a.r.Intn(len(stories))
	s, ok := stories[i].(object)
	if !ok {
		return stories
	}
	switch a.r.Intn(13) {
	case 0:
		return slices.Delete(slices.Clone(stories), i, i+1)
	case 1:
		s["id"] = a.id()
	case 2:
		twin := object{}
		for k, v := range s {
			twin[k] = v
		}
		a.state(twin)
		return append(slices.Clone(stories), twin)
	case 3, 4:
		return append(slices.Clone(stories), a.fresh())
	case 5:
		return append(slices.Clone(stories), a.pick(nil, 1, "x", []any{}, object{}))
	case 6:
		a.r.Shuffle(len(stories), func(i, j int) { stories[i], stories[j] = stories[j], stories[i] })
	case 7:
		s[a.pick("id", "title", "passes", "priority", "acceptanceCriteria", "reviewStatus", "reviewCount", "reviewFeedback", "notes", "dependsOn", "x").(string)] =
			a.pick(nil, 1, -1, 1.5, "x", true, []any{}, []any{"A1"}, object{}, "approved")
	case 8:
		delete(s, a.pick("id", "passes", "reviewStatus", "reviewCount", "notes", "reviewFeedback", "acceptanceCriteria").(string))
	case 9:
		s["dependsOn"] = []any{a.id(), a.id()}
	case 10:
		s["passes"], s["reviewStatus"], s["notes"] = true, "approved", "trust me"
	case 11:
		s["passes"], s["reviewStatus"], s["reviewCount"] = true, "approved", a.pick(1, 2, 5, 6, 7)
	default:
		a.state(s)
	}
	return stories
}

func (a *agent) id() string { return fmt.Sprintf("A%d", a.r.Intn(6)) }

func (a *agent) state(s object) {
	s["passes"] = a.pick(true, false)
	s["reviewStatus"] = a.pick(nil, "needs_review", "changes_requested", "approved")
	s["reviewCount"] = a.pick(0, 1, 2, 3)
	s["reviewFeedback"] = a.pick("", "x", tasks.CapMark)
}

func (a *agent) fresh() object {
	a.made++
	s := object{"id": a.pick(a.id(), fmt.Sprintf("N%d", a.made)), "title": "new", "acceptanceCriteria": []any{"x"}, "priority": a.r.Intn(4),
		"passes": false, "reviewStatus": nil, "reviewCount": 0, "reviewFeedback": "", "notes": "n"}
	if a.r.Intn(2) == 0 {
		a.state(s)
	}
	return s
}

func (a *agent) rubbish(doc object) {
	key := a.pick("project", "branchName", "description", "verifyCommands", "userStories").(string)
	if a.r.Intn(2) == 0 {
		delete(doc, key)
		return
	}
	doc[key] = a.pick(nil, 1, "x", []any{}, []any{1}, object{})
}

// No sequence of writes makes a story pass without a legal review; what is put
// back is legal; no story that is not done is lost; and what was legal already
// is not touched. 003-20, 003-21, 003-22
func TestNoWayAroundReview(t *testing.T) {
	t.Parallel()
	sequences := 600
	if testing.Short() || raceDetector {
		sequences = 200
	}
	var legal, mended, whole, passed int
	for seed := range sequences {
		a := &agent{r: rand.New(rand.NewSource(int64(seed)))}
		rules := tasks.Rules{ReviewCap: a.r.Intn(4)}
		l := read(t, file(story("A1", open), story("A2", open, `"dependsOn": ["A1"]`), story("A3", open, `"extra": {"x": [1, 2]}`), story("A4", open)))
		for step := range 12 {
			s := tasks.Take(l, rules)
			left := a.write(t, l.Bytes(), s.Mode, s.Story.ID)
			r := s.Repair(left)
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d, step %d, mode %s, cap %d: %s\nbefore %s\nleft %s\nrepaired %s\nproblems %q", seed, step, s.Mode, rules.ReviewCap,
					fmt.Sprintf(format, args...), l.Bytes(), left, r.List.Bytes(), texts(r.Problems))
			}
			_, before := s.Verify(left)
			_, after := s.Verify(r.List.Bytes())
			for _, p := range after {
				if p.Kind != tasks.Stuck {
					fail("repaired, and still: %s", p.Text)
				}
			}
			if r.Changed && len(before) == 0 || !r.Changed && !bytes.Equal(left, r.List.Bytes()) {
				fail("what was legal was changed")
			}
			if r.Changed && len(r.Problems) == 0 {
				fail("changed without a word")
			}
			oracle(l, r.List, s.Mode, rules, fail)
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

// oracle says in its own words what an iteration may have done.
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
		if !s.Passes {
			fail("%s is lost", id)
		}
	}
}
