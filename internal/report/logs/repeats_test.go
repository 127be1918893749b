package logs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// shown is what the log shows of an output.
func shown(r *logs.Repeats, output ...string) []string {
	out := r.Output()
	var all []string
	add := func(reference string, lines []string) {
		if reference != "" {
			all = append(all, "… "+reference)
		}
		all = append(all, lines...)
	}
	for _, line := range output {
		add(out.Line(line))
	}
	add(out.End())
	return all
}

// numbered are lines that differ.
func numbered(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %c", 'a'+i))
	}
	return lines
}

func TestWhatWasShownIsReferredTo(t *testing.T) {
	t.Parallel()
	ten := numbered(10)
	changed := slices.Clone(ten)
	changed[4] = "another"
	ending := []string{"line f", "line g", "line h", "line i", "line j"}
	for _, c := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"the same", ten, ten, append([]string{"… same output as in the baseline (10 lines), which ends:"}, ending...)},
		{"a short one", ten[:6], ten[:6], ten[:6]},
		{"a line that is new, with what leads to it", ten, changed, []string{"… 2 lines as in the baseline", "line c", "line d", "another", "line f", "line g", "line h", "line i", "line j"}},
		{"nothing known", ten, []string{"x", "y"}, []string{"x", "y"}},
		{"only the beginning", ten, ten[:8], []string{"… 3 lines as in the baseline", "line d", "line e", "line f", "line g", "line h"}},
		{"lines in another order are new", ten, []string{"line b", "line a", "line d", "line c"}, []string{"line b", "line a", "line d", "line c"}},
		{"a loop is shown", []string{"x"}, slices.Repeat([]string{"again"}, 9), slices.Repeat([]string{"again"}, 9)},
		{"nothing", ten, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r logs.Repeats
			if got := shown(&r, c.before...); !slices.Equal(got, c.before) {
				t.Errorf("the first output is shown as %q", got)
			}
			if got := shown(&r, c.after...); !slices.Equal(got, c.want) {
				t.Errorf("the second output is shown as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestRepeatsNamesThePlace(t *testing.T) {
	t.Parallel()
	var r logs.Repeats
	r.Begin(1)
	shown(&r, numbered(8)...)
	r.Begin(2)
	shown(&r, append(numbered(8), "new 1", "new 2", "new 3", "new 4", "new 5", "new 6", "new 7", "new 8")...)
	r.Begin(3)
	if got := shown(&r, numbered(8)...)[0]; got != "… same output as in iteration 1 (8 lines), which ends:" {
		t.Errorf("the third output is %q", got)
	}
	if got := shown(&r, append(numbered(8), "new 1", "new 2", "new 3", "new 4", "new 5", "new 6", "end")...)[0]; got != "… 12 lines as in iteration 1 and iteration 2" {
		t.Errorf("the fourth output begins with %q", got)
	}
}

// What varies from run to run makes no line new; what a test counts does.
func TestRepeatsKnowsWhatVaries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"--- FAIL: TestX (0.12s)", "--- FAIL: TestX (1.30s)", true},
		{"# duration_ms 45.1", "# duration_ms 45012.7", true},
		{"finished in 950ms", "finished in 1.2 s", true},
		{"2026-01-02 10:11:12.5 ERROR x", "2026-01-03 23:00:01.25 ERROR x", true},
		{"panic at 0xc000012345", "panic at 0xc0000aaaaa", true},
		{"open /tmp/tmp.x8f2/a.db: busy", "open /tmp/tmp.9KKq/a.db: busy", true},
		{"listening on 127.0.0.1:41233", "listening on 127.0.0.1:8080", true},
		{"3 failed, 5 passed", "2 failed, 6 passed", false},
		{"want 200, got 100", "want 200, got 150", false},
		{"price_test.go:12: wrong", "price_test.go:14: wrong", false},
		{"100 !== 200", "100 !== 201", false},
	} {
		var r logs.Repeats
		shown(&r, append([]string{c.a}, numbered(8)...)...)
		got := shown(&r, append([]string{c.b}, numbered(8)...)...)
		if same := strings.Contains(got[0], "same output"); same != c.same {
			t.Errorf("%q after %q: the same is %v, want %v", c.b, c.a, same, c.same)
		}
	}
}

func TestFormatterRefersToMessagesAndOutputs(t *testing.T) {
	t.Parallel()
	r := &logs.Repeats{}
	f := &logs.Formatter{MaxOutputLines: 4, Repeats: r}
	message := ralph.Event{Kind: ralph.EventText, Text: "The plan:\n1. read\n2. write"}
	output := ralph.Event{Kind: ralph.EventToolEnd, Tool: "Read", Text: strings.Join(numbered(10), "\n")}
	first := func() []string { r.Begin(1); return append(f.Lines(message), f.Lines(output)...) }()
	if want := []string{"The plan:", "1. read", "2. write", "[OK] Result ← Read (10 lines, 69 chars)", "  ⎿  line a", "     line b", "     line c", "     line d", "     … 6 more lines"}; !slices.Equal(first, want) {
		t.Errorf("the first are %q, want %q", first, want)
	}
	r.Begin(2)
	second := append(f.Lines(message), f.Lines(output)...)
	if want := []string{"… the same message as in iteration 1", "[OK] Result ← Read (10 lines, 69 chars)", "  ⎿  … 2 lines as in iteration 1", "     line c", "     line d", "     … 6 more lines"}; !slices.Equal(second, want) {
		t.Errorf("the second are %q, want %q", second, want)
	}
	if short := f.Lines(ralph.Event{Kind: ralph.EventText, Text: "Done."}); len(short) != 1 || short[0] != "Done." {
		t.Errorf("a short message is %q", short)
	}
	if again := f.Lines(message); again[0] != "… the same message as in iteration 1" {
		t.Errorf("again it is %q", again)
	}
}
