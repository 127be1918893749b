package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/report/doc"
)

// About is what a pull request of ours is about. Its body remembers it for later
// runs on the branch, in a comment below the marker that is not shown: a place that
// no text of an agent's gets to.
type About struct {
	// Base is the branch that was asked for as the base when the pull request was
	// made. Somebody may have retargeted it since.
	Base string
	// StoodOn are the commits of bases that the branch stood on, the newest first.
	StoodOn []BaseCommit
	Tip     string // the branch's commit when the body was written; empty: not known
	Issues  []int  // that merging closes
	Title   string // what TitleMark makes of the title that was set last
	Said    bool   // that title is what an agent calls the change
}

// BaseCommit is a commit that was in a base.
type BaseCommit struct{ Base, SHA string }

const (
	maxIssues  = 50 // that one pull request closes
	maxStoodOn = 10
)

// The line that remembers stands between these.
const aboutBegin, aboutEnd = "<!-- ralph-action about ", " -->"

// String is the line that remembers it; empty when there is nothing to remember.
func (a About) String() string {
	var words []string
	word := func(name, value string) {
		if value != "" {
			words = append(words, name+"="+value)
		}
	}
	word("base", url.QueryEscape(a.Base))
	var stood, issues []string
	for _, one := range a.StoodOn {
		stood = append(stood, url.QueryEscape(one.Base)+"@"+one.SHA)
	}
	word("at", strings.Join(stood, ","))
	word("tip", a.Tip)
	for _, n := range a.Issues {
		issues = append(issues, strconv.Itoa(n))
	}
	word("fixes", strings.Join(issues, ","))
	word("title", a.Title)
	if a.Said {
		word("by", "agent")
	}
	if a.Base == "" {
		return "" // nothing was asked for that could be told apart later
	}
	return aboutBegin + strings.Join(words, " ") + aboutEnd
}

// ReadAbout reads what the body of a pull request remembers. Only the line below
// the marker counts. An issue whose closing line a person took out of the body is
// not closed any more.
func ReadAbout(body string) About {
	var a About
	lines := strings.Split(strings.ReplaceAll(strings.TrimLeft(body, " \t\r\n\uFEFF"), "\r\n", "\n"), "\n")
	if len(lines) < 2 {
		return a
	}
	text, begins := strings.CutPrefix(strings.TrimSpace(lines[1]), aboutBegin)
	text, ends := strings.CutSuffix(text, aboutEnd)
	if !begins || !ends || !strings.HasPrefix(lines[0], "<!-- ralph-action") {
		return a
	}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "base":
			a.Base, _ = url.QueryUnescape(value)
		case "at":
			for one := range strings.SplitSeq(value, ",") {
				branch, sha, _ := strings.Cut(one, "@")
				if branch, err := url.QueryUnescape(branch); err == nil && fullSHA(sha) && len(a.StoodOn) < maxStoodOn {
					a.StoodOn = append(a.StoodOn, BaseCommit{branch, sha})
				}
			}
		case "tip":
			if fullSHA(value) {
				a.Tip = value
			}
		case "fixes":
			a.Issues = closedBy(value, lines)
		case "title":
			a.Title = value
		case "by":
			a.Said = value == "agent"
		}
	}
	return a
}

// fullSHA reports whether a text is the whole id of a commit.
func fullSHA(id string) bool { return len(id) == 40 && strings.Trim(id, "0123456789abcdef") == "" }

// closedBy are the issues of a list whose closing line stands in the body.
func closedBy(list string, lines []string) []int {
	var issues []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		told := func(l string) bool {
			l = strings.TrimSpace(l)
			return l == Closing(n, false) || l == Closing(n, true)
		}
		if err == nil && n > 0 && len(issues) < maxIssues && slices.ContainsFunc(lines, told) {
			issues = append(issues, n)
		}
	}
	return issues
}

// With adds what a run brings: the issue it came from.
func (a About) With(issue int) About {
	a.Issues = slices.Clone(a.Issues)
	if issue > 0 && !slices.Contains(a.Issues, issue) {
		a.Issues = append(a.Issues, issue)
	}
	if more := len(a.Issues) - maxIssues; more > 0 {
		a.Issues = a.Issues[more:]
	}
	return a
}

// On adds the commit that the branch stands on.
func (a About) On(now BaseCommit) About {
	rest := slices.DeleteFunc(slices.Clone(a.StoodOn), func(one BaseCommit) bool { return one == now })
	a.StoodOn = append([]BaseCommit{now}, rest[:min(len(rest), maxStoodOn-1)]...)
	return a
}

// TitleMark is what is remembered of a title: enough to tell whether somebody
// edited it.
func TitleMark(title string) string {
	text, _ := doc.FirstRunes(strings.Join(strings.Fields(title), " "), 200)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Closing is the line by which merging closes an issue; while a part of what was
// asked may be missing, it names the issue only.
func Closing(issue int, part bool) string {
	switch {
	case issue <= 0:
		return ""
	case part:
		return fmt.Sprintf("Part of #%d", issue)
	}
	return fmt.Sprintf("Fixes #%d", issue)
}

// Marks are the first lines of a body.
func Marks(marker string, a About) string {
	line := a.String()
	if marker == "" || line == "" {
		return marker
	}
	return fmt.Sprintf("%s\n%s", marker, line)
}
