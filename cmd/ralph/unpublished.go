package main

import (
	"bytes"
	"context"
	"strconv"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

// keepUnpublished writes down what may not be published, or could not be, with
// secrets blotted out, so that the work is not lost with the machine.
func (j *job) keepUnpublished(ctx context.Context, state repo.State) {
	lost := j.pushes() && (state.HeadSHA != "" && !state.Pushed || j.report.Outcome == ralph.GitFailed)
	if ralph.Blocking(j.report.Findings) == "" && !lost {
		return
	}
	var patch bytes.Buffer
	if err := j.repo.Patch(ctx, &patch, maxPatch); err != nil {
		j.out.warn("What was not published could not be written down: " + err.Error())
		return
	}
	if patch.Len() == 0 {
		return
	}
	if err := j.files.WriteFile(unpublished, j.inspect.scanner.MaskPatch(patch.Bytes())); err != nil {
		j.out.warn(err.Error())
		return
	}
	j.note("What was not published is in " + strconv.Quote(j.files.Path(unpublished)) + ", as a patch with the secrets blotted out (what is not text is only named there), and in the workspace as it is. Keep it as an artifact of the job where it matters.")
}

const (
	unpublished = "unpublished.patch"
	maxPatch    = 16 << 20
)
