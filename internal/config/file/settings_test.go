package file_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/file"
)

func TestSettingsProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for _, tt := range []struct{ file, want string }{
		{"", "s.json:1:1: not valid JSON: the file ends too early"},
		{"\n  \n", "s.json:3:1: not valid JSON: the file ends too early"},
		{"{\n  \"maximumIterations\": 10,\n}", "s.json:3:1: not valid JSON: another entry has to follow the comma"},
		{"{\"a\": 1", "s.json:1:8: not valid JSON: the file ends too early"},
		{"{", `s.json:1:2: not valid JSON: the file ends too early`},
		{"{\"model\" \"x\"}", `s.json:1:10: not valid JSON: invalid character '"' after object key`},
		{"{\"model\": \"x\" \"base\": \"y\"}", `s.json:1:15: not valid JSON: invalid character '"' after object key:value pair`},
		{"{\n\"agent\": {\"command\": \" \"}}", "s.json:2: agent.command: it is empty: name the program, or leave the key out"},
		{"{model: 1}", `s.json:1:2: not valid JSON: invalid character 'm' looking for beginning of object key string`},
		{"{'model': 1}", `s.json:1:2: not valid JSON: JSON has only "double quotes"`},
		{"// ours\n{}", "s.json:1:1: not valid JSON: JSON has no comments"},
		{"{} # end", "s.json:1:4: not valid JSON: JSON has no comments"},
		{"{}\n{}", "s.json:2:1: not valid JSON: invalid character '{' after top-level value"},
		{"{\"model\": \"ä\n\"}", `s.json:1:13: not valid JSON: invalid character '\n' in string literal`},
		{`{"model": "\x"}`, `s.json:1:13: not valid JSON: invalid character 'x' in string escape code`},
		{`{"model": -}`, "s.json:1:12: not valid JSON: invalid character '}' in numeric literal"},
		{`{"max-tokens": 007}`, "s.json:1:17: not valid JSON: invalid character '0' after object key:value pair"},
		{`{"a": nil}`, "s.json:1:8: not valid JSON: invalid character 'i' in literal null (expecting 'u')"},
		{`{"a": True}`, "s.json:1:7: not valid JSON: invalid character 'T' looking for beginning of value"},
		{`{"a": ` + deep + `}`, "s.json:1:38: not valid JSON: more than 32 levels"},
		{"[]", "s.json:1: an object with settings is expected, not a list"},
		{"\"x\"", `s.json:1: an object with settings is expected, not "x"`},
		{"{\n\"model\": \"a\",\n\"model\": \"b\"}", `s.json:3: "model" is given twice: first in line 2`},
		{"{\n\"agent\": {\"command\": \"a\",\n\"command\": \"b\"}}", `s.json:3: "command" is given twice: first in line 2`},
		{"{\n\n\n\"maximumIterations\": \"ten\"}", `s.json:4: maximumIterations: a number is expected, not "ten"`},
		{`{"maximumIterations": [1]}`, `s.json:1: maximumIterations: a number is expected, not a list`},
		{`{"completionResponse": 5}`, `s.json:1: completionResponse: a string is expected, not 5`},
		{`{"squash": "yes"}`, `s.json:1: squash: true or false is expected, not "yes"`},
		{`{"idleTimeout": 30}`, `s.json:1: idleTimeout: a string such as "15m" is expected, not 30`},
		{`{"maxCostUsd": "5"}`, `s.json:1: maxCostUsd: a number is expected, not "5"`},
		{`{"draft": 1}`, `s.json:1: draft: a string is expected, not 1`},
		{`{"agent": "claude"}`, `s.json:1: agent: an object is expected, not "claude"`},
		{`{"agent": {"command": ["claude"]}}`, `s.json:1: agent.command: a string is expected, not a list`},
		{`{"agent": {"flags": "--model opus"}}`, `s.json:1: agent.flags: a list of strings is expected, not "--model opus"`},
		{"{\"agent\": {\"flags\": [\"-v\",\n5]}}", `s.json:2: agent.flags: each entry must be a string, not 5`},
		{"{\"agent\": {\"flags\": [\n\"it's\"]}}", `s.json:2: agent.flags: "it's" cannot be split as a shell would: a quote is not closed, or it ends with a backslash`},
		{`{"labels": [null]}`, `s.json:1: labels: each entry must be a string, not null`},
		{`{"guardrails": "make test"}`, `s.json:1: guardrails: a list of objects is expected, not "make test"`},
		{"{\"guardrails\": [\n\"make test\"]}", `s.json:2: guardrails: an object is expected, not "make test"`},
		{"{\"guardrails\": [{\"command\": \"a\",\n\"hint\": 5}]}", `s.json:2: guardrails: hint must be a string, not 5`},
		{`{"guardrails": [{"command": null}]}`, `s.json:1: guardrails: command must be a string, not null`},
		{`{"guardrails": [{"command": "a", "timeout": 5}]}`, `s.json:1: guardrails: timeout must be a string, not 5`},
		{`{"guardrails": [{"command": "a", "parallel": 1}]}`, `s.json:1: guardrails: parallel must be true or false, not 1`},
		{"{\n\"maxIterations\": 5}", `s.json:2: unknown key "maxIterations"; did you mean maximumIterations?`},
		{`{"MaximumIterations": 5}`, `s.json:1: unknown key "MaximumIterations"; did you mean maximumIterations?`},
		{`{"agentCommand": "a"}`, `s.json:1: unknown key "agentCommand"; did you mean agent.command?`},
		{`{"agent": {"comand": "a"}}`, `s.json:1: unknown key "agent.comand"; did you mean agent.command?`},
		{`{"agent": {"$schema": "a"}}`, `s.json:1: unknown key "agent.$schema"; give agent.type, agent.command or agent.flags`},
		{"{\"delay\": \"1s\",\n\"restartDelay\": \"2s\"}", "s.json:2: restartDelay: it means the same as delay, which is given, too: give only one of them"},
		{`{"githubToken": "abc"}`, `s.json:1: githubToken: a token does not belong in a file: give it as an input, from a secret`},
		{`{"config": "abc"}`, `s.json:1: config: it cannot be set in the file: give it as an input or a flag`},
	} {
		_, err := settings(tt.file)
		if got := problems(t, err); len(got) != 1 || got[0] != tt.want {
			t.Errorf("settings %.80q:\n%q, want\n%q", tt.file, got, tt.want)
		}
	}
}

// All problems are reported at once, and not without end.
func TestSettingsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := settings("{\n\"maximumIterations\": true,\n\"modell\": 1,\n\"agent\": {\"flags\": 1}}")
	if got := problems(t, err); len(got) != 3 {
		t.Errorf("three mistakes: %q, want three problems", got)
	}
	_, err = settings("{" + strings.Repeat(`"a":1,`, 20_000) + `"b":1}`)
	if err == nil || len(err.Error()) > 10_000 {
		t.Errorf("20000 mistakes: %.200v…, want a bounded error", err)
	}
	_, err = settings(strings.Repeat("[", 1<<20))
	if err == nil {
		t.Error("a million brackets were accepted")
	}
}

func TestSettingsValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		want       map[string]string
	}{
		{"empty", "{}", map[string]string{}},
		{"byte order mark, tabs, CRLF", "\ufeff\t{\r\n\"model\":\t\"x\"\r\n}\r\n", map[string]string{"model": "x"}},
		{"$schema", `{"$schema": "https://example.com/s.json"}`, map[string]string{}},
		{"null is not given", `{"model": null, "agent": null, "guardrails": null, "labels": null, "completionResponse": null}`, map[string]string{}},
		{"blank is not given", `{"model": ""}`, map[string]string{}},
		{"flags are split as a shell would", `{"agent": {"flags": ["--model opus", "--append 'a b'", "", "-v"]}}`,
			map[string]string{"agent-args": "--model|opus|--append|a b|-v"}},
		{"an empty list is given", `{"agent": {"flags": []}}`, map[string]string{"agent-args": ""}},
		{"response is implied", `{"completionResponse": "FERTIG"}`, map[string]string{"completion-token": "FERTIG", "completion": "response"}},
		{"unless completion is given", `{"completionResponse": "X", "completion": "promise"}`, map[string]string{"completion-token": "X", "completion": "promise"}},
		{"of every kind", `{"agent": {"type": "text", "command": "cat -u"}, "maxCostUsd": 2.5, "idleTimeout": "5m", "iterationTimeout": 0,
			"squash": false, "push": true, "draft": "auto", "passEnv": ["A", "B"], "setup": ["make deps"], "branch": "a/b", "maximumIterations": 3,
			"guardrails": [{"command": "a"}], "onAgentError": "fail", "commitMessage": "\u00e4\n\ud83d\ude00\ud800"}`,
			map[string]string{"agent": "text", "agent-command": "cat -u", "max-cost-usd": "2.5", "idle-timeout": "5m", "iteration-timeout": "0",
				"squash": "false", "push": "true", "draft": "auto", "pass-env": "A|B", "setup": "make deps", "branch": "a/b", "max-iterations": "3",
				"guardrails": "{}", "on-agent-error": "fail", "commit-message": "ä\n😀\ufffd"}},
	} {
		got, err := settings(tt.file)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// Every input that may stand in a file has a key, and no two have the same.
func TestSettingsKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, in := range config.Inputs() {
		key := file.SettingsKey(in.Name)
		if other, twice := seen[key]; twice {
			t.Errorf("%s and %s are both called %s", in.Name, other, key)
		}
		seen[key] = in.Name
	}
	// 001-08
	for _, key := range []string{"maximumIterations", "completionResponse", "outputTruncateChars", "streamAgentOutput",
		"includeIterationCountInPrompt", "agent.command", "agent.flags", "guardrails", "scm.command", "scm.tasks"} {
		if seen[key] == "" {
			t.Errorf("no input is called %s", key)
		}
	}
}

// The reader accepts what encoding/json accepts, and reads the same.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[1, -0.5e+3, 1E9, 0, -1]", `{"a": {"b": [true, false, null]}}`, `"\u00e4\ud83d\ude00\ud800\n\"\\\/"`, "{\"a\":1,\"a\":2}",
		"\ufeff{}", " \t\r\n[ ]", "[1,]", "{,}", "\"0,", "nul", "01", "1.", "--1", "1e", "\"\x7f\"", `{"agent": {"flags": ["--model opus", "'"]}}`,
		`{"guardrails": [{"command": "a", "timeout": "1m", "hint": null}], "maximumIterations": 1.5}`, "[[[[", "{\"a\":", "\"\\u12\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip() // such a file is refused before it is parsed
		}
		got, err := file.JSON(text)
		body := strings.TrimPrefix(text, "\ufeff")
		if err == nil {
			var want any
			dec := json.NewDecoder(strings.NewReader(body))
			dec.UseNumber()
			if err := dec.Decode(&want); err != nil || !json.Valid([]byte(body)) {
				t.Fatalf("JSON(%q) was accepted; encoding/json: %v", text, err)
			}
			if want = numbersAsTexts(want); !reflect.DeepEqual(got, want) {
				t.Errorf("JSON(%q) = %#v, want %#v", text, got, want)
			}
		} else if json.Valid([]byte(body)) && !strings.Contains(err.Error(), "levels") && !strings.Contains(err.Error(), "twice") {
			t.Errorf("JSON(%q) = %v, want accepted", text, err)
		}

		first, err := settings(text)
		second, again := settings(text)
		if !reflect.DeepEqual(first, second) || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Errorf("Settings(%q) differs from one time to the next: %v, %v", text, err, again)
		}
		onePerLine(t, text, "s.json:", err)
	})
}

// onePerLine checks that problems are printable lines with a place.
func onePerLine(t *testing.T, text, prefix string, err error) {
	t.Helper()
	for _, line := range problems(t, err) {
		if !strings.HasPrefix(line, prefix) || strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) || len(line) > 1000 {
			t.Errorf("%q has the problem %q, want one short printable line with a place", text, line)
		}
	}
}

func numbersAsTexts(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case []any:
		for i := range v {
			v[i] = numbersAsTexts(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbersAsTexts(v[k])
		}
	}
	return v
}
