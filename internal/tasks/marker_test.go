package tasks_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

func decode(t testing.TB, m tasks.Marker) tasks.Marked {
	t.Helper()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	marked, err := tasks.DecodeMarker(data)
	if err != nil {
		t.Fatalf("DecodeMarker: %v\n%s", err, data)
	}
	return marked
}

// What a loop wrote comes back, and the checks of the stop hook are the loop's;
// only what feedback became is not seen. 003-07, 003-17, 003-19 to 003-22
func TestDecodeMarker(t *testing.T) {
	t.Parallel()
	rules := tasks.Rules{ReviewCap: 3, Only: []string{"A"}}
	s := tasks.Take(read(t, file(story("A", waiting), story("B", rejected), story("<é>", approved))), rules)
	m := decode(t, tasks.Marker{At: noon, PID: 42, Folder: "work/ralph", Commits: tasks.ByRalph, Snapshot: s})
	if m.PID != 42 || m.Folder != "work/ralph" || m.Commits != "ralph" || m.Partial || !m.Snapshot.Known() || m.Snapshot.Mode != tasks.Review || !reflect.DeepEqual(m.Snapshot.Rules, rules) {
		t.Errorf("DecodeMarker = %+v", m)
	}
	if m.Snapshot.List() != nil || m.Snapshot.Story.ID != "" {
		t.Error("a marker told more than it says")
	}
	for _, c := range []struct {
		name          string
		before, after []string
		weaker        bool // the loop sees more
	}{
		{"implement: legal", []string{story("A", open)}, []string{story("A", waiting)}, false},
		{"implement: approves", []string{story("A", open)}, []string{story("A", approved)}, false},
		{"implement: a new story that passes", []string{story("A", open)}, []string{story("A", open), story("B", approved)}, false},
		{"implement: a new story with the mark", []string{story("A", open)}, []string{story("A", open), story("B", `false null 0 "[AUTO-APPROVED AT CAP]"`)}, false},
		{"implement: removed", []string{story("A", open), story("B", open)}, []string{story("A", open)}, false},
		{"implement: the feedback of another", []string{story("A", open)}, []string{story("A", `false null 0 "x"`)}, true},
		{"implement: not JSON", []string{story("A", open)}, []string{"{"}, false},
		{"review: approves", []string{story("A", waiting)}, []string{story("A", approved)}, false},
		{"review: does not count", []string{story("A", waiting)}, []string{story("A", `true "approved" 0 ""`)}, false},
		{"review: no feedback", []string{story("A", waiting)}, []string{story("A", `false "changes_requested" 1 ""`)}, false},
		{"review: nothing", []string{story("A", waiting)}, []string{story("A", waiting)}, false},
		{"review-fix: legal", []string{story("A", rejected)}, []string{story("A", `false "needs_review" 1 ""`)}, false},
		{"review-fix: approves", []string{story("A", rejected)}, []string{story("A", `true "approved" 1 "fix it"`)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			full := snapshot(t, reviewed, c.before...)
			brief := decode(t, tasks.Marker{At: noon, Snapshot: full}).Snapshot
			_, want := full.Verify([]byte(file(c.after...)))
			_, got := brief.Verify([]byte(file(c.after...)))
			if c.weaker {
				if len(want) == 0 || len(got) > 0 {
					t.Errorf("the loop says %q, the hook %q", texts(want), texts(got))
				}
				return
			}
			same(t, "problems", texts(got), texts(want))
			if r := brief.Repair([]byte(file(c.after...))); r.Changed || r.Whole || len(r.Problems) != len(got) {
				t.Errorf("the marker's snapshot repaired something: %+v", r)
			}
		})
	}
	// Feedback that a fix left is seen, whatever it was before.
	brief := decode(t, tasks.Marker{At: noon, Snapshot: snapshot(t, reviewed, story("A", rejected))}).Snapshot
	_, got := brief.Verify([]byte(file(story("A", `false "needs_review" 1 "fix it"`))))
	same(t, "problems", texts(got), []string{fixText("A", `reviewFeedback what was requested → "fix it"`) + ` A review-fix sets reviewFeedback to "".`})
	if r := brief.Restore(fmt.Errorf("gone")); r.Changed || r.List != nil || len(r.Problems) != 1 {
		t.Errorf("Restore = %+v", r)
	}
}

// 003-23: without snapshot or mode, schema and invariants are left. With
// reviews skipped nothing is. 003-12
func TestPartialMarker(t *testing.T) {
	t.Parallel()
	bad := []byte(file(story("A", `true null 0 ""`)))
	for _, text := range []string{`{}`, `{"pid": 7, "reviewCap": 5}`, `{"iterationMode": "review"}`, `{"preIterationSnapshot": {}}`,
		`{"preIterationSnapshot": {"A": {"passes": true, "reviewStatus": null, "reviewCount": 0}}}`} {
		m, err := tasks.DecodeMarker([]byte(text))
		if err != nil || !m.Partial || m.Snapshot.Known() {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
		_, problems := m.Snapshot.Verify(bad)
		same(t, "problems of "+text, texts(problems), []string{invariantText("A", "null")})
		if _, problems := m.Snapshot.Verify([]byte(file(story("A", approved)))); len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
	// Between two iterations there is nothing to compare with: it is rewritten
	// before the next.
	if m := decode(t, tasks.Marker{At: noon, Snapshot: tasks.Between(read(t, file(story("A", open))), reviewed)}); !m.Partial || !reflect.DeepEqual(m.Snapshot.Rules, reviewed) {
		t.Errorf("between: %+v", m)
	}
	m := decode(t, tasks.Marker{At: noon, Snapshot: snapshot(t, unreviewed, story("A", open))})
	if _, problems := m.Snapshot.Verify(bad); len(problems) > 0 || m.Partial {
		t.Errorf("reviews skipped: %v", problems)
	}
}

// What no loop wrote is refused, and does not take long.
func TestForgedMarker(t *testing.T) {
	t.Parallel()
	before := func(story string) string {
		return `{"reviewCap": 5, "iterationMode": "implement", "preIterationSnapshot": {` + story + `}}`
	}
	for text, want := range map[string]string{
		"":                         "not valid JSON",
		"\x00\xff":                 "UTF-8",
		"[]":                       "an object is expected",
		`{"pid": "1"}`:             "number of a process",
		`{"pid": 1.5}`:             "number of a process",
		`{"pid": -1}`:              "number of a process",
		`{"pid": 1, "pid": 2}`:     "pid is there twice",
		`{"skipReview": "yes"}`:    "skipReview",
		`{"reviewCap": -1}`:        "reviewCap",
		`{"iterationMode": "x"}`:   "iterationMode",
		`{"commits": "nobody"}`:    "commits",
		`{"stories": "A"}`:         "stories",
		`{"ralphDir": "../x"}`:     "below the project",
		`{"ralphDir": "/etc"}`:     "below the project",
		`{"ralphDir": "a/../.."}`:  "below the project",
		`{"ralphDir": "."}`:        "below the project",
		`{"ralphDir": "a\u0000b"}`: "below the project",
		`{"preIterationSnapshot": null, "iterationMode": "review"}`: "preIterationSnapshot",
		before(`"A": 1`):                 "story A is 1",
		before(`" ": {}`):                "is no id",
		before(`"A": {"passes": false}`): "story A: reviewStatus is missing",
		before(`"A": {"passes": 1, "reviewStatus": null, "reviewCount": 0}`):                                                                     "story A: passes is 1",
		before(`"A": {"passes": true, "reviewStatus": null, "reviewCount": 0}`):                                                                  "contradict",
		before(`"A": {"passes": true, "reviewStatus": "approved", "reviewCount": 9}`):                                                            "contradict",
		before(`"A": {"passes": false, "reviewStatus": "needs_review", "reviewCount": 0}`):                                                       "iterationMode is implement, and the stories of preIterationSnapshot make it review",
		before(`"A": {"passes": false, "reviewStatus": null, "reviewCount": 0}, "A": {"passes": false, "reviewStatus": null, "reviewCount": 0}`): "twice",
		`{"x": "` + strings.Repeat("y", 17<<20) + `"}`:                                                                                           "larger than 16 MiB",
		strings.Repeat("[", 100_000): "nested",
	} {
		if m, err := tasks.DecodeMarker([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 || m.Snapshot.Known() {
			t.Errorf("%.100q: %v, want %s", text, err, want)
		}
	}
	if m, err := tasks.DecodeMarker([]byte(`{"ralphDir": "./a//b/", "unknown": [1]}`)); err != nil || m.Folder != "a/b" {
		t.Errorf("%+v, %v", m, err)
	}
}

// Whatever a marker says, the checks with it end, and what it vouches for is a
// state that a loop could have written.
func FuzzDecodeMarker(f *testing.F) {
	for _, s := range []tasks.Snapshot{
		snapshot(f, reviewed, story("A", open), story("B", approved)), snapshot(f, reviewed, story("A", waiting)),
		snapshot(f, tasks.Rules{ReviewCap: 2, Only: []string{"A"}}, story("A", rejected), story("B", open)), snapshot(f, unreviewed, story("A", open)), {},
	} {
		data, err := tasks.Marker{At: noon, PID: 1, Mode: "direct", Folder: "ralph", Snapshot: s}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	list := []byte(file(story("A", waiting), story("C", approved)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := tasks.DecodeMarker(data)
		if err != nil {
			return
		}
		if m.Partial == m.Snapshot.Known() || strings.HasPrefix(m.Folder, "/") || strings.Contains("/"+m.Folder+"/", "/../") {
			t.Errorf("DecodeMarker(%q) = %+v", data, m)
		}
		if r := m.Snapshot.Repair(list); m.Snapshot.Known() && r.Changed {
			t.Errorf("%q repaired something", data)
		}
		again, err := tasks.Marker{At: noon, PID: m.PID, Folder: m.Folder, Commits: m.Commits, Snapshot: m.Snapshot}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.DecodeMarker(again); err != nil {
			t.Errorf("%q became %q: %v", data, again, err)
		}
	})
}
