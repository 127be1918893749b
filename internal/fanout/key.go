package fanout

import (
	"fmt"
	"strconv"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// LaneKey names a lane among all lanes of all plans.
type LaneKey struct {
	Wave int    // from 1
	Lane string // Lane.Name
	Plan string // Plan.ID
}

// String is the key as it is passed from job to job.
func (k LaneKey) String() string { return fmt.Sprintf("w%d-%s-%s", k.Wave, k.Lane, k.Plan) }

var keySyntax = lazyregexp.New(`^w([1-9][0-9]{0,5})-(L[0-9]{3})-([0-9a-f]{12})$`)

// ParseLaneKey reads what LaneKey.String wrote.
func ParseLaneKey(s string) (LaneKey, error) {
	m := keySyntax.FindStringSubmatch(s)
	if m == nil {
		return LaneKey{}, fmt.Errorf("%.60q names no lane: give the key that the plan printed, such as w1-L007-3f9a21bc0d44", s)
	}
	wave, err := strconv.Atoi(m[1])
	return LaneKey{Wave: wave, Lane: m[2], Plan: m[3]}, err
}
