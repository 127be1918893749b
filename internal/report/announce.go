package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Headline is the outcome in one line, as it stands on top of the summary,
// without an icon.
func Headline(r ralph.Report) string { return headline(r) }

// reasons is why a run ended as it did: one line, or, before the first iteration,
// a list of at most most problems with what was asked for.
func reasons(r ralph.Report, most, limit int) []string {
	lines := []string{r.Reason}
	if r.Rounds() == 0 { // else it may quote foreign text
		lines = strings.Split(r.Reason, "\n")
	}
	var list []string
	for _, line := range lines {
		if line = oneLine(line, limit); line != "" {
			list = append(list, line)
		}
	}
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("…and %d more; report.json has them all.", n))
	}
	return list
}

// besideFindings is the report for a document that lists the findings: what blocks
// publishing is not repeated as a part of the reason.
func besideFindings(r ralph.Report) ralph.Report {
	if text := ralph.Blocking(r.Findings); text != "" {
		r.Reason = strings.TrimSuffix(r.Reason, ": "+text)
	}
	return r
}

// saysFindings reports whether a failed verdict says nothing but the findings of the
// run's end, which are listed.
func saysFindings(r ralph.Report, v ralph.Verdict) bool {
	return v.Command == ralph.WithheldCheck && v.Digest != "" && v.Digest == ralph.Blocking(r.Findings)
}

// Announcement is what an annotation says below the headline: why the run
// ended so, how many stories are done, what could not be published, and what a person can do next.
func Announcement(r ralph.Report) string {
	var parts []string
	if r.Outcome != ralph.Completed {
		parts = append(parts, reasons(r, 50, 1000)...)
	}
	if hasTasks(r) {
		parts = append(parts, storyCount(r.Tasks)+".")
	}
	parts = append(parts, storyWarnings(r, plainWords{})...)
	for _, e := range r.Publication.Errors {
		if e = oneLine(e, 1000); !strings.Contains(strings.Join(parts, "\n"), e) { // the reason may have named it
			parts = append(parts, e)
		}
	}
	for _, a := range []string{leftOutAdvice(r), advice(r)} {
		if a != "" {
			parts = append(parts, a)
		}
	}
	p := r.Publication
	switch branch := oneLine(p.Branch, 200); {
	case p.PullRequest.URL != "":
		parts = append(parts, "Pull request: "+oneLine(p.PullRequest.URL, 500))
	case p.HeadSHA == "" && r.Outcome == ralph.Completed:
		parts = append(parts, "Nothing was published: the run committed nothing.")
	case p.HeadSHA == "" || branch == "":
	case p.Pushed:
		parts = append(parts, "Branch: "+branch)
	default:
		parts = append(parts, "Branch: "+branch+", not pushed")
	}
	text := ""
	for _, p := range parts {
		if text != "" {
			text += "\n"
		}
		text += p
	}
	return text
}
