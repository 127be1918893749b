package fanout

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Wave is what became of a plan: what summary and pull request show.
type Wave struct {
	Number  int
	Of      int        // how many there may be; 0: no limit
	Cost    ralph.Cost // of lanes and integration
	Stories []Story    // of all lanes, in the order in which they were integrated, then the others
	Lanes   []LaneTime // in the plan's order
	Later   []Wait
	Next    bool   // another wave is worth starting
	Why     string // Next is so, for people
}

// Story is a story of a wave.
type Story struct {
	ID, Title, Lane string
	Reviews         int
	Cost            ralph.Cost
	Took            time.Duration
	Fate            Fate
	Why             string // it is not in, for people: one line
	Commit          string // on the branch, if it is in
}

// Fate is what became of a story's commits.
type Fate string

// The fates.
const (
	In         Fate = "integrated"
	Already    Fate = "already in" // by an integration that was run before
	Returned   Fate = "returned"   // for changes, to the next wave: conflict or red guardrail
	Refused    Fate = "refused"    // what the lane handed over may not be published, or is not what it says
	Unfinished Fate = "unfinished" // the lane did not come to its end
	Missing    Fate = "missing"    // the lane handed nothing over
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
