package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/transcript"
)

var start = time.Date(2026, 2, 5, 10, 0, 0, 0, time.UTC)

// keep tells a new transcript of events, a second apart.
func keep(mask func(string) string, events ...ralph.Event) *transcript.Kept {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	k := &transcript.Kept{Mask: mask}
	for i, e := range events {
		e.At = start.Add(time.Duration(i) * time.Second)
		k.Event(e)
	}
	return k
}

func begin(n int) ralph.Event { return ralph.Event{Kind: ralph.EventIterationStart, Iteration: n} }
func end() ralph.Event {
	return ralph.Event{Kind: ralph.EventIterationEnd, Record: &ralph.Iteration{}}
}
func prompt(text string) ralph.Event {
	return ralph.Event{Kind: ralph.EventPrompt, Text: text, Attempt: 1}
}
func said(message, text string) ralph.Event {
	return ralph.Event{Kind: ralph.EventText, Message: message, Text: text}
}
func toolStart(id, name, input string) ralph.Event {
	return ralph.Event{Kind: ralph.EventToolStart, ToolID: id, Tool: name, Text: input}
}
func toolEnd(id, text string) ralph.Event {
	return ralph.Event{Kind: ralph.EventToolEnd, ToolID: id, Text: text}
}

// steps are those of an iteration in words.
func steps(it *transcript.Iteration) string {
	var all []string
	for _, list := range [][]*transcript.Step{it.First, it.Last} {
		for _, s := range list {
			all = append(all, fmt.Sprintf("%d %s|%s|%s|%s", s.Kind, s.Tool, s.Input, s.Text, s.Took))
		}
	}
	return strings.Join(all, "\n")
}

// A tool's end belongs to its start, whatever comes between; the pieces of a message are
// one text; a prompt is kept once.
func TestEventsBecomeSteps(t *testing.T) {
	t.Parallel()
	k := keep(nil, begin(1), prompt("Do it."), said("m1", "I will "), said("m1", "look."), said("m2", "Now."),
		toolStart("a", "Read", "x.go"), toolStart("b", "Bash", "ls"), toolEnd("b", "x.go\r\ny.go\n"), toolEnd("a", "package x"), toolEnd("?", "stray"),
		ralph.Event{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "one", Status: ralph.TodoDone}, {Text: "two"}}}, end(),
		begin(2), prompt("Do it."), said("", "Done."), end(),
		begin(3), prompt("Do more."), ralph.Event{Kind: ralph.EventIterationEnd}, // nobody was asked
		begin(4), prompt("Do more."), said("", "Cut"))
	its := k.Iterations()
	if len(its) != 3 {
		t.Fatalf("Iterations() = %d, want 3", len(its))
	}
	want := "1 ||I will look.|0s\n1 ||Now.|0s\n2 Read|x.go|package x|3s\n2 Bash|ls|x.go\ny.go|1s\n2 ||stray|0s\n4 ||[x] one\n[ ] two|0s"
	if got := steps(its[0]); got != want {
		t.Errorf("steps = \n%s\nwant\n%s", got, want)
	}
	if its[0].Prompt != "Do it." || its[1].Prompt != "" || its[1].SameAs != 1 || its[2].Number != 4 {
		t.Errorf("prompts = %q, %q the same as %d, %d", its[0].Prompt, its[1].Prompt, its[1].SameAs, its[2].Number)
	}
}

// Secrets are taken out of what is kept, also when something invisible splits them or two
// pieces of a message hold one together; what else is invisible is shown.
func TestTextsAreMaskedAndVisible(t *testing.T) {
	t.Parallel()
	mask := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	k := keep(mask, begin(1), prompt("hun\u200bter2"), said("m", "a hun"), said("m", "ter2 b"), said("n", "hun\x1b[31mter2"),
		toolStart("a", "hunter2", "hunter2"), toolEnd("a", "hunter2"), said("o", "\u202eevil\x00\x1b[1mbold\x1b]0;title\x07\xff"), end())
	it := k.Iterations()[0]
	want := "1 ||a *** b|0s\n1 ||***|0s\n2 ***|***|***|1s\n1 ||⟦U+202E⟧evil␀bold␛]0;title␇\uFFFD|0s"
	if got := steps(it); got != want {
		t.Errorf("steps = \n%s\nwant\n%s", got, want)
	}
	if it.Prompt != "***" {
		t.Errorf("prompt = %q, want ***", it.Prompt)
	}
}

// bytes is what iterations take, as it stands on the page.
func bytes(t *testing.T, its []*transcript.Iteration) int {
	t.Helper()
	n := 0
	for _, it := range its {
		n += len(it.Prompt)
		for _, list := range [][]*transcript.Step{it.First, it.Last} {
			for _, s := range list {
				if !utf8.ValidString(s.Text) {
					t.Errorf("iteration %d: %.100q is cut in a character", it.Number, s.Text)
				}
				n += len(s.Text)
			}
		}
	}
	return n
}

// What there is no room for is left out of the middle, and counted: the beginning and the
// end of each iteration stay, and each has as much room as the others.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ iterations, tools, output int }{{1, 2000, 10 << 10}, {200, 100, 1 << 10}, {200, 1, 100 << 10}, {1500, 3, 16 << 10}, {3, 1, 0}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			var events []ralph.Event
			for n := 1; n <= c.iterations; n++ {
				events = append(events, begin(n), prompt(fmt.Sprint("prompt ", n)), said("first", "The first word."))
				for i := range c.tools {
					id := fmt.Sprint(i)
					events = append(events, toolStart(id, "Bash", id), toolEnd(id, strings.Repeat("ü<\n", c.output/4)))
				}
				events = append(events, said("last", "The last word."), end())
			}
			its := keep(nil, events...).Iterations()
			if want := min(c.iterations, 1000); len(its) != want || its[len(its)-1].Number != c.iterations {
				t.Fatalf("Iterations() = %d, the last %d; want %d, the last %d", len(its), its[len(its)-1].Number, want, c.iterations)
			}
			if n := bytes(t, its); n > 7<<20 || c.iterations*c.tools*c.output > 7<<20 && n < 400<<10 {
				t.Errorf("%d bytes are kept, want at most 7 MB, and not next to none", n)
			}
			for _, it := range its {
				all := append(it.First[:len(it.First):len(it.First)], it.Last...)
				if all[0].Text != "The first word." || all[len(all)-1].Text != "The last word." {
					t.Errorf("iteration %d begins %.50q and ends %.50q", it.Number, all[0].Text, all[len(all)-1].Text)
				}
				if got, want := len(all)+it.LeftOut, c.tools+2; got != want {
					t.Errorf("iteration %d has %d steps and %d left out, together %d, want %d", it.Number, len(all), it.LeftOut, got, want)
				}
				if it.LeftOut > 0 && it.Bytes == 0 {
					t.Errorf("iteration %d leaves out %d steps of no bytes", it.Number, it.LeftOut)
				}
			}
		})
	}
}

// A long prompt keeps its beginning and its end.
func TestLongPrompt(t *testing.T) {
	t.Parallel()
	it := keep(nil, begin(1), prompt("begin "+strings.Repeat("ü", 5<<20)+" end"), end()).Iterations()[0]
	if len(it.Prompt) > 65<<10 || !strings.HasPrefix(it.Prompt, "begin ") || !strings.HasSuffix(it.Prompt, " end") || !strings.Contains(it.Prompt, "left out") || it.Asked != 5<<20+10 {
		t.Errorf("the prompt of %d characters has %d bytes: %.20q … %q", it.Asked, len(it.Prompt), it.Prompt, it.Prompt[len(it.Prompt)-20:])
	}
}

// Patches share their room; what one leaves is for the others.
func TestPatchesShareTheirRoom(t *testing.T) {
	t.Parallel()
	var events []ralph.Event
	for n := 1; n <= 200; n++ {
		events = append(events, begin(n), end())
	}
	k := keep(nil, events...)
	total := 0
	for i, it := range k.Iterations() {
		patch := "small\n"
		if i%2 == 1 {
			patch = strings.Repeat("+<line>\n", 256<<10/8)
		}
		k.Changed(it, patch)
		if len(it.Diff)+it.Cut != len(patch) || !strings.HasSuffix(it.Diff, "\n") {
			t.Errorf("iteration %d keeps %d bytes of its patch and leaves out %d, want %d together, in whole lines", it.Number, len(it.Diff), it.Cut, len(patch))
		}
		total += len(it.Diff) + strings.Count(it.Diff, "<")*10
	}
	if total > 3<<20 || total < 5<<19 {
		t.Errorf("patches take %d bytes, want nearly 3 MB", total)
	}
}
