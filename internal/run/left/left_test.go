package left

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/run/rundir"
)

// A step whose container goes on is waited for, and not for ever.
func TestAwaitEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := rundir.Open(dir, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	release, err := files.Lock()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := awaitEnd(t.Context(), dir, MainWait); err == nil || !strings.Contains(err.Error(), "still at work") {
			t.Errorf("awaitEnd() = %v, want that somebody works there", err)
		}
		if took := time.Since(began); took != MainWait {
			t.Errorf("awaitEnd() took %s, want %s", took, MainWait)
		}
		began = time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			release()
		}()
		if err := awaitEnd(t.Context(), dir, MainWait); err != nil || time.Since(began) > 6*time.Second {
			t.Errorf("awaitEnd() = %v after %s, want nil soon after the end", err, time.Since(began))
		}
	})
}

// The note of a record is the step's own or nobody's, and holds what it was given.
func TestLeftBy(t *testing.T) {
	t.Parallel()
	l := Left{Step: "octo/work 7 1 job ralph", Files: map[string][]byte{"there": []byte("x"), "empty": {}, "missing": nil}}
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	for n := range 2 {
		l.Ended(ralph.Iteration{Number: n + 1, Turns: []ralph.Turn{{FinalText: "a secret"}}}, mask)
	}
	note := l.Note()
	if strings.Contains(string(note), "secret") {
		t.Errorf("the note is not masked: %s", note)
	}
	found := &killed.Run{Record: killed.Record{Note: note}}
	got := By(found, l.Step)
	if got == nil || len(got.Report.Iterations) != 2 || got.Files["empty"] == nil || got.Files["missing"] != nil || string(got.Files["there"]) != "x" {
		t.Errorf("By() = %+v, want what was left", got)
	}
	for name, step := range map[string]string{"another": "octo/work 7 1 job other", "none": ""} {
		if got := By(found, step); got != nil {
			t.Errorf("%s step: By() = %+v, want nil", name, got)
		}
	}
	for name, note := range map[string]json.RawMessage{"none": nil, "null": json.RawMessage("null"), "another type": json.RawMessage("[1]")} {
		if got := By(&killed.Run{Record: killed.Record{Note: note}}, l.Step); got != nil {
			t.Errorf("note %s: By() = %+v, want nil", name, got)
		}
	}
	big := Left{Step: l.Step}
	big.Ended(ralph.Iteration{Turns: []ralph.Turn{{FinalText: strings.Repeat("x", maxNote)}}}, mask)
	if got := By(&killed.Run{Record: killed.Record{Note: slices.Clone(big.Note())}}, l.Step); got == nil || len(got.Report.Iterations) > 0 {
		t.Errorf("By() = %v for a note that is too large, want it without the iterations", got != nil)
	}
}
