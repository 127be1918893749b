package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	ten       = 10 * time.Minute
	guardrail = "guardrails"
)

func TestGuardrailForms(t *testing.T) {
	t.Parallel()
	plain := func(commands ...string) []config.Guardrail {
		var list []config.Guardrail
		for _, c := range commands {
			list = append(list, config.Guardrail{Command: c, FailAction: ralph.Append, Timeout: ten, When: config.Always})
		}
		return list
	}
	for _, tt := range []struct {
		name, text string
		want       []config.Guardrail
	}{
		{"one line", "go test ./...", plain("go test ./...")},
		{"lines, comments, CRLF", "# c\r\na\r\n\r\n  b # stays\r\n", plain("a", "b # stays")},
		{"only comments", "# a\n# b", nil},
		{"a test command", "[ -f go.mod ]", plain("[ -f go.mod ]")},
		{"test command of two words", "[[ -f go.mod ]]", plain("[[ -f go.mod ]]")},
		{"colon in a command", "make check: all", plain("make check: all")},
		{"list of commands", "- a\n- b -c\n", plain("a", "b -c")},
		{"comment before a list", "# c\n\n- a", plain("a")},
		{"document mark", "---\n- a", plain("a")},
		{"flow list", `[{command: a}, {"command": "b"}]`, plain("a", "b")},
		{"JSON strings", `["a", "b"]`, plain("a", "b")},
		{"empty list", "[]", nil},
		{"scalars that are not strings", "- true\n- 5", plain("true", "5")},
		{"anchors", "- &a {command: x}\n- *a", plain("x", "x")},
		{"everything", "- command: go test\n  failAction: prepend\n  hint: |\n    Fix it.\n  timeout: 90s\n  when: changes\n  parallel: true\n" +
			"- command: lint\n  failAction: Replace\n  timeout: 0\n- command: x\n  failAction:\n  hint: ''\n  timeout: ~\n  when: Always\n  parallel: FALSE\n",
			[]config.Guardrail{
				{Command: "go test", FailAction: ralph.Prepend, Hint: "Fix it.", Timeout: 90 * time.Second, When: config.OnChanges, Parallel: true},
				{Command: "lint", FailAction: ralph.Replace, When: config.Always},
				{Command: "x", FailAction: ralph.Append, Timeout: ten, When: config.Always},
			}},
		{"command of several lines", "- command: |\n    set -e\n    a\n    b\n", plain("set -e\na\nb")},
	} {
		c, err := load(t, with(guardrail, tt.text))
		if err != nil || !reflect.DeepEqual(c.Checks.Guardrails, tt.want) {
			t.Errorf("%s: Load(%q) = %+v, %v, want %+v", tt.name, tt.text, c.Checks.Guardrails, err, tt.want)
		}
	}
}

func TestBadGuardrails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"- command: a\n  hint: b: c: d\n", "input guardrails, line 2: not valid YAML: mapping values are not allowed in this context"},
		{"- command: a\n- command: 'b\n", "input guardrails, line 2: not valid YAML: found unexpected end of stream"},
		{"- command: a\n\t- b", "input guardrails, line 2: not valid YAML: found a tab character that violates indentation"},
		{"command: a\nhint: b", `input guardrails, line 1: "command: a" looks like YAML without a list: begin each guardrail with ` + "`- command: …`"},
		{"- command: a\n  comand: b", `input guardrails, line 2: unknown key "comand" in a guardrail; did you mean command?`},
		{"- command: a\n  fail_action: APPEND", `input guardrails, line 2: unknown key "fail_action" in a guardrail; did you mean failAction?`},
		{"- command: a\n  zzz: b", `input guardrails, line 2: unknown key "zzz" in a guardrail; give command, failAction, hint, timeout, when or parallel`},
		{"- command: a\n  command: b", `input guardrails, line 2: "command" is given twice in one guardrail`},
		{"- command: a\n  failAction: EXPLODE", `input guardrails, line 2: failAction "EXPLODE" is not allowed: give APPEND, PREPEND or REPLACE`},
		{"- command: a\n  when: never", `input guardrails, line 2: when "never" is not allowed: give always or changes`},
		{"- command: a\n  parallel: 2", `input guardrails, line 2: parallel "2" is not allowed: give true or false`},
		{"- command: a\n  timeout: 5", `input guardrails, line 2: timeout "5" is not allowed: say the unit: 5s, 5m or 5h`},
		{"- command: a\n  timeout: 1y", `input guardrails, line 2: timeout "1y" is not allowed: give a duration such as 90s, 15m or 1h30m (0: no limit)`},
		{"- command: a\n  hint: [b]", `input guardrails, line 2: "hint" of a guardrail must be one value`},
		{"- command: a\n  hint: " + strings.Repeat("x", 10_001), `input guardrails, line 2: the hint is not allowed: give text of at most 10000 bytes`},
		{"- hint: b", `input guardrails, line 1: the guardrail has no command`},
		{"- a\n- command: ''", `input guardrails, line 2: the guardrail has no command`},
		{"- a\n-\n- b", "input guardrails, line 2: a guardrail is a command, or `command:` with its options"},
		{"- [a]", "input guardrails, line 1: a guardrail is a command, or `command:` with its options"},
		{"a\nb\x1b[2J", `input guardrails, line 2: command "b\x1b[2J" is not allowed: it holds the control character U+001B`},
		{"[{a: b}]: c", "input guardrails, line 1: a list is expected: begin each guardrail with `- command: …`"},
		{"- a\n---\n[", "input guardrails, line 3: not valid YAML: did not find expected node content"},
		{"- command: " + strings.Repeat("x", 65_000) + strings.Repeat("y", 600), "input guardrails: 65611 bytes are too many: at most 65536"},
		{"- a\n---\n- b", "input guardrails, line 2: a second document is not allowed: remove the `---`"},
		{strings.Repeat("a\n", 51), "input guardrails: 51 guardrails are too many: at most 50"},
		{strings.Repeat("- a\n", 51), "input guardrails: 51 guardrails are too many: at most 50"},
	} {
		_, err := load(t, with(guardrail, tt.text))
		if got := problems(t, err); len(got) != 1 || got[0] != tt.want {
			t.Errorf("Load(%.80q) =\n%q, want\n%q", tt.text, got, tt.want)
		}
	}
}

// Lines are those of the file, whichever form the guardrails have there.
func TestGuardrailLinesInFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{"model: a\nguardrails:\n  - a\n  - command: b\n    wen: c\n", `.github/ralph.yml:5: guardrails: unknown key "wen" in a guardrail; did you mean when?`},
		{"model: a\nguardrails: |\n  a\n  # c\n  b\u202e\n", `.github/ralph.yml:5: guardrails: command`},
		{"guardrails: |\n  - command: a\n    wen: c\n", `.github/ralph.yml:3: guardrails: unknown key "wen" in a guardrail; did you mean when?`},
		{"guardrails: |\n  command: a\n", `.github/ralph.yml:2: guardrails: "command: a" looks like YAML without a list`},
		{"guardrails: 'hint: a'\n", `.github/ralph.yml:1: guardrails: "hint: a" looks like YAML without a list`},
		{"guardrails: >\n  hint: a\n\n  b\n", `.github/ralph.yml:1: guardrails: "hint: a" looks like YAML without a list`},
	} {
		err := loadFile(t, tt.file)
		if got := problems(t, err); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("Load(%q) = %q, want %q", tt.file, got, tt.want)
		}
	}
}
