package report_test

import (
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// integrated is a run that integrated the first wave of twelve stories in four lanes: one
// conflicts, one makes a guardrail red, and a machine was lost.
func integrated() ralph.Report {
	r := tasksRun()
	r.Mode, r.Outcome, r.ExitCode, r.MaxIterations, r.Reason = "integrate", ralph.Completed, 0, 0, ""
	r.Iterations, r.Tasks.Stories = nil, nil
	w := &ralph.Wave{Number: 1, Verdicts: []ralph.Verdict{{Command: "go test ./...", Passed: true, Duration: 3 * time.Second}}, Of: 5, Cost: ralph.Cost{Amount: 7_410_000}, Next: true, Why: "4 stories are left"}
	for l := range 4 {
		lane := ralph.LaneTime{Name: fmt.Sprintf("L%03d", l+1), Started: start.Add(time.Duration(l) * time.Minute), Outcome: "completed"}
		at := lane.Started.Add(45 * time.Second)
		for i := range 3 {
			n := 3*l + i
			s := ralph.WaveStory{
				ID: fmt.Sprintf("US-%03d", n+1), Title: []string{"Totals include the tax", "A cart can be emptied", "Receipts are mailed"}[i], Lane: lane.Name,
				Reviews: 1 + n%2, Cost: ralph.Cost{Amount: ralph.MicroUSD(400_000 + 50_000*n)}, Took: time.Duration(6+n) * time.Minute, Fate: ralph.FateIn, Commit: fmt.Sprintf("12345%02x%033x", n, n),
			}
			switch n {
			case 4:
				s.Fate, s.Why, s.Commit = ralph.FateReturned, "conflicts with US-001 in src/cart.js", ""
			case 7:
				s.Fate, s.Why, s.Commit = ralph.FateReturned, "with it, npm test fails: 1 failing, the total of an empty cart", ""
			case 10:
				s.Fate, s.Why, s.Commit, lane.Outcome = ralph.FateUnfinished, "the lane was ended before it was approved", "", ""
			case 11:
				s.Fate, s.Why, s.Commit, s.Took, s.Reviews, s.Cost = ralph.FateUnfinished, "the lane did not come to it", "", 0, 0, ralph.Cost{}
			}
			t := ralph.StoryTime{ID: s.ID, Fate: s.Fate}
			if s.Took > 0 {
				t.Started, t.Ended = at, at.Add(s.Took)
				at, lane.Ended = t.Ended, t.Ended
			}
			lane.Stories, w.Stories = append(lane.Stories, t), append(w.Stories, s)
			r.Tasks.Stories = append(r.Tasks.Stories, ralph.Story{ID: s.ID, Title: s.Title, Reviews: s.Reviews, Passes: s.Commit != "", Done: s.Commit != ""})
		}
		w.Lanes = append(w.Lanes, lane)
	}
	w.Later = []ralph.Postponed{{Story: "US-013", Why: "depends on US-005"}}
	r.Wave = w
	return r
}

// lastWave brings in what came back.
func lastWave() ralph.Report {
	r := integrated()
	w := *r.Wave
	w.Number, w.Next, w.Why, w.Later, w.Cost = 2, false, "every story is done", nil, ralph.Cost{Amount: 1_200_000, Estimated: true}
	for i := range w.Stories {
		s := w.Stories[i]
		if s.Fate == ralph.FateIn {
			s.Fate, s.Wave = ralph.FateAlready, 1
			w.Earlier = append(w.Earlier, s)
		}
	}
	w.Stories = []ralph.WaveStory{{ID: "US-005", Title: "A cart can be emptied", Lane: "L001", Reviews: 1, Cost: ralph.Cost{Amount: 600_000, Estimated: true}, Took: 4 * time.Minute, Fate: ralph.FateIn, Commit: "fedcba9876543210fedcba9876543210fedcba98"}}
	w.Lanes = []ralph.LaneTime{{Name: "L001", Started: start, Ended: start.Add(5 * time.Minute), Outcome: "completed", Stories: []ralph.StoryTime{{ID: "US-005", Started: start.Add(time.Minute), Ended: start.Add(5 * time.Minute), Fate: ralph.FateIn}}}, {Name: "L002"}}
	r.Wave = &w
	return r
}

// bigWave is one of n stories in 256 lanes, of which every tenth came back.
func bigWave(n int) ralph.Report {
	r := integrated()
	w := ralph.Wave{Number: 3, Cost: ralph.Cost{Unknown: true, Amount: ralph.USD}}
	for i := range 256 {
		w.Lanes = append(w.Lanes, ralph.LaneTime{Name: fmt.Sprintf("L%03d", i), Started: start, Ended: start.Add(5 * time.Hour)})
	}
	for i := range n {
		lane := &w.Lanes[i%256]
		s := ralph.WaveStory{ID: fmt.Sprintf("US-%05d", i), Title: "A story of a feature that is one of very many", Lane: lane.Name, Took: time.Minute, Fate: ralph.FateIn, Commit: fmt.Sprintf("%07x%033x", i, i)}
		if i%10 == 9 {
			s.Fate, s.Commit, s.Why = ralph.FateReturned, "", "conflicts with US-00001 in a file"
		}
		at := start.Add(time.Duration(i/256) * time.Minute)
		lane.Stories = append(lane.Stories, ralph.StoryTime{ID: s.ID, Started: at, Ended: at.Add(time.Minute), Fate: s.Fate})
		w.Stories = append(w.Stories, s)
		w.Later, w.Earlier = append(w.Later, ralph.Postponed{Story: "X" + s.ID, Why: "depends on " + s.ID}), append(w.Earlier, s)
	}
	r.Wave, r.Tasks = &w, manyStories(n).Tasks
	return r
}

// hostileWave is one whose every text is hostile.
func hostileWave() ralph.Report {
	r := integrated()
	w := *r.Wave
	w.Why, w.Later = nasty, []ralph.Postponed{{Story: nasty, Why: nasty}}
	for i := range w.Stories {
		s := &w.Stories[i]
		s.ID, s.Title, s.Lane, s.Why = nasty, nasty, nasty, nasty
	}
	for i := range w.Lanes {
		l := &w.Lanes[i]
		l.Name, l.Outcome = nasty, nasty
		for j := range l.Stories {
			l.Stories[j].ID = nasty
		}
	}
	w.Earlier = w.Stories
	r.Wave = &w
	return r
}
