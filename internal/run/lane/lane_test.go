package lane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	base   = "1111111111111111111111111111111111111111"
	commit = "2222222222222222222222222222222222222222"
)

var (
	key    = fanout.LaneKey{Wave: 1, Lane: "L001", Plan: "0123456789ab"}
	digest = strings.Repeat("ab", 32)
)

func options(t *testing.T) Options {
	return Options{Key: key, Attempt: "2", Base: base, Digest: digest, Stories: []string{"A", "B"}, Dir: t.TempDir(), Mask: func(s string) string { return s }}
}

// What earlier attempts cost counts, what an iteration costs counts once, and each story has
// its own.
func TestCosts(t *testing.T) {
	t.Parallel()
	o := options(t)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := New(o, &fanout.Result{
		Sequence: 4, Started: began, Cost: fanout.Cost{MicroUSD: 10}, Stories: []fanout.Done{{ID: "A", Commit: commit, State: "approved", Iterations: 2, Cost: fanout.Cost{MicroUSD: 7}}, {ID: "B", Iterations: 1, Cost: fanout.Cost{MicroUSD: 3}, Started: began}},
	})
	if l.Spent() != 10 || (*Lane)(nil).Spent() != 0 {
		t.Errorf("Spent() = %d, want 10", l.Spent())
	}
	if done, of := l.Count(); done != 1 || of != 2 {
		t.Errorf("Count() = %d of %d, want 1 of 2", done, of)
	}
	step := ralph.Step{Mode: ralph.StepImplement, Story: "B"}
	it := ralph.Iteration{Number: 1, Step: step, Turns: []ralph.Turn{{Usage: ralph.Usage{Cost: ralph.Cost{Amount: 100, Estimated: true}}}}}
	l.Event(ralph.Event{Kind: ralph.EventIterationStart, At: time.Now(), Step: step})
	l.Event(ralph.Event{Kind: ralph.EventText, Text: "I work"})
	l.hand = it.Usage().Cost
	result := func() *fanout.Result {
		t.Helper()
		l.at = o.Base // there is no branch to bundle
		if err := l.write(ralph.MaxIterations, "why"); err != nil {
			t.Fatal(err)
		}
		dir, arrived := l.Handed()
		data, err := os.ReadFile(filepath.Join(dir, fanout.ResultName))
		if err != nil || arrived {
			t.Fatal(err, arrived)
		}
		r := &fanout.Result{}
		if err := json.Unmarshal(data, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := result(); r.Cost != (fanout.Cost{MicroUSD: 110, Estimated: true}) || r.Sequence != 5 || !r.Started.Equal(began) {
		t.Errorf("while the iteration goes on: %+v, want $0.000110 and the fifth", r)
	}
	l.Event(ralph.Event{Kind: ralph.EventIterationEnd, At: time.Now(), Record: &it})
	r := result()
	if r.Cost != (fanout.Cost{MicroUSD: 110, Estimated: true}) || r.Stories[0].Cost.MicroUSD != 7 || r.Stories[1].Cost != (fanout.Cost{MicroUSD: 103, Estimated: true}) || r.Stories[1].Iterations != 2 || !r.Stories[1].Started.Equal(began) {
		t.Errorf("after it: %+v", r)
	}
	if len(r.Stories[1].Transcript) != 64 {
		t.Errorf("the digest of the transcript is %q", r.Stories[1].Transcript)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) != 1 || left[0].Name() != "ralph-lane-w1-L001-0123456789ab-2-6" {
		t.Errorf("%v are left, want the last result alone", left)
	}
}

// Of what lies in a directory, the newest of the lane comes first; the rest is named.
func TestAttempts(t *testing.T) {
	t.Parallel()
	o, dir := options(t), t.TempDir()
	put := func(name string, change func(*fanout.Result)) {
		t.Helper()
		r := &fanout.Result{Version: 1, Key: key.String(), Base: base, Digest: digest, Sequence: 1, Stories: []fanout.Done{{ID: "A"}, {ID: "B"}}}
		change(r)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, fanout.ResultName), r.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a", func(r *fanout.Result) { r.Sequence = 9 })
	put("b", func(r *fanout.Result) { r.Sequence = 10 })
	put("c", func(r *fanout.Result) { r.Sequence, r.Ended = 9, time.Now() })
	put("d-base", func(r *fanout.Result) { r.Base = commit })
	put("e-digest", func(r *fanout.Result) { r.Digest = strings.Repeat("00", 32) })
	put("f-stories", func(r *fanout.Result) { r.Stories = r.Stories[:1] })
	put("g-version", func(r *fanout.Result) { r.Version = 2 })
	put("h-other", func(r *fanout.Result) { r.Key = "w1-L002-0123456789ab" })
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "i-link"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "i-link", fanout.ResultName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, notes, err := attempts(root, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range found {
		names = append(names, a.folder)
	}
	if want := []string{"b", "c", "a"}; !slices.Equal(names, want) {
		t.Errorf("found %q, want %q", names, want)
	}
	for _, want := range []string{
		`"d-base" of lanes is not gone on from: it began at 222222222222, and 111111111111 is checked out`,
		`"e-digest" of lanes is not gone on from: it worked on another task list`, `"f-stories" of lanes is not gone on from: it worked on other stories`,
		`"g-version" of lanes is not gone on from: `, `"i-link" of lanes is not gone on from: `, `1 artifacts in lanes are of other lanes`,
	} {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("notes = %q, want %q", notes, want)
		}
	}
	if len(notes) != 6 {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
}
