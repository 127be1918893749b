package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// omitted are the changes of the run that are not published although the rest may
// be.
func omitted(r ralph.Report) []ralph.Finding { return ralph.OfSeverity(r.Findings, ralph.LeftOut) }

// allLeftOut reports whether nothing of the run could be published, for no other
// reason than that all of it was left out.
func allLeftOut(r ralph.Report) bool {
	return r.Outcome == ralph.Blocked && r.Publication.HeadSHA == "" && len(omitted(r)) > 0 && ralph.Blocking(r.Findings) == ""
}

// withoutWords is what the headline says of changes that were left out; empty when
// none were, or when the headline speaks of nothing else.
func withoutWords(r ralph.Report) string {
	switch n := len(omitted(r)); {
	case n == 0 || allLeftOut(r):
		return ""
	case n == 1:
		return ", without 1 change that was left out"
	default:
		return fmt.Sprintf(", without %d changes that were left out", n)
	}
}

// resultIcon is the sign of the outcome, for a run of which something may be missing.
func resultIcon(r ralph.Report) string {
	if r.Outcome == ralph.Completed && withoutWords(r) != "" {
		return "⚠️"
	}
	return r.Outcome.Row().Sign
}

// tone is the class of the outcome's colour: "good", "bad", or "limit" between
// them.
func tone(r ralph.Report) string {
	switch kind := r.Outcome.Row().Kind; {
	case kind == ralph.Succeeded && withoutWords(r) == "":
		return "good"
	case kind == ralph.Failed || kind == ralph.Misconfigured:
		return "bad"
	}
	return "limit"
}

// leftOutAdvice says what a person does about changes that were left out; empty
// when none were.
func leftOutAdvice(r ralph.Report) doc.Text {
	if len(omitted(r)) == 0 {
		return nil
	}
	t := doc.Line("Look at the changes that were left out")
	if r.Publication.Patch != "" {
		t = doc.Line(t, ", which are in ", doc.Foreign(r.Publication.Patch, 500), " (git apply)")
	}
	t = doc.Line(t, ", and make them by hand if they are right.")
	now := slices.ContainsFunc(omitted(r), func(f ralph.Finding) bool { return f.Where == "" }) // else by an earlier run
	if allLeftOut(r) {
		return doc.Line("Nothing of the run was published. ", t)
	} else if now {
		return doc.Line(t, " The guardrails ran with these changes in place and may give another result without them.")
	}
	return t
}

// patchRunes is the longest patch that is shown.
const patchRunes = 10_000

// patch shows the changes that were left out, so that they are not lost with the
// machine, unless they are too long to be shown.
func (m record) patch() doc.Section {
	text := m.Publication.PatchText
	_, cut := doc.Head(text, patchRunes)
	if len(omitted(m.Report)) == 0 || strings.TrimSpace(text) == "" || cut {
		return doc.Section{}
	}
	return doc.Section{
		Title: doc.Line("The changes that were left out"), Fold: doc.Line(doc.Strong("The changes that were left out"), ", as a patch"),
		Blocks: []doc.Block{doc.Pre(text)},
	}
}
