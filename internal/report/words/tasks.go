package words

import (
	"fmt"
	"strconv"

	"github.com/org/ralph-action/internal/ralph"
)

// HasTasks says that the run had a task list.
func HasTasks(r ralph.Report) bool { return r.Tasks.File != "" || len(r.Tasks.Stories) > 0 }

// Stories is "1 story", "2 stories".
func Stories(n int) string {
	if n == 1 {
		return "1 story"
	}
	return strconv.Itoa(n) + " stories"
}

// StoryCount is "3 of 5 stories are done, 1 auto-approved".
func StoryCount(t ralph.TaskList) string {
	done := 0
	for i := range t.Stories {
		if t.Stories[i].Done {
			done++
		}
	}
	are := "are"
	if done == 1 || len(t.Stories) == 1 {
		are = "is"
	}
	text := fmt.Sprintf("%d of %s %s done", done, Stories(len(t.Stories)), are)
	for i := range t.Stories {
		if one := &t.Stories[i]; t.Only != "" && one.ID == t.Only {
			not := map[bool]string{false: "not "}[one.Done]
			text = fmt.Sprintf("This run's story is %sdone; in all, %s", not, text)
		}
	}
	if n := t.AutoApproved(); n > 0 {
		text += fmt.Sprintf(", %d auto-approved", n)
	}
	return text
}
