package cli

import (
	"fmt"
	"strings"
	"testing"
)

// Every reason that a stop can be refused for, with the words that tests of other
// implementations look for. 003-18, 003-19, 003-20, 003-21, 003-22
func TestHookStopReasons(t *testing.T) {
	t.Parallel()
	const (
		todo     = "false null 0"
		waiting  = "false needs_review 0"
		counted  = "false needs_review 1"
		rejected = "false changes_requested 1"
		done     = "true approved 1"
		fix      = `, "reviewFeedback": "mend it"`

		implement = "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-%d had illegal transition: %s."
		review    = "Review iteration made illegal transition on story US-%d: %s."
		reviewFix = "Review-fix iterations cannot approve stories. Story US-%d must go back to needs_review for re-review. Illegal transition: %s."
		invariant = "Story US-1 has passes=true but reviewStatus is '%s', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle."
	)
	one := func(before, after, extra string) []hookStory { return []hookStory{{before, after, extra}} }
	for name, tc := range map[string]struct {
		mode     string
		stories  []hookStory
		old, new string // of the list's text
		want     []string
	}{
		// 003-18
		"no JSON":                  {stories: one("", todo, ""), old: `{"project"`, new: `"project"`, want: []string{"not valid JSON"}},
		"no project":               {stories: one("", todo, ""), old: `"project": "p", `, want: []string{"project is missing"}},
		"no branch":                {stories: one("", todo, ""), old: `"branchName": "ralph/x", `, want: []string{"branchName is missing"}},
		"no description":           {stories: one("", todo, ""), old: `"description": "d", `, want: []string{"description is missing"}},
		"no stories":               {old: "", want: []string{"userStories is an empty array: give at least one story"}},
		"stories are no array":     {stories: one("", todo, ""), old: `"userStories": [`, new: `"userStories": "x", "y": [`, want: []string{`userStories is "x": give an array`}},
		"a story is no object":     {stories: one("", todo, ""), old: `[{"id"`, new: `[7, {"id"`, want: []string{"userStories[0] is 7: give an object"}},
		"no id":                    {stories: one("", todo, ""), old: `"id": "US-1", `, want: []string{"userStories[0]: id is missing"}},
		"an id that is a number":   {stories: one("", todo, ""), old: `"US-1"`, new: `1`, want: []string{"id is 1: give a string"}},
		"no title":                 {stories: one("", todo, ""), old: `"title": "t", `, want: []string{"Story US-1: title is missing"}},
		"passes is text":           {stories: one("", todo, ""), old: `"passes": false`, new: `"passes": "no"`, want: []string{`Story US-1: passes is "no": give true or false`}},
		"priority is text":         {stories: one("", todo, ""), old: `"priority": 1`, new: `"priority": "high"`, want: []string{`Story US-1: priority is "high": give a number`}},
		"no criteria":              {stories: one("", todo, ""), old: `["a"]`, new: `[]`, want: []string{"Story US-1: acceptanceCriteria is an empty array: give at least one"}},
		"criteria are text":        {stories: one("", todo, ""), old: `["a"]`, new: `"a"`, want: []string{`Story US-1: acceptanceCriteria is "a": give an array of strings`}},
		"a status that is not one": {stories: one("", todo, ""), old: `"reviewStatus": null`, new: `"reviewStatus": "done"`, want: []string{`Story US-1: reviewStatus is "done": give null, "needs_review", "changes_requested" or "approved"`}},
		"no status":                {stories: one("", todo, ""), old: `"reviewStatus": null, `, want: []string{"Story US-1: reviewStatus is missing"}},
		"a count below zero":       {stories: one("", "false null -1", ""), want: []string{"Story US-1: reviewCount is -1: give a non-negative integer"}},
		"a count that is broken":   {stories: one("", "false null 1.5", ""), want: []string{"Story US-1: reviewCount is 1.5: give a non-negative integer"}},
		"a count that is text":     {stories: one("", `false null "1"`, ""), want: []string{`Story US-1: reviewCount is "1": give a non-negative integer`}},
		"no count":                 {stories: one("", todo, ""), old: `"reviewCount": 0, `, want: []string{"Story US-1: reviewCount is missing"}},
		"no feedback field":        {stories: one("", todo, ""), old: `, "reviewFeedback": ""`, want: []string{"Story US-1: reviewFeedback is missing"}},
		"feedback is null":         {stories: one("", todo, ""), old: `"reviewFeedback": ""`, new: `"reviewFeedback": null`, want: []string{"Story US-1: reviewFeedback is null: give a string"}},
		"an id twice":              {stories: []hookStory{{"", todo, ""}, {"", todo, ""}}, old: "US-2", new: "US-1", want: []string{"Story US-1: Duplicate id, in userStories[0] and [1]"}},
		"passes without notes":     {stories: one("", done, ""), old: `"notes": "n"`, new: `"notes": ""`, want: []string{"Story US-1 has passes=true but its notes are empty"}},
		// 003-19
		"passes without a status":       {stories: one("", "true null 0", ""), want: []string{fmt.Sprintf(invariant, "null")}},
		"passes, waits for review":      {stories: one("", "true needs_review 0", ""), want: []string{fmt.Sprintf(invariant, "needs_review")}},
		"passes with changes requested": {stories: one("", "true changes_requested 1", fix), want: []string{fmt.Sprintf(invariant, "changes_requested")}},
		"approved and does not pass":    {stories: one("", "false approved 1", ""), want: []string{"Story US-1 has reviewStatus 'approved' but passes=false", "out of sync"}},
		"changes without feedback":      {stories: one("", rejected, ""), want: []string{"Story US-1 has reviewStatus 'changes_requested' but reviewFeedback is empty. Feedback required"}},
		"a count beyond the cap":        {stories: one("", "true approved 7", ""), want: []string{"Story US-1 has reviewCount 7", "review cap of 5"}},
		// 003-20
		"implement sets passes": {mode: "implement", stories: one(todo, "true null 0", ""), want: []string{fmt.Sprintf(implement, 1, "passes false → true")}},
		"implement approves":    {mode: "implement", stories: one(todo, done, ""), want: []string{fmt.Sprintf(implement, 1, "reviewStatus null → approved"), fmt.Sprintf(implement, 1, "reviewCount 0 → 1")}},
		"implement counts":      {mode: "implement", stories: one(todo, counted, ""), want: []string{fmt.Sprintf(implement, 1, "reviewCount 0 → 1")}},
		"implement moves two": {mode: "implement", stories: []hookStory{{todo, waiting, ""}, {todo, waiting, ""}},
			want: []string{"multiple stories", "Story US-2 had illegal transition: reviewStatus null → needs_review."}},
		"implement adds one that passes": {mode: "implement", stories: []hookStory{{todo, waiting, ""}, {"", done, ""}},
			want: []string{fmt.Sprintf(implement, 2, "passes false → true"), "new story must start at passes=false, reviewStatus=null and reviewCount=0"}},
		"implement removes one": {mode: "implement", stories: []hookStory{{todo, waiting, ""}, {todo, todo, ""}}, old: `"id": "US-2"`, new: `"id": "US-9"`, want: []string{"Story US-2 was removed or renamed"}},
		// 003-21
		"review changes nothing":  {mode: "review", stories: one(waiting, waiting, ""), want: []string{fmt.Sprintf(review, 1, "review must increment reviewCount and either approve the story or request changes, and no story changed")}},
		"review does not count":   {mode: "review", stories: one(counted, done, ""), want: []string{fmt.Sprintf(review, 1, "review must increment reviewCount by 1, and it went from 1 to 1")}},
		"review counts twice":     {mode: "review", stories: one(waiting, "true approved 2", ""), want: []string{fmt.Sprintf(review, 1, "review must increment reviewCount by 1, and it went from 0 to 2")}},
		"review only counts":      {mode: "review", stories: one(waiting, counted, ""), want: []string{"with needs_review and passes=false"}},
		"review without feedback": {mode: "review", stories: one(waiting, rejected, ""), want: []string{"Feedback required", fmt.Sprintf(review, 1, "changes_requested needs reviewFeedback that says what has to change")}},
		"review of what was open": {mode: "review", stories: []hookStory{{todo, done, ""}, {waiting, waiting, ""}}, want: []string{fmt.Sprintf(review, 1, "only a story with reviewStatus needs_review may be reviewed, and this one had null")}},
		"review of two":           {mode: "review", stories: []hookStory{{waiting, done, ""}, {waiting, done, ""}}, want: []string{fmt.Sprintf(review, 2, "multiple stories were changed; review may only modify one story, and this one reviewed US-1")}},
		"review at the cap":       {mode: "review", stories: one("false needs_review 4", "false changes_requested 5", fix), want: []string{"reviewCount 5 has reached the review cap of 5", "[AUTO-APPROVED AT CAP]"}},
		// 003-22
		"review-fix approves":       {mode: "review-fix", stories: one(rejected, done, ""), want: []string{fmt.Sprintf(reviewFix, 1, "reviewStatus changes_requested → approved")}},
		"review-fix counts":         {mode: "review-fix", stories: one(rejected, "false needs_review 2", ""), want: []string{fmt.Sprintf(reviewFix, 1, "reviewCount 1 → 2")}},
		"review-fix keeps feedback": {mode: "review-fix", stories: one(rejected, counted, fix), want: []string{"Review-fix iterations cannot approve stories. Story US-1", "Illegal transition: reviewFeedback "}},
		"review-fix moves two": {mode: "review-fix", stories: []hookStory{{rejected, counted, ""}, {todo, waiting, ""}},
			want: []string{fmt.Sprintf(reviewFix, 2, "reviewStatus null → needs_review"), "multiple stories were changed; it may only work on one, and worked on US-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := hookList(tc.stories)
			if !strings.Contains(list, tc.old) {
				t.Fatalf("the list %s does not hold %s", list, tc.old)
			}
			p := newHookPlace(t)
			p.write("ralph/tasks.json", strings.Replace(list, tc.old, tc.new, 1))
			p.write(".ralph-active", `{"reviewCap": 5, "commits": "ralph"}`)
			if tc.mode != "" {
				p.write(".ralph-active", hookMarker(tc.mode, `, "commits": "ralph"`, tc.stories))
			}
			got := p.hook(stopInput("s", "", ""), "stop")
			for _, want := range tc.want {
				if got.Decision != "block" || !strings.Contains(got.Reason, want) {
					t.Errorf("stop = %s, want block with %q", got.line, want)
				}
			}
		})
	}
}
