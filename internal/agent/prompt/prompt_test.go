package prompt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/ralph"
)

var complete = ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}

const untouched = "Before any change was made, these checks already failed. They have to pass before the task counts as done:"

func text(s string) func() (string, error) { return func() (string, error) { return s, nil } }

func TestBareParts(t *testing.T) { // 001-14, 001-15, 001-16
	t.Parallel()
	fail := func(action ralph.FailAction, message string) ralph.Verdict {
		return ralph.Verdict{Action: action, Message: message}
	}
	for _, tc := range []struct {
		name  string
		count bool
		ask   ralph.Ask
		want  string
	}{
		{"task alone", false, ralph.Ask{Iteration: 1, Max: 10}, "task\n"},
		{"count in front", true, ralph.Ask{Iteration: 2, Max: 10, Failed: []ralph.Verdict{fail(ralph.Prepend, "lint")}}, "Iteration 2 of 10, 8 remaining.\n\nlint\n\ntask\n"},
		{"count without a limit", true, ralph.Ask{Iteration: 2}, "Iteration 2.\n\ntask\n"},
		{"append", false, ralph.Ask{Failed: []ralph.Verdict{fail(ralph.Append, "lint"), fail(ralph.Append, "test")}}, "task\n\nlint\n\ntest\n"},
		{"prepend and append", false, ralph.Ask{Failed: []ralph.Verdict{fail(ralph.Append, "lint"), fail(ralph.Prepend, "test")}}, "test\n\ntask\n\nlint\n"},
		{"replace keeps every message", false, ralph.Ask{Failed: []ralph.Verdict{fail(ralph.Append, "lint"), fail(ralph.Replace, "test"), fail(ralph.Prepend, "build")}}, "build\n\nlint\n\ntest\n"},
		{"the untouched tree never replaces", false, ralph.Ask{Untouched: true, Failed: []ralph.Verdict{fail(ralph.Replace, "test")}}, "task\n\n" + untouched + "\n\ntest\n"},
		{"the untouched tree stands behind the task", true, ralph.Ask{Iteration: 1, Max: 2, Untouched: true, Failed: []ralph.Verdict{fail(ralph.Append, "lint"), fail(ralph.Prepend, "test")}},
			"Iteration 1 of 2, 1 remaining.\n\ntask\n\n" + untouched + "\n\nlint\n\ntest\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := prompt.Builder{Task: text("task\n"), Completion: complete, Count: tc.count, Bare: true}.Build(tc.ask)
			if err != nil || p.Text != tc.want {
				t.Errorf("Build() = %q, %v; want %q", p.Text, err, tc.want)
			}
		})
	}
}

func TestRuleAndRemarks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		ask  ralph.Ask
		want string
	}{
		{"rule", ralph.Ask{}, "\n\n<promise>COMPLETE</promise>\n"},
		{"no marker", ralph.Ask{Rejection: ralph.RejectedNoMarker}, "ended without <promise>COMPLETE</promise>"},
		{"no work", ralph.Ask{Rejection: ralph.RejectedNoWork}, "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise."}, // 004-07
		{"red", ralph.Ask{Rejection: ralph.RejectedGuardrails}, "do not weaken the checks"},
		{"cut short", ralph.Ask{Rejection: ralph.RejectedTurn, Failure: &ralph.Failure{Kind: ralph.FailureTimeout, Message: "secret"}}, "ended early (timeout)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := prompt.Builder{Task: text("task"), Completion: complete}.Build(tc.ask)
			if err != nil || !strings.Contains(p.Text, tc.want) || strings.Contains(p.Text, "secret") {
				t.Errorf("Build() = %q, %v; want %q in it", p.Text, err, tc.want)
			}
		})
	}
}

func TestOwnRuleIsKept(t *testing.T) {
	t.Parallel()
	p, _ := prompt.Builder{Task: text("Say <promise>COMPLETE</promise> at the end."), Completion: complete}.Build(ralph.Ask{})
	if strings.Count(p.Text, complete.Marker()) != 1 {
		t.Errorf("Build() = %q, want the user's own rule only", p.Text)
	}
}

func TestTaskError(t *testing.T) {
	t.Parallel()
	gone := errors.New("prompt.md: gone")
	_, err := prompt.Builder{Task: func() (string, error) { return "", gone }}.Build(ralph.Ask{})
	if !errors.Is(err, gone) {
		t.Errorf("Build() error = %v, want %v", err, gone)
	}
}

// A task that says how to end is left as it is: by all of us where Own is set, and
// without a second rule elsewhere.
func TestTaskThatSaysHowToEnd(t *testing.T) {
	t.Parallel()
	const (
		yes = "Say <response>done</response> at the end."
		no  = "Make the tests pass."
	)
	either := ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE", Either: true}
	file := ralph.Completion{Kind: ralph.CompletionDoneFile}
	again := ralph.Ask{Iteration: 2, Rejection: ralph.RejectedNoMarker}
	for _, tc := range []struct {
		name, task string
		own        bool
		c          ralph.Completion
		ask        ralph.Ask
		with       []string // "=": nothing but the task
		without    string
	}{
		{"own", yes, true, either, again, []string{"="}, ""},
		{"not own", yes, false, either, again, []string{yes, "ended without <response>DONE</response>"}, "How this run works"},
		{"own without a tag", no, true, either, again, []string{no, "ended without <promise>COMPLETE</promise>", "\n\n<promise>COMPLETE</promise>\n"}, "response"},
		{"a tag that does not count", yes, true, complete, ralph.Ask{}, []string{yes, "\n\n<promise>COMPLETE</promise>\n"}, ""},
		{"a stray tag", no, false, complete, ralph.Ask{Rejection: ralph.RejectedNoMarker, Stray: "<promise>DONE</promise>"},
			[]string{"printed <promise>DONE</promise>, which does not count; only <promise>COMPLETE</promise> does"}, "ended without"},
		{"a file", no, true, file, ralph.Ask{}, []string{`echo done > "$TASK_FOLDER/DONE"`}, "<promise>"},
		{"a file, again", no, true, file, again, []string{"ended without $TASK_FOLDER/DONE"}, "<promise>"},
		{"a file that the task names", "Then touch $TASK_FOLDER/DONE.", true, file, again, []string{"="}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := prompt.Builder{Task: text(tc.task), Completion: tc.c, Own: tc.own}.Build(tc.ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.with {
				if want == "=" && p.Text != tc.task+"\n" || want != "=" && !strings.Contains(p.Text, want) {
					t.Errorf("Build() = %q, want %q", p.Text, want)
				}
			}
			if tc.without != "" && strings.Contains(p.Text, tc.without) {
				t.Errorf("Build() = %q, which has %q", p.Text, tc.without)
			}
		})
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	list := []ralph.Finding{{Path: "CODEOWNERS", Text: "changed"}}
	p, err := prompt.Builder{Task: text("task"), Bare: true}.Build(ralph.Ask{LeftOut: list})
	if err != nil || !strings.Contains(p.Text, "task\n\nThese changes are left out of what is published") || !strings.Contains(p.Text, "\n- CODEOWNERS: changed\n") {
		t.Errorf("Build() = %q, %v; want what is left out below the task", p.Text, err)
	}
	p, _ = prompt.Builder{Task: text("task"), Bare: true}.Build(ralph.Ask{LeftOut: slices.Repeat(list, 100)})
	if n := strings.Count(p.Text, "CODEOWNERS"); n != 30 || !strings.Contains(p.Text, "and 70 more") {
		t.Errorf("Build() names %d of 100, want 30 and how many more", n)
	}
}

// What is asked for stands above how to end, in a form that is no answer itself, and
// only where the rule stands: a task that says how to end, and a bare prompt, stay as
// they are.
func TestAskingForWords(t *testing.T) {
	t.Parallel()
	build := func(b prompt.Builder) string {
		b.Completion, b.Say = complete, true
		p, err := b.Build(ralph.Ask{Iteration: 1})
		if err != nil {
			t.Fatal(err)
		}
		return p.Text
	}
	got := build(prompt.Builder{Task: text("task")})
	commit, change, end := strings.Index(got, "<commit>…</commit>"), strings.Index(got, "<change>\n…\n</change>"), strings.Index(got, complete.Marker())
	if commit < 0 || change < commit || end < change {
		t.Errorf("Build() = %q, want it to ask for a line, a change and the end", got)
	}
	if said := ralph.ReadSaid(got); said != (ralph.Said{}) {
		t.Errorf("ReadSaid() of the prompt = %+v, want nothing", said)
	}
	const own = "Say <promise>COMPLETE</promise> at the end."
	for name, b := range map[string]prompt.Builder{
		"bare": {Task: text(own), Bare: true}, "own": {Task: text(own), Own: true}, "a task that says how to end": {Task: text(own)},
	} {
		if got := build(b); got != own+"\n" {
			t.Errorf("%s: Build() = %q, want the task as it is", name, got)
		}
	}
}
