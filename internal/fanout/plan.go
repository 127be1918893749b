package fanout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/org/ralph-action/internal/ralph"
)

// PlanName and ResultName are the files that the jobs hand each other, BundleName the
// commits beside a result, RestName what of the lane is not done, on top of these.
const (
	PlanName   = "plan.json"
	ResultName = "lane.json"
	BundleName = "lane.bundle"
	RestName   = "rest.bundle"
)

// MaxLanes is how many jobs a matrix of GitHub Actions may have
// (docs.github.com, "Running variations of jobs in a workflow").
const MaxLanes = 256

// Plan is one wave. The same list, at the same commits, with the same options, makes the
// same plan, byte by byte.
type Plan struct {
	Version int    `json:"version"` // 1
	Dir     string `json:"dir"`     // of the task list, below the top of the work tree, with slashes
	Wave    int    `json:"wave"`    // from 1
	Waves   int    `json:"waves"`   // how many there may be; 0: no limit
	Parts   []Part `json:"parts"`   // at least one; several only when one pull request could not show it all
	Later   []Wait `json:"later"`   // the stories that are not done and not in a lane, in the order of the list
	// Budget is what this wave may cost; 0: no limit. What the lanes do not get of it is
	// for the integration.
	Budget ralph.MicroUSD `json:"budget"`
}

// Part is what goes onto one branch and into one pull request.
type Part struct {
	Branch string `json:"branch"`
	Base   string `json:"base"`   // the commit at which all lanes of the part begin
	Digest string `json:"digest"` // of tasks.json there: SHA-256 in hex
	Lanes  []Lane `json:"lanes"`
}

// Lane is one job.
type Lane struct {
	Name     string         `json:"name"`     // such as L007
	Stories  []string       `json:"stories"`  // ids, in the order in which they are worked on
	Estimate int            `json:"estimate"` // iterations
	Budget   ralph.MicroUSD `json:"budget"`   // 0: no limit
}

// Wait is a story that waits for another wave.
type Wait struct {
	Story string `json:"story"`
	Why   string `json:"why"` // for people, in one line
}

// Encode is the plan as a file.
func (p *Plan) Encode() []byte { return encoded(p) }

func encoded(v any) []byte {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err) // a plan and a result have nothing that JSON lacks
	}
	return append(data, '\n')
}

// Kept is what the integration of a part may cost of what the lanes do not get; 0: no limit.
func (p *Plan) Kept() ralph.MicroUSD {
	left := p.Budget
	for _, part := range p.Parts {
		for _, l := range part.Lanes {
			left -= l.Budget
		}
	}
	if p.Budget == 0 {
		return 0
	}
	return max(1, left/ralph.MicroUSD(len(p.Parts)))
}

// ID names the plan: 12 hex digits of its SHA-256.
func (p *Plan) ID() string {
	sum := sha256.Sum256(p.Encode())
	return hex.EncodeToString(sum[:6])
}

// Key names a lane of the plan, among all lanes of all plans: such as
// w1-L007-3f9a21bc0d44. It can stand in a branch, in a file name and in an artifact's.
func (p *Plan) Key(l *Lane) string {
	return LaneKey{Wave: p.Wave, Lane: l.Name, Plan: p.ID()}.String()
}
