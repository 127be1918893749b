package run

import (
	"bytes"
	"context"
	"strconv"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// keepUnpublished writes down what may not be published, or could not be, with
// secrets blotted out, so that the work is not lost with the machine.
func (w *work) keepUnpublished(ctx context.Context, state publish.State) {
	lost := w.pushes() && (state.HeadSHA != "" && !state.Pushed || w.rec.report.Outcome == ralph.GitFailed)
	blocked, left := ralph.Blocking(w.rec.report.Findings) != "", len(ralph.OfSeverity(w.rec.report.Findings, ralph.LeftOut)) > 0
	if !blocked && !left && !lost {
		return
	}
	var patch bytes.Buffer
	if err := w.repo.Patch(ctx, &patch, maxPatch); err != nil {
		w.rec.out.Warn("The unpublished work could not be saved: " + err.Error())
		return
	}
	if patch.Len() == 0 {
		return
	}
	masked, clean := w.inspect.MaskPatch(patch.Bytes())
	if err := w.files.WriteFile(unpublished, masked); err != nil {
		w.rec.out.Warn(err.Error())
		return
	}
	p := &w.rec.report.Publication
	p.Patch = w.files.Path(unpublished)
	if !blocked && len(masked) <= maxShown && clean {
		p.PatchText = string(masked)
	}
	note := "The unpublished work is in " + strconv.Quote(w.files.Path(unpublished)) + ", as a patch with secrets masked (binary files are only named), and unchanged in the workspace."
	if w.rec.report.RunURL != "" {
		note += " Upload it as an artifact to keep it."
	}
	w.rec.note(note)
}

// nameLost warns of uncommitted changes of the user's that are gone, as after a
// `git reset --hard` of the agent's. In the action nobody works beside it.
func (w *work) nameLost(ctx context.Context) {
	look := func(context.Context) (worktree.Loss, error) { return worktree.Loss{}, nil }
	switch {
	case !w.local():
	case w.repo != nil:
		look = w.repo.Lost
	case w.watcher != nil:
		look = w.watcher.Lost
	}
	lost, err := look(ctx)
	if len(lost.Paths) == 0 {
		if err != nil {
			w.rec.note("Whether uncommitted changes from before the run are still there could not be found out: " + w.rec.masked(err.Error()))
		}
		return
	}
	text := "Your uncommitted changes from before the run are gone: " + ralph.Listed(lost.Paths) + ". "
	if err != nil {
		text += "They could not be kept: " + err.Error()
	} else {
		text += "To bring them back: git restore --source=" + lost.Ref + " -- " + config.ShellWords(lost.Specs)
	}
	w.rec.warn(text)
}

const (
	unpublished = "unpublished.patch"
	maxPatch    = 16 << 20
	maxShown    = 60_000 // bytes of a patch in a text
)
