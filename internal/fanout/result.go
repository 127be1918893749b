package fanout

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Result is what a lane hands over: beside a bundle with the commits of its stories, as
// often as one is done. Who integrates it believes none of it.
type Result struct {
	Version  int       `json:"version"`  // 1
	Key      string    `json:"lane"`     // LaneKey
	Base     string    `json:"base"`     // commit, Part.Base
	Digest   string    `json:"digest"`   // Part.Digest
	Sequence int       `json:"sequence"` // from 1; of the results of a lane the highest counts
	Outcome  string    `json:"outcome"`  // ralph.Outcome of the lane's run; empty while it goes on
	Reason   string    `json:"reason"`   // why it ended, for people
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`   // or when this was written
	Bundle   string    `json:"bundle"`  // SHA-256 of the bundle, in hex; empty: no story is done, there is no bundle
	RestSum  string    `json:"restSum"` // SHA-256 of its bundle, in hex
	Rest     string    `json:"rest"`    // commit with what is not done, on top of the stories that are: a lane that is run again goes on from it; empty: there is nothing
	Cost     Cost      `json:"cost"`    // of all of the lane, stories that are not done included
	Stories  []Done    `json:"stories"` // the lane's, in its order
}

// Done is what became of a story in its lane.
type Done struct {
	ID          string    `json:"id"`
	State       string    `json:"state"`      // a state of the review cycle, as tasks.json has it; "" is null
	Commit      string    `json:"commit"`     // its one commit, on top of that of the story before; empty: it is not done
	Paths       []string  `json:"paths"`      // that the commit changes
	Guardrails  []Check   `json:"guardrails"` // the last results
	Iterations  int       `json:"iterations"`
	Reviews     int       `json:"reviews"`
	AtCap       bool      `json:"atCap"`                 // approved because its reviews were used up
	Unprotected string    `json:"unprotected,omitempty"` // why a program that its reviewer started could have approved it, for people
	Cost        Cost      `json:"cost"`
	Started     time.Time `json:"started"` // zero: the lane did not get to it
	Ended       time.Time `json:"ended"`
	Withheld    string    `json:"withheld"`   // why what was done is not in the bundle, for people; empty: it is
	Transcript  string    `json:"transcript"` // SHA-256 of what the agent said and did, in hex
}

// Check is the last result of a guardrail.
type Check struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
}

// Cost is ralph.Cost in a file.
type Cost struct {
	MicroUSD  ralph.MicroUSD `json:"microUsd"`
	Unknown   bool           `json:"unknown,omitempty"` // part of it
	Estimated bool           `json:"estimated,omitempty"`
}

// Encode is the result as a file.
func (r *Result) Encode() []byte { return encoded(r) }
