package run

import (
	"cmp"
	"context"
	"time"

	"github.com/org/ralph-action/internal/report/transcript"
)

// differ shows what lies between trees that it took snapshots of.
type differ interface {
	Diffs(ctx context.Context, trees [][2]string, limit int) ([][]byte, error)
}

// diffTime bounds making the patches of the page: usually they take milliseconds.
const (
	diffTime          = 5 * time.Second
	diffTimeCancelled = 500 * time.Millisecond
)

// forDiffs bounds a look at what changed, also of a run that is over.
func forDiffs(run context.Context) (context.Context, context.CancelFunc) {
	limit := diffTime
	if run.Err() != nil {
		limit = diffTimeCancelled
	}
	return context.WithTimeout(context.WithoutCancel(run), limit)
}

// keepDiffs hands the page what each iteration changed: against the iteration before, or
// what was committed since.
func (w *work) keepDiffs(run context.Context) {
	ctx, cancel := forDiffs(run)
	defer cancel()
	kept := w.rec.kept.Iterations()
	changed := map[int]*transcript.Iteration{}
	for _, it := range kept {
		changed[it.Number] = it
	}
	var trees [][2]string
	var of []*transcript.Iteration
	last := ""
	for _, it := range w.rec.report.Iterations {
		t, from, to := changed[it.Number], cmp.Or(last, it.Change.Before), it.Change.After
		if last = cmp.Or(to, last); it.Commit.SHA != "" {
			last = ""
		}
		switch {
		case t == nil:
		case to == "":
			t.NoDiff = "not known: nobody looked at the files"
		case from != to:
			trees, of = append(trees, [2]string{from, to}), append(of, t)
		}
	}
	if len(trees) == 0 {
		return
	}
	var d differ = w.repo
	if w.repo == nil {
		d = w.watcher
	}
	patches, err := d.Diffs(ctx, trees, transcript.MaxDiff(len(trees)))
	for i, t := range of {
		if i < len(patches) {
			masked, _ := w.inspect.MaskPatch(patches[i])
			w.rec.kept.Changed(t, w.rec.redact.Text(string(masked)))
		} else if t.NoDiff = "not shown"; err != nil {
			t.NoDiff += ": " + w.rec.masked(err.Error())
		}
	}
}
