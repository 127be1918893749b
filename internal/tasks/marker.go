package tasks

import (
	"encoding/json"
	"time"
)

// MarkerName is the file in the project that says that a loop is running.
const MarkerName = ".ralph-active"

// Who commits the work of an iteration.
const (
	ByAgent = "agent"
	ByRalph = "ralph"
)

// Marker is what .ralph-active says, for people and for the agent's hooks. The
// agent can write to it, so nothing in it is believed by the loop: only the pid
// is read back, to find a loop that is still running. [DecodeMarker] is for the
// hooks, whose word is advice.
type Marker struct {
	At            time.Time // written in UTC, to the second
	PID           int
	MaxIterations int
	Mode          string // "sandbox" or "direct"
	Folder        string // of the list, as [Folder.Dir] has it; "": not said
	Commits       string // who commits an iteration's work: [ByAgent] or [ByRalph]; "": not said
	Snapshot      Snapshot
}

type markerJSON struct {
	Timestamp     string                `json:"timestamp"`
	PID           int                   `json:"pid"`
	MaxIterations int                   `json:"max_iterations"`
	Mode          string                `json:"mode"`
	Folder        string                `json:"ralphDir,omitempty"`
	Commits       string                `json:"commits,omitempty"`
	SkipReview    bool                  `json:"skipReview"`
	ReviewCap     int                   `json:"reviewCap"`
	Stories       []string              `json:"stories,omitempty"`
	IterationMode Mode                  `json:"iterationMode,omitempty"`
	Before        map[string]markedJSON `json:"preIterationSnapshot,omitempty"`
}

type markedJSON struct {
	Passes      bool    `json:"passes"`
	Status      *Status `json:"reviewStatus"`
	ReviewCount int     `json:"reviewCount"`
}

// Encode is the file.
func (m Marker) Encode() ([]byte, error) {
	out := markerJSON{
		Timestamp: m.At.UTC().Format(time.RFC3339), PID: m.PID, MaxIterations: m.MaxIterations, Mode: m.Mode,
		Folder: m.Folder, Commits: m.Commits, SkipReview: m.Snapshot.Rules.SkipReview, ReviewCap: m.Snapshot.Rules.ReviewCap,
		Stories: m.Snapshot.Rules.Only, IterationMode: m.Snapshot.Mode,
	}
	if m.Snapshot.Known() {
		out.Before = make(map[string]markedJSON, len(m.Snapshot.list.Stories))
		for i := range m.Snapshot.list.Stories {
			s := &m.Snapshot.list.Stories[i]
			one := markedJSON{Passes: s.Passes, ReviewCount: s.ReviewCount}
			if s.Status != Open {
				one.Status = &s.Status
			}
			out.Before[s.ID] = one
		}
	}
	data, err := json.MarshalIndent(out, "", "  ")
	return append(data, '\n'), err
}
