package prompt_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/ralph"
)

func TestExpand(t *testing.T) { // 000-12
	t.Parallel()
	values := map[string]string{"SPECS_DIR": "specs", "MODE": "build", "EMPTY": "", "EVIL": "${MODE} $MODE"}
	for _, tc := range []struct{ name, in, want string }{
		{"braces", "read ${SPECS_DIR}/a.md", "read specs/a.md"},
		{"bare", "read $SPECS_DIR/a.md", "read specs/a.md"},
		{"the longest name counts", "$MODEL $MODE2 $MODE-x", "$MODEL $MODE2 build-x"},
		{"an undeclared one stays", "pay $5 or $HOME or ${HOME} or $(MODE)", "pay $5 or $HOME or ${HOME} or $(MODE)"},
		{"shell defaults stay", "${MODE:-x} ${MODE", "${MODE:-x} ${MODE"},
		{"a declared empty value", "[$EMPTY]", "[]"},
		{"a value is not expanded again", "$EVIL", "${MODE} $MODE"},
		{"dollars at the end", "cost $$ $", "cost $$ $"},
		{"two in a row", "$MODE$MODE${MODE}", "buildbuildbuild"},
		{"a backslash is no escape", `\$MODE`, `\build`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := prompt.Expand(tc.in, values); got != tc.want {
				t.Errorf("Expand(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"$A", "${A}", "${", "$", "${A", "$$A", "x${AA}y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := prompt.Expand(s, nil); got != s {
			t.Errorf("Expand(%q) without variables = %q", s, got)
		}
		const mark = "\x00value\x00"
		got := prompt.Expand(s, map[string]string{"A": mark})
		if back := strings.ReplaceAll(got, mark, ""); len(back) > len(s) {
			t.Errorf("Expand(%q) = %q", s, got)
		}
	})
}

// Variables are the task's alone: what guardrails printed is not ours to read.
func TestVariablesInTheTaskOnly(t *testing.T) {
	t.Parallel()
	p, err := prompt.Builder{Task: text("do $MODE"), Bare: true, Variables: map[string]string{"MODE": "build"}}.Build(
		ralph.Ask{Failed: []ralph.Verdict{{Action: ralph.Append, Message: "$MODE is not set"}}})
	if want := "do build\n\n$MODE is not set\n"; err != nil || p.Text != want {
		t.Errorf("Build() = %q, %v; want %q", p.Text, err, want)
	}
}
