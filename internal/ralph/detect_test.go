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
