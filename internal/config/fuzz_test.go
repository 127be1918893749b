package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config"
)

func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "model: a\n", "guardrails:\n  - command: a\n    hint: b\n", "labels: [a, *b]\n", "a: &a [*a]\n", "? ? ?\n", "{", "- - -",
		"prompt: |\n  a\n b", "---\n...\n---\n", "x: !!binary aGk=\n", "!!map {}", "%YAML 1.1\n---\na: b", "\ufeffmodel: x", "guardrails: |2\n   - a\n",
		"guardrails: &g [{command: x}, *g]\n",
		"mode: supervise\nmax-restarts: 0\n", "mode: plan\nprompt: x\n", "scm-command: git\nscm-tasks: [commit, 'a b']\ncommit: at-end\n",
		"agent-command: [codex]\nmaximum-iterations: 3\n", "stream-agent-output: false\nmax-tokens: 5\n",
	} {
		f.Add(seed)
	}
	located := regexp.MustCompile(`^(c\.yml:[0-9]+|prompt|SPECS_DIR|task-dir|agent-command)(: |$)`)
	f.Fuzz(func(t *testing.T, file string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "c.yml"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.LoadOptions{Dir: dir, Inputs: map[string]string{"config": "c.yml"}})
		for _, line := range problems(t, err) {
			if strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) {
				t.Errorf("Load(%q) = %q, want one printable line", file, line)
			}
			if !located.MatchString(line) && !strings.HasPrefix(line, `input config: "c.yml" is`) {
				t.Errorf("Load(%q) = %q, want a location", file, line)
			}
		}
	})
}

func FuzzGuardrails(f *testing.F) {
	for _, seed := range []string{
		"", "a\nb", "- a\n- command: b\n  when: changes", "- &a [*a]", "[{", "[]", "- |\n  a\n  b\n", "-\n-\n", "# c\n- {command: a, timeout: 1h}", "---\n- a\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: map[string]string{"prompt": "x", "guardrails": text}})
		for _, line := range problems(t, err) {
			if !strings.HasPrefix(line, "input guardrails") || strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) {
				t.Errorf("Load(%q) = %q, want one line about guardrails", text, line)
			}
		}
		for _, g := range c.Checks.Guardrails {
			if strings.TrimSpace(g.Command) == "" || strings.ContainsRune(g.Command, 0) || g.Timeout < 0 {
				t.Errorf("Load(%q) has guardrail %+v", text, g)
			}
		}
	})
}
