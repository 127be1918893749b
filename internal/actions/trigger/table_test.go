package trigger

import (
	"runtime"
	"strings"
	"testing"
)

// A few thousand characters that stand for millions of cells are not rendered, and no
// text hides behind them; an ordinary long table is.
func TestTableThatGrows(t *testing.T) {
	// Not parallel: what is allocated is counted.
	const n = 2500
	bomb := strings.Repeat("|a", n) + "|\n" + strings.Repeat("|-", n) + "|\n" + strings.Repeat("a\n", 2*n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := clean("Do it.\n\n"+bomb+"\n<!-- hidden -->\nThe end.", maxBody)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("%d MB allocated for a text of %d KB", mb, len(bomb)>>10)
	}
	if !strings.HasPrefix(c.text, "Do it.") || !strings.HasSuffix(c.text, "The end.") || strings.Contains(c.text, "hidden") || c.removed < len(bomb)-10 {
		t.Errorf("clean() = %q, %d characters removed", first(c.text, 200), c.removed)
	}
	table := "| `a` | b | c | d |\n|---|---|---|---|\n" + strings.Repeat("| 1 | 2 | 3 | <b>4</b> |\n", 2000)
	if c := clean(table, maxBody); c.text != strings.TrimSpace(table) || c.removed != 0 {
		t.Errorf("a table of 2000 rows lost something: %d characters removed", c.removed)
	}
}
