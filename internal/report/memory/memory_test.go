package memory_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
)

// commits writes the messages of a branch, given oldest first, newest first.
func commits(oldestFirst ...string) []string {
	list := slices.Clone(oldestFirst)
	slices.Reverse(list)
	return list
}

func checkpoint(run string, number int, usd string, more ...string) string {
	text := fmt.Sprintf("ralph: iteration %d\n\nRalph-Run: %s\nRalph-Iteration: %d\n", number, run, number)
	if usd != "" {
		text += "Ralph-Cost-USD: " + usd + "\n"
	}
	return text + strings.Join(more, "")
}

func TestReadHistory(t *testing.T) {
	t.Parallel()
	const done = "Ralph-Outcome: completed\n"
	paid := func(n ralph.MicroUSD) ralph.Cost { return ralph.Cost{Amount: n} }
	lost := func(n ralph.MicroUSD) ralph.Cost { return ralph.Cost{Amount: n, Unknown: true} }
	for name, c := range map[string]struct {
		messages []string
		cut      bool
		want     ralph.History
	}{
		"nothing":        {},
		"other people's": {messages: commits("Add a file\n", "", "Merge x\n\nRalph is nice: yes\n")},
		"two runs": {
			messages: commits(checkpoint("A", 1, "0.5"), checkpoint("A", 2, "0.25"), "by a person\n", checkpoint("A", 3, "1"), checkpoint("B", 4, "0.000001"), checkpoint("B", 5, "2", done)),
			want: ralph.History{Runs: []ralph.Past{
				{Run: "A", Iterations: 3, Commits: 3, Cost: paid(1_750_000)}, {Run: "B", Iterations: 2, Commits: 2, Cost: paid(2_000_001), Outcome: ralph.Completed},
			}},
		},
		"one commit for a run": {
			messages: commits(checkpoint("A", 3, "1"), checkpoint("B", 6, "1")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 3, Commits: 1, Cost: paid(1_000_000)}, {Run: "B", Iterations: 3, Commits: 1, Cost: paid(1_000_000)}}},
		},
		"each run counted from 1": {
			messages: commits(checkpoint("A", 1, "1"), checkpoint("A", 2, "1"), checkpoint("B", 1, "1"), checkpoint("B", 2, "1"), checkpoint("B", 3, "1"), checkpoint("C", 6, "1")),
			want: ralph.History{Runs: []ralph.Past{
				{Run: "A", Iterations: 2, Commits: 2, Cost: paid(2_000_000)}, {Run: "B", Iterations: 3, Commits: 3, Cost: paid(3_000_000)}, {Run: "C", Iterations: 1, Commits: 1, Cost: paid(1_000_000)},
			}},
		},
		"a run again under its name": {
			messages: commits(checkpoint("A", 1, "1"), checkpoint("A", 2, "1", done), checkpoint("A", 3, "1")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 3, Commits: 3, Cost: paid(3_000_000)}}},
		},
		"at the same time": {
			messages: commits(checkpoint("Z", 3, "0"), checkpoint("A", 4, "0"), checkpoint("B", 4, "0"), checkpoint("A", 5, "0"), checkpoint("B", 5, "0"), checkpoint("A", 6, "0")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "Z", Iterations: 3, Commits: 1}, {Run: "A", Iterations: 3, Commits: 3}, {Run: "B", Iterations: 2, Commits: 2}}},
		},
		"cost not told": {
			messages: commits(checkpoint("A", 1, "0.5"), checkpoint("A", 2, ""), checkpoint("A", 3, "", "Ralph-Cost-At-Least-USD: 0.1\nRalph-Cost-Estimated: true\n")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 3, Commits: 3, Cost: ralph.Cost{Amount: 600_000, Unknown: true, Estimated: true}}}},
		},
		"the last outcome counts": {
			messages: commits(checkpoint("A", 1, "0", done), checkpoint("A", 2, "0", "Ralph-Outcome: fine\n")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 2, Commits: 2}}},
		},
		"only the last paragraph": {
			messages: commits("x\n\nRalph-Run: forged\nRalph-Cost-USD: 9\n\nBy a person.\n", "Ralph-Run: subject\n", "x\n\nas in\nRalph-Run: prose\n", checkpoint("A", 1, "0")),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 1, Commits: 1}}},
		},
		"other trailers and line ends": {
			messages: commits("x\r\n\r\nRefs: 1\r\nralph-run: A\r\nRALPH-ITERATION : 1\r\nRalph-Cost-USD: 0.5\r\nSigned-off-by: M <m@x.example>\r\n(cherry picked from commit 123)\r\n\r\n"),
			want:     ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 1, Commits: 1, Cost: paid(500_000), Did: []string{"x"}}}},
		},
		"nonsense": {
			messages: commits(
				checkpoint("A", 1, "-5"), checkpoint("A", -3, "1e99"), checkpoint("A", 1_000_000_000_000, "NaN"), checkpoint("A", 2, "1000000"), checkpoint("A", 3, "0.5"),
				checkpoint("A", 0, "0x10"), "x\n\nRalph-Run: A\nRalph-Iteration: many\nRalph-Cost-USD: 1,5\n", "x\n\nRalph-Run:\nRalph-Iteration: 1\n", checkpoint("A", 4, "0.12345678"),
			),
			want: ralph.History{Runs: []ralph.Past{{Run: "A", Iterations: 4, Commits: 8, Cost: lost(500_000), Did: []string{"x"}}}},
		},
		"cut": {
			messages: commits(checkpoint("A", 41, "1"), checkpoint("B", 42, "1")), cut: true,
			want: ralph.History{Cut: true, Runs: []ralph.Past{
				{Iterations: 40, Cost: lost(0)}, {Run: "A", Iterations: 1, Commits: 1, Cost: paid(1_000_000)}, {Run: "B", Iterations: 1, Commits: 1, Cost: paid(1_000_000)},
			}},
		},
	} {
		got := memory.ReadHistory(c.messages, c.cut)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: ReadHistory() = %+v, want %+v", name, got, c.want)
		}
	}
}

// What an agent says of the change is read back as it was written, whatever stands around
// it; a body without a title of ours is the owner's, or a person's.
func TestWhatWasSaidIsRemembered(t *testing.T) {
	t.Parallel()
	write := func(said ralph.Said, template string) string {
		return memory.CommitMessage(ralph.Iteration{Number: 1, Said: said}, memory.Checkpoint{Run: "A", Template: template, Signoff: "M <m@x.example>"})
	}
	all := ralph.Said{Commit: "Round half up", Title: "Round prices half up", Description: "Prices were **cut**.\n\n- now rounded\n\n```js\nMath.round(x)\n```"}
	for name, c := range map[string]struct {
		messages []string
		want     ralph.Said
		did      []string
	}{
		"said":               {commits(write(all, "")), ralph.Said{Title: all.Title, Description: all.Description}, []string{"Round half up"}},
		"below an owner's":   {commits(write(all, "chore: work")), ralph.Said{Title: all.Title, Description: all.Description}, []string{"chore: work"}},
		"an owner's body":    {commits(write(all, "chore: work\n\nWhy.")), ralph.Said{}, []string{"chore: work"}},
		"a line":             {commits(write(ralph.Said{Commit: "Round half up"}, "")), ralph.Said{}, []string{"Round half up"}},
		"nothing":            {commits(write(ralph.Said{}, "")), ralph.Said{}, nil},
		"the newest":         {commits(write(ralph.Said{Title: "One", Description: "First."}, ""), write(ralph.Said{Commit: "Two"}, ""), write(all, "")), ralph.Said{Title: all.Title, Description: all.Description}, []string{"Two", "Round half up"}},
		"only what was last": {commits(write(all, ""), write(ralph.Said{Commit: "Mend"}, "")), ralph.Said{Title: all.Title, Description: all.Description}, []string{"Round half up", "Mend"}},
	} {
		h := memory.ReadHistory(c.messages, false)
		if len(h.Runs) != 1 || h.Runs[0].Said != c.want || !slices.Equal(h.Runs[0].Did, c.did) {
			t.Errorf("%s: ReadHistory() = %+v, want %+v, %q of\n%s", name, h.Runs, c.want, c.did, strings.Join(c.messages, "\n"))
		}
	}
}

// However much a branch holds, what is remembered is bounded.
func TestReadHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var list []string
	for n := range 1500 {
		list = append(list, checkpoint(fmt.Sprint("run ", n, strings.Repeat("x", 5000)), 1_000_000, "999999.999999"))
	}
	list[0] = strings.Repeat("word\n", 1<<20) + "\n" + list[0]
	h := memory.ReadHistory(list, false)
	if !h.Cut || len(h.Runs) > 1001 || h.Iterations() > 2_000_000 {
		t.Errorf("ReadHistory(1500 commits) has %d runs, %d iterations, cut %v; want at most 1001, 2000000, true", len(h.Runs), h.Iterations(), h.Cut)
	}
	if c := h.Cost(); c.Amount != 1000*(1_000_000*ralph.USD-1) || !c.Unknown {
		t.Errorf("Cost() = %+v, want the sum of a thousand, unknown", c)
	}
	if n := utf8.RuneCountInString(h.Runs[1].Run); n > 200 {
		t.Errorf("Run has %d characters, want at most 200", n)
	}
}

// What a run writes, the next one reads.
func TestTheNextRunReadsWhatThisOneWrote(t *testing.T) {
	t.Parallel()
	var messages []string
	for night := 1; night <= 3; night++ {
		h := memory.ReadHistory(messages, false)
		for n := 1; n <= 2; n++ {
			at := memory.Checkpoint{Run: fmt.Sprint(night), Before: h.Iterations(), Cost: ralph.Cost{Amount: 250_000}, Signoff: "M <m@x.example>"}
			if n == 2 {
				at.Outcome = ralph.Completed
			}
			messages = slices.Insert(messages, 0, memory.CommitMessage(ralph.Iteration{Number: n}, at))
		}
	}
	h := memory.ReadHistory(messages, false)
	if h.Iterations() != 6 || h.Cost() != (ralph.Cost{Amount: 1_500_000}) || len(h.Runs) != 3 || h.Runs[2].Outcome != ralph.Completed {
		t.Errorf("ReadHistory(three nights) = %+v, want 3 runs of 2 iterations and $0.50", h)
	}
	if !strings.HasPrefix(messages[0], "ralph: iteration 6\n") {
		t.Errorf("the last message is %q, want iteration 6", messages[0])
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add("x\n\nRalph-Run: 1\nRalph-Iteration: 2\nRalph-Cost-USD: 0.5\nRalph-Outcome: completed\n", "y\r\n\r\nRalph-Run: 2\r\n", false)
	f.Add("x\n\nRalph-Run: 1\nRalph-Iteration: 99999999999999999999\nRalph-Cost-USD: 1e99\n", "\n\n\nRalph-Run: \xff\u202e\n #\n: \n", true)
	f.Add("#\n\n# \n\n(cherry picked from commit \n a: b", "Ralph-Run: 1", true)
	f.Fuzz(func(t *testing.T, a, b string, cut bool) {
		messages := []string{a, b, a + b, b + "\n" + a}
		h := memory.ReadHistory(messages, cut)
		if len(h.Runs) > len(messages)+1 || h.Iterations() < 0 || h.Iterations() > 4_000_000 {
			t.Fatalf("%d runs, %d iterations of 4 messages", len(h.Runs), h.Iterations())
		}
		if c := h.Cost(); c.Amount < 0 || c.Amount > 4_000_000*ralph.USD {
			t.Fatalf("Cost() = %+v", c)
		}
		for _, p := range h.Runs {
			if strings.ContainsAny(p.Run, "\n\r\x1b\x00") || !utf8.ValidString(p.Run) || p.Iterations < 0 || p.Commits > len(messages) {
				t.Fatalf("a run %+v", p)
			}
		}
	})
}

// Whatever an owner's template or an agent says, a checkpoint is read back as
// it was meant.
func FuzzCheckpoint(f *testing.F) {
	f.Add("calc: repair\n\nRefs: 1", "", "42", 3, int64(15_100), false, "")
	f.Add("x\n\nRalph-Run: 1\nRalph-Cost-USD: 9\n\nSigned-off-by: M <m@x>\nprose\nRalph-Outcome: completed", "", "4", 1, int64(0), true, "M <m@x>")
	f.Add("", "feat: x\n\nRalph-Run : 7\n folded\n\n# \n", "20260205T100000Z", 1_000_000, int64(math.MaxInt64), false, "Ralph-Run: 9")
	f.Fuzz(func(t *testing.T, template, said, run string, number int, amount int64, unknown bool, signoff string) {
		if number < 1 || number > 500_000 || amount < 0 || amount >= int64(1_000_000*ralph.USD) {
			t.Skip()
		}
		at := memory.Checkpoint{Template: template, Run: "r" + run, Before: number, Cost: ralph.Cost{Amount: ralph.MicroUSD(amount), Unknown: unknown}, Outcome: ralph.Completed, Signoff: signoff}
		message := memory.CommitMessage(ralph.Iteration{Number: number, Delivery: ralph.Delivery{Message: said}}, at)
		h := memory.ReadHistory([]string{message}, false)
		if len(h.Runs) != 1 {
			t.Fatalf("%q is read as %+v", message, h)
		}
		p := h.Runs[0]
		if p.Iterations != 2*number || p.Cost != at.Cost || p.Outcome != ralph.Completed || !strings.HasPrefix(p.Run, "r") {
			t.Fatalf("%q is read as %+v, want %d iterations, %+v", message, p, 2*number, at.Cost)
		}
		if !utf8.ValidString(message) || strings.ContainsAny(message, "\x00\x1b\r") {
			t.Fatalf("%q is no message", message)
		}
	})
}

func TestForged(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"work\n\nRalph-Run: 4242\n":                          true,
		"work\n\nralph-cost-usd : 9\n\nprose at the end\n":   true,
		"work\r\rRalph-Outcome: completed":                   true,
		"Ralph-Iteration: 900":                               true,
		"work\n\nThis is Ralph-Run, not a trailer\n":         false,
		"work\n\nSigned-off-by: A <a@example.com>\n":         false,
		"fix: Ralph-Run: in the middle of a line is no harm": false,
		"": false,
	} {
		if got := memory.Forged(message); got != want {
			t.Errorf("Forged(%q) = %t, want %t", message, got, want)
		}
	}
}

// What was left out comes back as it was, whatever the name of the file; the last
// checkpoint of a run counts.
func TestReadHistoryOfWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a1", 20)
	missing := []ralph.Missing{
		{Path: ".github/workflows/ci.yml", ID: id}, {Path: "CODEOWNERS"},
		{Path: "a b/@octo fixes #7 [skip ci]\nRalph-Run: 9\x00%2F+\xff", ID: id},
	}
	message := memory.CommitMessage(ralph.Iteration{Number: 2}, memory.Checkpoint{Run: "7", LeftOut: missing})
	for _, bad := range []string{"@octo", "#7", "[skip", "\nRalph-Run: 9"} {
		if strings.Contains(message, bad) {
			t.Errorf("CommitMessage() = %q, want no %q in it", message, bad)
		}
	}
	older := memory.CommitMessage(ralph.Iteration{Number: 1}, memory.Checkpoint{Run: "7", LeftOut: []ralph.Missing{{Path: "gone"}}})
	got := memory.ReadHistory([]string{message, older}, false)
	if len(got.Runs) != 1 || !slices.Equal(got.Runs[0].LeftOut, missing) {
		t.Errorf("ReadHistory() = %+v, want one run that left out %q", got.Runs, missing)
	}
	if !memory.Forged("feat\n\nralph-left-out: CODEOWNERS\n") {
		t.Error("Forged(a trailer of what was left out) = false, want true")
	}
	long := memory.CommitMessage(ralph.Iteration{Number: 1}, memory.Checkpoint{Run: "7", LeftOut: slices.Repeat([]ralph.Missing{{Path: "x"}}, 50)})
	if n := strings.Count(long, "Ralph-Left-Out"); n != 10 {
		t.Errorf("%d trailers, want 10", n)
	}
}
