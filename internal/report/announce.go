package report

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Headline is the outcome in one line, as it stands on top of the summary,
// without an icon.
func Headline(r ralph.Report) string { return headline(r) }

// Announcement is what an annotation says below the headline: why the run
// ended so, how many stories are done, what could not be published, and what a person can do next.
func Announcement(r ralph.Report) string {
	var parts []string
	if reason := oneLine(r.Reason, 1000); reason != "" && r.Outcome != ralph.Completed {
		parts = append(parts, reason)
	}
	if hasTasks(r) {
		parts = append(parts, storyCount(r.Tasks)+".")
	}
	if text := autoWords(r, plainWords{}); text != "" {
		parts = append(parts, text)
	}
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
