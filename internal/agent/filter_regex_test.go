package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// A long line keeps no filter busy, whatever function it uses: what gojq needs to
// find all matches grows with the square of the text, and cannot be stopped.
func TestLongLinesAndExpressions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter string
		size   int
		passed bool
	}{
		{`.text|gsub("a";"b")`, 1 << 20, false},
		{`.text|[scan("a")]|length`, 1 << 20, false},
		{`[.text|splits("a+")]|length`, 1 << 20, false},
		{`.text|sub("a";"b")`, 4 << 10, true},
		{`.text|ltrimstr("a")|length`, 1 << 20, true}, // no expression
		{`select(.text|test("a"))|"found"`, 1 << 20, true},
	} {
		codes, err := custom{}.compile(Options{Filters: map[string]string{"text": tt.filter}})
		if err != nil {
			t.Fatal(err)
		}
		passed := false
		d := newCustomDecoder(codes, Options{}, ralph.Prompt{}, func(e ralph.Event) { passed = passed || e.Kind == ralph.EventText }, func() {})
		started := time.Now()
		d.Stdout([]byte(`{"text":"` + strings.Repeat("a", tt.size) + `"}` + "\n"))
		d.Close()
		if took := time.Since(started); passed != tt.passed || took > time.Minute {
			t.Errorf("%s on %d bytes: passed = %t after %v, want %t", tt.filter, tt.size, passed, took, tt.passed)
		}
	}
}
