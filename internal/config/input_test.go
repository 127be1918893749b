package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

// What tunes the engine is a key of the file and a flag; as an input of the action it
// is refused, not ignored, and so are names that keys and flags have besides.
func TestKeysAreNoInputs(t *testing.T) {
	t.Parallel()
	keys, inputs := 0, 0
	for _, in := range config.Inputs() {
		inputs += len(in.ActionNames())
		if !in.NoAction {
			continue
		}
		keys++
		for _, value := range []string{"", "x"} {
			_, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: with(in.Name, value)})
			want := "input " + in.Name + ": it is a key of .github/ralph.yml and no input of the action: write it there, as " + in.Name + ": …"
			if err == nil || err.Error() != want {
				t.Errorf("Load(%s = %q) = %v, want %s", in.Name, value, err, want)
			}
		}
	}
	if keys == 0 || inputs > 75 {
		t.Errorf("the action has %d inputs, and %d keys are none; want at most 75 inputs, which are what the author of a workflow sets: NoAction makes a row a key of .github/ralph.yml and a flag only", inputs, keys)
	}
	dir := workspace(t, map[string]string{"ci/own.yml": "delay: 1s"})
	for _, tt := range []struct{ name, want string }{
		{"restart-delay", "input restart-delay: it is a key of ci/own.yml and no input of the action: write it there, as delay: …"},
		{"maximum-iterations", "input maximum-iterations: as an input it is called max-iterations"},
		{"max-output-char", "input max-output-char: there is no such input; did you mean max-output-chars?"},
	} {
		_, err := config.Load(config.LoadOptions{Dir: dir, Inputs: with("config", "ci/own.yml", tt.name, "3")})
		if err == nil || err.Error() != tt.want {
			t.Errorf("Load(%s) = %v, want %s", tt.name, err, tt.want)
		}
	}
	c, err := config.Load(config.LoadOptions{Dir: dir, Inputs: with("branch-token", "ghp_0123456789")})
	if err != nil || c.Git.CIToken.Reveal() != "ghp_0123456789" {
		t.Errorf("Load(branch-token) = %v, want the token of the branch", err)
	}
}

// A runner evaluates expressions in descriptions, too, and does not load an action where one
// names what is not there, such as the job.
func TestActionHoldsNoOtherExpression(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../action.yml", "../../host/action.yml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if rest := strings.Replace(string(text), "    default: ${{ github.token }}\n", "", 1); len(rest) == len(text) || strings.Contains(rest, "${{") {
			t.Errorf("%s lacks the default of github-token, or holds another expression", name)
		}
	}
}
