package actions

import (
	"strings"
	"unicode/utf8"
)

// maxSummary is the size of the summary file above which the runner drops all
// of it: actions/runner, FileCommandManager.cs, AttachmentSizeLimit. We stay
// well below it.
const maxSummary = 1<<20 - 16<<10

const summaryCut = "\n> **The rest is cut**: a job summary may have 1 MiB. The whole report is in `.ralph/`.\n"

// Summary appends Markdown to the job summary, cut at a line when it is too
// long. Errors are as SetOutput's. The text is redacted, and otherwise the
// caller's to make safe.
func (r *Runner) Summary(markdown string) error {
	markdown = strings.ToValidUTF8(r.redactor.Text(markdown), "\uFFFD")
	if !strings.HasSuffix(markdown, "\n") {
		markdown += "\n"
	}
	return r.summary.append([]byte(bound(markdown, maxSummary-r.summary.size())))
}

// bound cuts Markdown at a line boundary, closes the fence and the folds that
// are open there, and says so.
func bound(markdown string, limit int) string {
	if len(markdown) <= limit {
		return markdown
	}
	const closing = 1 << 10 // for the end of fence and folds
	limit -= len(summaryCut) + closing
	if limit <= 0 {
		return ""
	}
	end := strings.LastIndexByte(markdown[:limit], '\n') + 1
	if end == 0 {
		for end = limit; end > 0 && !utf8.RuneStart(markdown[end]); end-- {
		}
	}
	kept := markdown[:end]
	tail := open(kept)
	if len(tail) > closing {
		tail = ""
	}
	return kept + tail + summaryCut
}

// open is what ends the fence and the folds that Markdown leaves open.
func open(markdown string) string {
	fence, folds := "", 0
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(mark) >= 3 && !strings.Contains(line[len(mark):], "`"):
			fence = mark
		case fence != "" && len(mark) >= len(fence) && mark == line:
			fence = ""
		case fence == "":
			folds += strings.Count(line, "<details") - strings.Count(line, "</details>")
		}
	}
	var b strings.Builder
	b.WriteByte('\n')
	if fence != "" {
		b.WriteString(fence + "\n\n")
	}
	for range max(0, folds) {
		b.WriteString("</details>\n")
	}
	return b.String()
}
