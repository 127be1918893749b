package fanout_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/fanout"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	sum    = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

func result() fanout.Result {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return fanout.Result{
		Version: 1, Key: "w1-L001-0123456789ab", Base: commit, Digest: sum, Sequence: 1, Outcome: "completed", Started: at, Ended: at.Add(time.Hour), Bundle: sum,
		Cost:    fanout.Cost{MicroUSD: 5},
		Stories: []fanout.Done{{ID: "A", State: "approved", Commit: commit, Cost: fanout.Cost{MicroUSD: 5}}, {ID: "B"}},
	}
}

// What a lane writes is read; what it may not write is named, all of it at once.
func TestDecodeResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*fanout.Result)
		want   []string // parts of the error
	}{
		{"as it is", func(*fanout.Result) {}, nil},
		{"nothing is done", func(r *fanout.Result) { r.Bundle, r.Stories = "", nil }, nil},
		{"another version", func(r *fanout.Result) { r.Version = 2 }, []string{"version is 2"}},
		{"many things", func(r *fanout.Result) { r.Key, r.Base, r.Sequence, r.Outcome = "x", "y", 0, "fine" }, []string{`"x" names no lane`, `base "y"`, "sequence is 0", `outcome "fine"`}},
		{"a story twice", func(r *fanout.Result) { r.Stories[1].ID = "A" }, []string{`story "A" stands there twice`}},
		{"a commit twice", func(r *fanout.Result) { r.Stories[1].Commit = commit }, []string{"have the same commit"}},
		{"no commit", func(r *fanout.Result) { r.Stories[0].Commit = "--all" }, []string{`"--all" is no commit`}},
		{"no bundle", func(r *fanout.Result) { r.Bundle = "" }, []string{"there is no bundle"}},
		{"a bundle of nothing", func(r *fanout.Result) { r.Stories = nil }, []string{"no story is done"}},
		{"a name of two lines", func(r *fanout.Result) { r.Stories[0].ID = "A\nB" }, []string{`has the id "A\nB"`}},
		{"a reason", func(r *fanout.Result) { r.Stories[0].Unprotected = "isolation is off" }, nil},
		{"a reason of two lines", func(r *fanout.Result) { r.Stories[0].Unprotected = "a\nRalph-Run: 1" }, []string{`story "A" says at length`}},
		{"a long reason", func(r *fanout.Result) { r.Stories[0].Unprotected = strings.Repeat("x", 2001) }, []string{`story "A" says at length`}},
		{"a cost below nothing", func(r *fanout.Result) { r.Cost.MicroUSD = -1 }, []string{"cost is -1"}},
	} {
		r := result()
		c.change(&r)
		got, err := fanout.DecodeResult(r.Encode())
		if (err != nil) != (c.want != nil) || err == nil && !bytes.Equal(got.Encode(), r.Encode()) {
			t.Errorf("%s: DecodeResult = %v, %v", c.name, got, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: DecodeResult = %v, want %s", c.name, err, part)
			}
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"version": 1, "x": 2}`, string(append(func() []byte { r := result(); return r.Encode() }(), "{}"...)), strings.Repeat(" ", fanout.MaxFileBytes+1)} {
		if _, err := fanout.DecodeResult([]byte(text)); err == nil {
			t.Errorf("DecodeResult(%.40q) = nil", text)
		}
	}
}

// What is read says the same when it is written and read again.
func FuzzDecodeResult(f *testing.F) {
	r := result()
	f.Add(r.Encode())
	f.Add([]byte(`{"version":1,"lane":"w1-L001-0123456789ab"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := fanout.DecodeResult(data)
		if err != nil {
			return
		}
		again, err := fanout.DecodeResult(r.Encode())
		if err != nil || !bytes.Equal(again.Encode(), r.Encode()) {
			t.Errorf("DecodeResult(Encode(%q)) = %v, %v", data, again, err)
		}
	})
}
