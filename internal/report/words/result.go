package words

import (
	"fmt"
	"strconv"

	"github.com/org/ralph-action/internal/ralph"
)

// IterationNumber is the number of an iteration, or the first and the last of
// the iterations that its session went on for: "1–4".
func IterationNumber(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return fmt.Sprintf("%d–%d", it.Number, it.Number+n-1)
	}
	return strconv.Itoa(it.Number)
}

// roundWords is "4 iterations", or "kept going once" where a stop hook begins no
// iterations; empty when no stop hook had to.
func roundWords(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return Plural(n, "iteration")
	}
	switch n := Kept(it); n {
	case 0:
		return ""
	case 1:
		return "kept going once"
	default:
		return fmt.Sprintf("kept going %d times", n)
	}
}

// Kept counts how often a stop hook kept the agent going.
func Kept(it ralph.Iteration) int {
	n := 0
	for _, t := range it.Turns {
		n += t.Kept
	}
	return n
}
