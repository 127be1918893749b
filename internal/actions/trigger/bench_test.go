package trigger_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
)

// The issue with the longest text that GitHub takes.
func BenchmarkDecide(b *testing.B) {
	e := labelled(func(e *trigger.Event) {
		e.Issue.Body = strings.Repeat("It says `hallo`, and [should](https://example.com) say hello &amp; more.\n", 900)
	})
	for b.Loop() {
		if d, err := trigger.Decide(e, trigger.Settings{}); err != nil || !d.Run {
			b.Fatal(err)
		}
	}
}
