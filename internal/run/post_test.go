package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/config"
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
	left := Left{Step: "octo/work 7 1 job ralph", Files: map[string][]byte{"there": []byte("x"), "empty": {}, "missing": nil}}
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	for n := range 2 {
		left.ended(ralph.Iteration{Number: n + 1, Turns: []ralph.Turn{{FinalText: "a secret"}}}, mask)
	}
	note := left.json()
	if strings.Contains(string(note), "secret") {
		t.Errorf("the note is not masked: %s", note)
	}
	found := &killed.Run{Record: killed.Record{Note: note}}
	got := leftBy(found, left.Step)
	if got == nil || len(got.Report.Iterations) != 2 || got.Files["empty"] == nil || got.Files["missing"] != nil || string(got.Files["there"]) != "x" {
		t.Errorf("leftBy() = %+v, want what was left", got)
	}
	for name, step := range map[string]string{"another": "octo/work 7 1 job other", "none": ""} {
		if got := leftBy(found, step); got != nil {
			t.Errorf("%s step: leftBy() = %+v, want nil", name, got)
		}
	}
	for name, note := range map[string]json.RawMessage{"none": nil, "null": json.RawMessage("null"), "another type": json.RawMessage("[1]")} {
		if got := leftBy(&killed.Run{Record: killed.Record{Note: note}}, left.Step); got != nil {
			t.Errorf("note %s: leftBy() = %+v, want nil", name, got)
		}
	}
	big := Left{Step: left.Step}
	big.ended(ralph.Iteration{Turns: []ralph.Turn{{FinalText: strings.Repeat("x", maxNote)}}}, mask)
	if got := leftBy(&killed.Run{Record: killed.Record{Note: slices.Clone(big.json())}}, left.Step); got == nil || len(got.Report.Iterations) > 0 {
		t.Errorf("leftBy() = %v for a note that is too large, want it without the iterations", got != nil)
	}
}

// What the base of a pull request is compared with is what the step found, and not what
// the agent has made of it.
func TestHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"changed", "made", "untold"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("agent's"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := &plan{Input: &Input{Workspace: dir, Sources: config.LoadOptions{Instead: map[string][]byte{"changed": []byte("found"), "made": nil, "removed": []byte("found")}}}}
	for name, want := range map[string]string{"changed": "found", "made": "", "removed": "found", "untold": "agent's", "missing": ""} {
		if got := p.here(name); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("here(%s) = %q, want %q", name, got, want)
		}
	}
}
