package ralph

import (
	"slices"
	"time"
)

// Wave is what became of the lanes of a task list that worked beside each other, for the
// report.
type Wave struct {
	Number  int
	Of      int         // how many there may be; 0: no limit
	Cost    Cost        // of lanes and integration
	Stories []WaveStory // of all lanes, in the order in which they were integrated, then the others
	Lanes   []LaneTime  // in the plan's order
	Later   []Postponed
	Earlier []WaveStory // that earlier waves brought onto the branch, by its commits; FateAlready
	// Verdicts are those of the guardrails on the last commit that was integrated.
	Verdicts []Verdict
	Next     bool   // another wave is worth starting
	Why      string // Next is so, for people
}

// WaveStory is a story of a wave.
type WaveStory struct {
	ID, Title, Lane string // foreign text, as is Why
	Wave            int    // 0: this one
	Reviews         int
	Cost            Cost
	Took            time.Duration
	Fate            Fate
	Why             string // it is not in, for people: one line
	Commit          string // on the branch, if it is in
	Unprotected     string // why its approval could have been forged, for people
}

// Fate is what became of a story's commits.
type Fate string

// The fates.
const (
	FateIn         Fate = "integrated"
	FateAlready    Fate = "already in" // by an integration that was run before
	FateReturned   Fate = "returned"   // for changes, to the next wave: conflict or red guardrail
	FateRefused    Fate = "refused"    // what the lane handed over may not be published, or is not what it says
	FateUnfinished Fate = "unfinished" // the lane did not come to its end
	FateMissing    Fate = "missing"    // the lane handed nothing over
)

// LaneTime is when a lane worked on what.
type LaneTime struct {
	Name           string
	Started, Ended time.Time // zero: it handed nothing over
	Outcome        string
	Stories        []StoryTime
}

// StoryTime is when a story was worked on.
type StoryTime struct {
	ID             string
	Started, Ended time.Time
	Fate           Fate
}

// Postponed is a story that waits for another wave.
type Postponed struct {
	Story string
	Why   string // for people, in one line
}

// BroughtIn are the stories that this integration put onto the branch; of no wave, none.
func (w *Wave) BroughtIn() []WaveStory {
	if w == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Stories), func(s WaveStory) bool { return s.Fate != FateIn })
}

// Checkpoints counts the commits of the run's own iterations and of the stories that it
// brought in.
func (r Report) Checkpoints() int {
	n := len(r.Wave.BroughtIn())
	for _, it := range r.Iterations {
		if it.Commit.SHA != "" {
			n++
		}
	}
	return n
}

// Spent is what the work cost that the run's commits hold: that of its own iterations, and
// of the stories that it brought in.
func (r Report) Spent() Cost {
	c := r.Usage().Cost
	for _, s := range r.Wave.BroughtIn() {
		c = c.Add(s.Cost)
	}
	return c
}
