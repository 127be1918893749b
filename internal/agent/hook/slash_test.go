package hook_test

import (
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/agent/hook"
)

func TestParseArguments(t *testing.T) {
	t.Parallel()
	names := []string{"max-iterations", "completion-promise"}
	for _, c := range []struct {
		name, line, text string
		flags            map[string]string
	}{
		{"nothing", "", "", nil},
		{"white space", " \n\t ", "", nil},
		// 004-01
		{"as documented", `"Fix the build" --max-iterations 5 --completion-promise "DONE"`, "Fix the build", map[string]string{"max-iterations": "5", "completion-promise": "DONE"}},
		{"flags first", `--max-iterations 5 "Fix the build"`, "Fix the build", map[string]string{"max-iterations": "5"}},
		{"assigned", `Fix it --max-iterations=5 --completion-promise="ALL DONE"`, "Fix it", map[string]string{"max-iterations": "5", "completion-promise": "ALL DONE"}},
		{"assigned nothing", `Fix it --completion-promise=`, "Fix it", map[string]string{"completion-promise": ""}},
		{"text around flags", "fix --max-iterations 5 and test", "fix and test", map[string]string{"max-iterations": "5"}},
		{"the last one counts", "x --max-iterations 5 --max-iterations 6", "x", map[string]string{"max-iterations": "6"}},
		{"without quotes", "Fix the user's login --max-iterations 5", "Fix the user's login", map[string]string{"max-iterations": "5"}},
		{"quotes in a text", `Print "hello  world" and 'bye' --max-iterations 5`, `Print "hello  world" and 'bye'`, map[string]string{"max-iterations": "5"}},
		{"a flag between quotes", `Explain "what --foo does" please`, `Explain "what --foo does" please`, nil},
		{"a quoted task with flags in it", `"add --foo and --max-iterations 9" --max-iterations 5`, "add --foo and --max-iterations 9", map[string]string{"max-iterations": "5"}},
		{"escapes", `"say \"hi\" in C:\\tmp and \n" --max-iterations 5`, `say "hi" in C:\tmp and \n`, map[string]string{"max-iterations": "5"}},
		{"quotes within quotes", `"fix the "foo" bug" --max-iterations 5`, `"fix the "foo" bug"`, map[string]string{"max-iterations": "5"}},
		{"an apostrophe between single quotes", `'don't stop' --max-iterations 5`, "don't stop", map[string]string{"max-iterations": "5"}},
		{"an unclosed quote", `a 5" screen "and --max-iterations 5`, `a 5" screen "and`, map[string]string{"max-iterations": "5"}},
		{"lines", "\"first\n\n  second\" --max-iterations 5", "first\n\n  second", map[string]string{"max-iterations": "5"}},
		{"lines without quotes", "first\n\n  - second --max-iterations\n5", "first\n\n  - second", map[string]string{"max-iterations": "5"}},
		{"nothing is run or expanded", "\"$(id) `id` $HOME ${X} !! ; rm -rf ~ | cat <<'EOF'\nEOF\n\" --max-iterations 5", "$(id) `id` $HOME ${X} !! ; rm -rf ~ | cat <<'EOF'\nEOF", map[string]string{"max-iterations": "5"}},
		{"two hyphens alone", "a -- b - c", "a -- b - c", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := hook.ParseArguments(c.line, names...)
			if err != nil || got.Text != c.text || !maps.Equal(got.Flags, c.flags) {
				t.Errorf("ParseArguments(%q) = %q, %q, %v; want %q, %q", c.line, got.Text, got.Flags, err, c.text, c.flags)
			}
		})
	}
}

func TestParseArgumentsErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"fix it --max-iteration 5":                     "--max-iteration is no flag of this command; put quotes around the task",
		"fix it --max-iterations":                      "--max-iterations needs a value",
		"fix it --max-iterations --other x":            "--max-iterations needs a value",
		"fix it --\x1b[31m" + strings.Repeat("x", 200): "--",
	} {
		_, err := hook.ParseArguments(line, "max-iterations")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 200 {
			t.Errorf("ParseArguments(%q): %v, want one short line with %q", line, err, want)
		}
	}
}

// What claude 2.1.329 sends when a person types a command is read, and what it
// takes is written.
func TestSlashCommand(t *testing.T) {
	t.Parallel()
	text := recorded(t, "user-prompt-expansion")
	in, err := hook.ReadInput(strings.NewReader(text))
	if err != nil || in.CommandName != "ralph:ralph-loop" || in.CommandArgs != "\"do $(id) `x` it's\" --max 3\nsecond line <tag> & {\"a\":1} $1 $ARGUMENTS" {
		t.Errorf("ReadInput = %+v, %v; want the command and what was typed after it", in, err)
	}
	for want, answer := range map[string]hook.Answer{
		"{}": hook.Hook{}.Answer(hook.UserPromptExpansion, strings.NewReader(text)),
		`{"decision":"block","reason":"no task"}`:                                                        {Event: hook.UserPromptExpansion, Refused: true, Reason: "no task"},
		`{"hookSpecificOutput":{"hookEventName":"UserPromptExpansion","additionalContext":"<promise>"}}`: {Event: hook.UserPromptExpansion, Context: "<promise>"},
	} {
		if got := string(answer.JSON()); got != want+"\n" {
			t.Errorf("JSON = %s, want %s", got, want)
		}
	}
}

// A megabyte of quotes that nothing closes is read in one pass.
func TestParseArgumentsLong(t *testing.T) {
	t.Parallel()
	line := strings.Repeat(`"a 'b `, hook.MaxInput/6)
	began := time.Now()
	got, err := hook.ParseArguments(line, "max-iterations")
	if took := time.Since(began); err != nil || got.Text != strings.TrimSpace(line) || took > time.Minute { // it grew with the square of the line once
		t.Errorf("ParseArguments of %d bytes: %d bytes of text, %v, after %s", len(line), len(got.Text), err, took)
	}
}

// A quoted task comes through whatever is in it, and no task can set a flag.
func FuzzParseArguments(f *testing.F) {
	for _, s := range []string{"", "fix it", `a "b" c`, `\`, `\"`, "'", "--max-iterations 9", "$(id)`id`", "a\n\nb", "x\xff\xfe", `" --max-iterations 9 "`, "\u2028\u00a0"} {
		f.Add(s)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = hook.ParseArguments(s, "max-iterations")
		if !utf8.ValidString(s) {
			return
		}
		line := `"` + quote.Replace(s) + `" --max-iterations 5`
		got, err := hook.ParseArguments(line, "max-iterations")
		if err != nil || got.Text != strings.TrimSpace(s) || len(got.Flags) != 1 || got.Flags["max-iterations"] != "5" {
			t.Errorf("ParseArguments(%q) = %q, %q, %v; want %q and 5", line, got.Text, got.Flags, err, strings.TrimSpace(s))
		}
	})
}
