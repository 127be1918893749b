package report

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// pageStories is what the page shows of a task list.
type pageStories struct {
	Count, List, Reviews string
	Warnings             []string
	Reviewed             bool
	Rows                 []pageStory
	Left                 string // stories without a row; empty: none
}

type pageStory struct {
	ID, Title, Icon, State, Reviews, Iterations string
	Said, More                                  string // More: all of Said, when that is cut
	Doubtful                                    bool
}

// newPageStories is nil when the run had no task list.
func newPageStories(r ralph.Report, limit bounds) *pageStories {
	t := r.Tasks
	if !hasTasks(r) {
		return nil
	}
	p := &pageStories{
		Count: storyCount(t), Reviews: reviewWords(t), Warnings: storyWarnings(r, plainWords{}), Reviewed: !t.SkipReview,
		List: oneLine(t.File, 200),
	}
	if project := oneLine(t.Project, 200); project != "" {
		p.List = strings.TrimPrefix(p.List+", "+project, ", ")
	}
	shown := t.Stories
	if len(shown) > limit.stories {
		shown = byNeed(shown)[:limit.stories]
		p.Left = stories(len(t.Stories) - len(shown))
	}
	room := limit.storyBytes
	for _, s := range shown {
		icon, state := storyState(s)
		row := pageStory{
			ID: oneLine(s.ID, storyRunes), Title: oneLine(s.Title, 200), Icon: icon, State: state, Doubtful: doubtful(s),
			Reviews: times(s.Reviews), Iterations: times(s.Iterations), Said: oneLine(feedback(s), feedbackRunes),
		}
		if strings.HasSuffix(row.Said, "…") && room > 0 {
			text, cut := head(feedback(s), limit.output)
			row.More = marked(text, cut)
			room -= len(text)
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// putBack is the newest of what was put back.
func (p *page) putBack(r ralph.Report, limit bounds) {
	all := allPutBack(r)
	p.PutBackTitle, p.PutBackWords = putBackTitle, putBackWords
	p.EarlierPutBack = max(0, len(all)-limit.list)
	for _, b := range all[p.EarlierPutBack:] {
		p.PutBack = append(p.PutBack, putBack{b.Number, b.Step, oneLine(b.Text, limit.line)})
	}
}
