package integration_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/testing/lanes"
)

// lines of each file: the stories of a wave change others of them.
const lines = 100

func never() error { return nil }

// integrated puts a wave onto the tip, wants of it what it has to come to, and returns it.
func integrated(t *testing.T, w *lanes.World, shape lanes.Shape) (*lanes.Wave, lanes.Outcome) {
	t.Helper()
	wave, err := w.Wave(shape)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Integrate(t.Context(), t.TempDir(), wave, never)
	if err != nil {
		t.Fatal(err)
	}
	files, err := w.Files(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range wave.Wrong(got, files) {
		t.Error(text)
	}
	return wave, got
}

// Every way to lie, between honest stories, conflicts and failing checks: no lie gets in, and
// all others do.
func TestLies(t *testing.T) {
	t.Parallel()
	w, err := lanes.New(t.TempDir(), lines)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		wave, got := integrated(t, w, lanes.Shape{Stories: 150, Lie: 4, Conflict: 20, Fail: 50})
		for id, lie := range wave.Lies {
			seen[lie] = true
			if got.Stories[id].Why == "" {
				t.Errorf("%s is refused without a reason", lie)
			}
		}
	}
	if len(seen) != lanes.Lies() {
		t.Errorf("%d of %d lies were told", len(seen), lanes.Lies())
	}
}

// An integration that is killed before or after anything that others see of it, and run again,
// makes the same tree.
func TestKilled(t *testing.T) {
	t.Parallel()
	shape := lanes.Shape{Stories: 20, Lie: 9, Conflict: 6, Fail: 8}
	first, err := lanes.New(t.TempDir(), lines)
	if err != nil {
		t.Fatal(err)
	}
	wave, err := first.Wave(shape)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(kill int) (files map[string]string, steps int) {
		w := first.Copy()
		step := func() error {
			if steps++; steps == kill {
				return lanes.ErrKilled
			}
			return nil
		}
		got, err := w.Integrate(t.Context(), t.TempDir(), wave, step)
		if kill > 0 {
			if !errors.Is(err, lanes.ErrKilled) {
				t.Fatalf("killed at step %d: %v", kill, err)
			}
			again, err := w.Integrate(t.Context(), t.TempDir(), wave, never)
			if err != nil {
				t.Fatalf("killed at step %d and run again: %v", kill, err)
			}
			if len(again.Stories) != shape.Stories {
				t.Errorf("killed at step %d and run again, it tells of %d stories, want %d", kill, len(again.Stories), shape.Stories)
			}
			for id, s := range again.Stories {
				if s.Fate == ralph.FateIn && got.Stories[id].Fate == ralph.FateIn {
					t.Errorf("killed at step %d and run again, %s comes in twice", kill, id)
				}
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if files, err = w.Files(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		return files, steps
	}
	want, steps := whole(0)
	if steps < 8 {
		t.Fatalf("there are %d steps", steps)
	}
	for kill := 1; kill <= steps; kill++ {
		if got, _ := whole(kill); !maps.Equal(got, want) {
			for path := range want {
				if got[path] != want[path] {
					t.Errorf("killed at step %d of %d and run again: %s is another one", kill, steps, path)
				}
			}
		}
	}
}
