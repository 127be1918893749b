package tasks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/tasks"
)

// long is a list of 10,000 stories, each depending on the one before; all but
// the last are approved.
func long(more string) string {
	stories := make([]string, 10_000)
	for i := range stories {
		state, depends := approved, ""
		if i > 0 {
			depends = fmt.Sprintf(`"S%d"`, i-1)
		}
		if i == len(stories)-1 {
			state = open
		}
		stories[i] = story(fmt.Sprintf("S%d", i), state, `"description": "`+more+`"`, `"dependsOn": [`+depends+`]`)
	}
	return file(stories...)
}

// 10,000 stories in 5 MB are a task list like any other. The limit is there for
// what grows with the square; BenchmarkTenThousandStories has the times.
func TestManyStories(t *testing.T) {
	t.Parallel()
	text := long(strings.Repeat("x", 200))
	if len(text) < 5_000_000 {
		t.Fatalf("only %d bytes", len(text))
	}
	start := time.Now()
	l := read(t, text)
	if s, ok := l.Next(reviewed); !ok || s.ID != "S9999" {
		t.Errorf("next = %s", s.ID)
	}
	left := []byte(strings.Replace(text, `"passes": false`, `"passes": true`, 1))
	s := tasks.Take(l, reviewed)
	if _, problems := s.Verify(left); len(problems) != 2 {
		t.Errorf("%d problems", len(problems))
	}
	if r := s.Repair(left); r.Whole || string(r.List.Bytes()) != text {
		t.Error("not put back")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %s", d)
	}
}

// Files that are made to take long do not.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	n := 100_000
	if raceDetector {
		n /= 10
	}
	before := file(story("A", open), story("B", open))
	s := tasks.Take(read(t, before), reviewed)
	for name, left := range map[string]string{
		"a key many times":             file(story("A", open, strings.Repeat(`"passes": true,`, 2*n)+`"x": 1`), story("B", open)),
		"many keys, many dependencies": file(story("A", open, manyKeys(n), `"dependsOn": [`+strings.Repeat(`"",`, n)+`""]`), story("B", open)),
		"many states":                  file(story("A", open), story("B", open), strings.TrimSuffix(strings.Repeat(`{"id":"A","passes":true},`, n), ",")),
		"many brackets":                "[" + strings.Repeat("[],", 10*n) + "[]]",
		"long strings":                 file(story("A", open, `"x": "`+strings.Repeat(`\\u0041`, 4*n)+`"`), story(strings.Repeat("B", 5*n), open)),
		"long numbers":                 file(story("A", open, `"priority": `+strings.Repeat("9", 25*n)), story("B", open)),
	} {
		t.Run(name, func(t *testing.T) { // one after the other: together they would take a GB of memory
			start := time.Now()
			r := s.Repair([]byte(left))
			if len(r.Problems) == 0 || len(r.Problems) > 120 || len(r.List.Stories) != 2 {
				t.Errorf("%d problems, %d stories", len(r.Problems), len(r.List.Stories))
			}
			for _, p := range r.Problems {
				if len(p.Text) > 1000 {
					t.Errorf("a problem has %d bytes", len(p.Text))
				}
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("it took %s", d)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// What is done with a list before and after an iteration, and by the stop hook,
// at the size of the largest list that has to work: 10,000 stories in 5 MB. Each
// takes less than 100 ms.
func BenchmarkTenThousandStories(b *testing.B) {
	text := long(strings.Repeat("x", 200))
	l := read(b, text)
	s := tasks.Take(l, reviewed)
	cheat := []byte(strings.Replace(text, `"passes": false`, `"passes": true`, 1))
	marker, err := tasks.Marker{At: noon, Snapshot: s}.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"read", func() { read(b, text) }},
		{"check", func() { l.Check(reviewed) }},
		{"next", func() { l.Next(reviewed) }},
		{"take", func() { tasks.Take(l, reviewed) }},
		{"verify", func() { s.Verify([]byte(text)) }},
		{"repair", func() { s.Repair(cheat) }},
		{"lint", func() { tasks.Lint([]byte(text)) }},
		{"encode marker", func() { _, _ = tasks.Marker{At: noon, Snapshot: s}.Encode() }},
		{"decode marker", func() { _, _ = tasks.DecodeMarker(marker) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.do()
			}
		})
	}
}
