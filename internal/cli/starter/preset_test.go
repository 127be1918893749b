package starter_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/starter"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`\$\{?\w+\}?`)
	for _, mode := range []string{"plan", "build"} {
		text, ok := starter.Prompt(mode)
		if !ok {
			t.Fatalf("there is no prompt %q", mode)
		}
		// 000-26: the marker stands alone on a line, once.
		if strings.Count(text, "\n<promise>COMPLETE</promise>\n") != 1 || strings.Count(text, "<promise>") != 1 {
			t.Errorf("the prompt %q does not say once how to end:\n%s", mode, text)
		}
		found := variable.FindAllString(text, -1)
		for _, v := range []string{"${SPECS_DIR}", "${PLAN_FILE}", "${MODE}"} {
			if !slices.Contains(found, v) {
				t.Errorf("the prompt %q lacks %s", mode, v)
			}
			found = slices.DeleteFunc(found, func(s string) bool { return s == v })
		}
		if len(found) > 0 {
			t.Errorf("the prompt %q has %q, which nothing sets", mode, found)
		}
	}
	for _, mode := range []string{"", "prompt", "specs", "../preset.go"} {
		if _, ok := starter.Prompt(mode); ok {
			t.Errorf("there is a prompt %q", mode)
		}
	}
}

func TestWritePreset(t *testing.T) {
	t.Parallel()
	all := []string{".ralph/config", ".ralph/prompts/plan.md", ".ralph/prompts/build.md", "specs/README.md"}
	for _, tc := range []struct {
		name          string
		files         []string
		overwrite     bool
		written, kept []string
	}{
		{"new", nil, false, all, nil},
		{"what is there is kept", []string{".ralph/prompts/plan.md", "mine"}, false, []string{all[0], all[2], all[3]}, []string{all[1]}},
		{"specifications are theirs", []string{"specs/a.md", "mine"}, true, all[:3], nil},
		{"overwritten", []string{".ralph/prompts/plan.md", "mine"}, true, all, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			folder, dir := project(t, tc.files...)
			w, err := folder.WritePreset("amp", tc.overwrite)
			if err != nil || !slices.Equal(w.Files, tc.written) || !slices.Equal(w.Kept, tc.kept) {
				t.Fatalf("WritePreset = %q, kept %q, %v, want %q, kept %q", w.Files, w.Kept, err, tc.written, tc.kept)
			}
			for _, name := range w.Files {
				if text := content(t, dir, name); len(text) < 100 || strings.Contains(text, "{{") {
					t.Errorf("%s is\n%s", name, text)
				}
			}
			for i := 0; i < len(tc.files) && !tc.overwrite; i += 2 {
				if got := content(t, dir, tc.files[i]); got != tc.files[i+1] {
					t.Errorf("%s is now %q", tc.files[i], got)
				}
			}
		})
	}
	folder, dir := project(t)
	if _, err := folder.WritePreset("vim", false); err == nil || len(tree(t, dir)) > 0 {
		t.Errorf("WritePreset for an unknown agent = %v, files %q", err, tree(t, dir))
	}
}

// The configuration means the same to a shell, with every example in force.
// 000-05, 000-17, 000-23, 000-39
func TestPresetConfig(t *testing.T) {
	t.Parallel()
	folder, dir := project(t)
	if _, err := folder.WritePreset("codex", false); err != nil {
		t.Fatal(err)
	}
	config := content(t, dir, ".ralph/config")
	examples := regexp.MustCompile(`(?m)^#([A-Z_]+=)`).ReplaceAllString(config, "$1")
	for text, want := range map[string]string{
		config:   "codex|specs|3|||||",
		examples: `codex|specs|3|my-agent|--non-interactive --color never|json|select(.role == "assistant") | .text|cut -c 1-200`,
	} {
		script := text + "\nprintf '%s' \"$AGENT_TYPE|$SPECS_DIR|$MAX_RETRIES|$AGENT_CLI|$AGENT_ARGS|$AGENT_OUTPUT_FORMAT|$AGENT_RESPONSE_FILTER|$AGENT_DISPLAY_FILTER\"\n"
		sh := exec.Command("sh", "-eu")
		if text == config {
			sh = exec.Command("sh", "-e")
		}
		sh.Stdin, sh.Dir, sh.Env = strings.NewReader(script), filepath.Dir(dir), []string{"PATH=/usr/bin:/bin"}
		var stderr bytes.Buffer
		sh.Stderr = &stderr
		out, err := sh.Output()
		if err != nil || string(out) != want || stderr.Len() > 0 {
			t.Errorf("sh reads %q, %v, %s, want %q", out, err, stderr.String(), want)
		}
	}
}
