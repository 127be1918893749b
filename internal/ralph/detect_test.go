package ralph_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestDetector(t *testing.T) {
	promise := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}
	response := ralph.Completion{Kind: ralph.CompletionResponse, Token: "Done"}
	type block struct{ message, text string }
	for _, tc := range []struct {
		name   string
		c      ralph.Completion
		blocks []block
		want   bool
	}{
		{"promise", promise, []block{{"1", "All done. <promise>COMPLETE</promise>"}}, true},                     // 000-26
		{"promise inside a code fence", promise, []block{{"1", "```\n<promise>COMPLETE</promise>\n```"}}, true}, // 004-02
		{"promise in another case", promise, []block{{"1", "<promise>complete</promise>"}}, false},
		{"promise with a space inside", promise, []block{{"1", "<promise> COMPLETE</promise>"}}, false},
		{"promise of another token", promise, []block{{"1", "<promise>COMPLETED</promise>"}}, false},
		{"promise split over two blocks of a message", promise, []block{{"1", "x<promise>COM"}, {"1", "PLETE</promise>"}}, true},
		{"promise split over two messages", promise, []block{{"1", "<promise>COM"}, {"2", "PLETE</promise>"}}, false},
		{"promise in the first of two messages", promise, []block{{"1", "<promise>COMPLETE</promise>"}, {"2", "bye"}}, true},
		{"response", response, []block{{"1", "<response>DONE</response>"}}, true}, // 001-27
		{"response with tags in another case", response, []block{{"1", "<Response>done</RESPONSE>"}}, true},
		{"response over lines", response, []block{{"1", "<response>\n done\n</response>"}}, true},
		{"the first response wins", response, []block{{"1", "<response>no</response><response>done</response>"}}, false},
		{"response split", response, []block{{"1", "<resp"}, {"1", "onse>do"}, {"1", "ne</respon"}, {"1", "se>"}}, true},
		{"response never closed", response, []block{{"1", "<response>done"}}, false},
		{"response too long to be the token", response, []block{{"1", "<response>" + strings.Repeat("x", 1<<20)}, {"1", "</response><response>done</response>"}}, false},
		{"nothing", promise, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := ralph.NewDetector(tc.c)
			for _, b := range tc.blocks {
				d.Write(b.message, b.text)
			}
			if d.Found() != tc.want {
				t.Errorf("Found() = %v, want %v", d.Found(), tc.want)
			}
		})
	}
}

// However a text is cut into blocks, the answer is the same.
func FuzzDetector(f *testing.F) {
	f.Add("a<promise>COMPLETE</promise>b", uint(3), true)
	f.Add("<<promise>COMPLETE</promise", uint(1), true)
	f.Add("<response>\nDONE </RESPONSE>", uint(2), false)
	f.Add("<response>x</response><response>complete</response>", uint(7), false)
	f.Fuzz(func(t *testing.T, text string, size uint, promise bool) {
		c := ralph.Completion{Kind: ralph.CompletionResponse, Token: "COMPLETE"}
		if promise {
			c.Kind = ralph.CompletionPromise
		}
		step := int(size%16) + 1
		whole, parts := ralph.NewDetector(c), ralph.NewDetector(c)
		whole.Write("m", text)
		for s := text; s != ""; s = s[min(step, len(s)):] {
			parts.Write("m", s[:min(step, len(s))])
		}
		if whole.Found() != parts.Found() {
			t.Errorf("Found() = %v in blocks of %d, %v whole: %q", parts.Found(), step, whole.Found(), text)
		}
		if promise && whole.Found() != strings.Contains(text, c.Marker()) {
			t.Errorf("Found(%q) = %v", text, whole.Found())
		}
	})
}

// Where no one chose a marker, both usual ones count, each by its own rules.
func TestEitherMarker(t *testing.T) {
	t.Parallel()
	for _, told := range []ralph.Completion{
		{Kind: ralph.CompletionPromise, Token: "COMPLETE", Either: true},
		{Kind: ralph.CompletionResponse, Token: "DONE", Either: true},
	} {
		for _, tc := range []struct {
			said, stray string
			want        bool
		}{
			{"<promise>COMPLETE</promise>", "", true},
			{"<response>DONE</response>", "", true},
			{"<Response> done </response>", "", true},
			{"<response>Add a test</response> <promise>COMPLETE</promise>", "", true},
			{"<promise>complete</promise>", "<promise>complete</promise>", false},
			{"<promise>DONE</promise>", "<promise>DONE</promise>", false},
			{"<response>COMPLETE</response>", "<response>COMPLETE</response>", false},
			{"<response>no</response> <response>DONE</response>", "<response>no</response>", false},
			{"I am done.", "", false},
		} {
			d := ralph.NewDetector(told)
			d.Write("1", tc.said)
			if d.Found() != tc.want || d.Stray() != tc.stray {
				t.Errorf("%+v: %q: found %v, stray %q; want %v, %q", told, tc.said, d.Found(), d.Stray(), tc.want, tc.stray)
			}
		}
	}
}

func TestStrayTags(t *testing.T) {
	t.Parallel()
	promise := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}
	for _, tc := range []struct {
		name, text, want string
		c                ralph.Completion
	}{
		{"the other dialect's", "<response>DONE</response>", "<response>DONE</response>", promise},
		{"the last one", "<response>a</response> x < y <promise>b</promise>", "<promise>b</promise>", promise},
		{"in another case", "<PROMISE>COMPLETE</Promise>", "<PROMISE>COMPLETE</Promise>", promise},
		{"over lines", "<promise>\nCOMPLETE\n</promise>", "<promise>\nCOMPLETE\n</promise>", promise},
		{"never closed", "<promise>DONE", "", promise},
		{"an essay", "<response>" + strings.Repeat("x", 1000) + "</response>", "", promise},
		{"behind an essay", "<response>" + strings.Repeat("<", 1000) + "</response><promise>DONE</promise>", "<promise>DONE</promise>", promise},
		{"of no marker's form", "<p>COMPLETE</p> <promised>x</promised>", "", promise},
		{"nothing stray when it counts", "<promise>no</promise> <promise>COMPLETE</promise>", "", promise},
		{"a file is asked for", "<promise>COMPLETE</promise>", "", ralph.Completion{Kind: ralph.CompletionDoneFile}},
		{"a list is asked for", "<promise>DONE</promise>", "", ralph.Completion{Kind: ralph.CompletionTasks, Token: "COMPLETE"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			whole, split := ralph.NewDetector(tc.c), ralph.NewDetector(tc.c)
			whole.Write("1", tc.text)
			for i := range len(tc.text) {
				split.Write("1", tc.text[i:i+1])
			}
			if whole.Stray() != tc.want || split.Stray() != tc.want {
				t.Errorf("Stray() of %q = %q whole, %q byte by byte; want %q", tc.text, whole.Stray(), split.Stray(), tc.want)
			}
			two := ralph.NewDetector(tc.c)
			two.Write("1", tc.text[:len(tc.text)/2])
			two.Write("2", tc.text[len(tc.text)/2:])
			if got := two.Stray(); got != "" && got == tc.want && !strings.Contains(tc.text[:len(tc.text)/2], got) && !strings.Contains(tc.text[len(tc.text)/2:], got) {
				t.Errorf("Stray() = %q over two messages", got)
			}
		})
	}
}

func TestNamedIn(t *testing.T) {
	t.Parallel()
	promise := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}
	either := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE", Either: true}
	for _, tc := range []struct {
		c          ralph.Completion
		text, want string
	}{
		{promise, "Print <promise>COMPLETE</promise>.", "<promise>COMPLETE</promise>"},
		{promise, "Print <promise>complete</promise>.", ""},
		{promise, "Print <response>DONE</response>.", ""},
		{either, "Print <response>done</response>.", "<response>DONE</response>"},
		{either, "Print <response>DONE</response> or <promise>COMPLETE</promise>.", "<promise>COMPLETE</promise>"},
		{either, "Make it work.", ""},
	} {
		if got := tc.c.NamedIn(tc.text); got != tc.want {
			t.Errorf("%+v.NamedIn(%q) = %q, want %q", tc.c, tc.text, got, tc.want)
		}
	}
}
