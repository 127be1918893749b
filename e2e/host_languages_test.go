//go:build e2e

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// documented are the inputs of the step for a language, as docs/your-language.md has it.
func documented(t *testing.T, language string) map[string]string {
	t.Helper()
	block := regexp.MustCompile(`(?s)\n\*\*` + language + "\\*\\*.*?```yaml\n(.*?)```").FindStringSubmatch(readFile(t, "../docs/your-language.md"))
	if block == nil {
		t.Fatalf("docs/your-language.md has no workflow for %s", language)
	}
	var steps []struct {
		Uses string
		With map[string]string
	}
	if err := yaml.Unmarshal([]byte(block[1]), &steps); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if strings.HasPrefix(step.Uses, "org/ralph-action/host@") {
			return step.With
		}
	}
	t.Fatalf("the workflow for %s does not use ralph:\n%s", language, block[1])
	return nil
}

// The documented workflows of three languages on the runner itself, with the test tool
// of each: it finds the mistake before the first
// turn, and the agent reads what it said.
func TestHostLanguages(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		language string
		tools    []string // that setup-… puts on PATH
		files    map[string]string
		says     string // the test tool, of the mistake
	}{
		{"Node", []string{"node", "npm"}, map[string]string{
			"package.json":      `{"name": "calc", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
			"package-lock.json": `{"name": "calc", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "calc", "version": "1.0.0"}}}`,
			"calc.js":           "exports.add = (a, b) => a - b\n",
			"calc.test.js":      "const test = require('node:test')\nconst assert = require('node:assert')\ntest('adds', () => assert.strictEqual(require('./calc.js').add(2, 3), 5))\n",
		}, "-1 !== 5"},
		{"Python", []string{"python3"}, map[string]string{
			"calc.py":      "def add(a, b):\n    return a - b\n",
			"test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n",
			".gitignore":   "__pycache__/\n.pytest_cache/\n",
		}, "assert -1 == 5"},
		{"Go", []string{"go"}, map[string]string{
			"go.mod":       "module example.com/calc\n\ngo 1.24\n",
			"calc.go":      "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n",
			"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(\"Add(2, 3) = %d, want 5\", got)\n\t}\n}\n",
		}, "Add(2, 3) = -1, want 5"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			r := forge(t).newRepository(t, c.files)
			j := newNight(t, r, `prompt=$(cat)
case $prompt in
*"`+c.says+`"*) for file in calc.*; do sed -i 's/a - b/a + b/' "$file"; done ;;
esac`+done)
			maps.Copy(j.Inputs, documented(t, c.language))
			// The tool cache is a folder of its own, as on hosted runners; /usr/bin has the rest.
			cache := sharedTempDir(t)
			bin := filepath.Join(cache, strings.ToLower(c.language), "1.0.0", "x64", "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.tools {
				tool, err := exec.LookPath("/usr/bin/" + name)
				if err != nil {
					if tool, err = exec.LookPath(name); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink(tool, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
				if name == "python3" { // as setup-python has it
					if err := os.Symlink(tool, filepath.Join(bin, "python")); err != nil {
						t.Fatal(err)
					}
				}
			}
			owned(t, cache, 1001)
			j.Env = map[string]string{"PATH": bin + ":/usr/bin:/bin", "RUNNER_TOOL_CACHE": cache, "INPUT_BINARY": binary}
			s := hostStep(t, j, hostAction(t, binary))
			<-s.done
			s.state(t)
			got := s.wait(t, time.Second)
			if got.Code != 0 || got.Outputs["status"] != "completed" || got.Outputs["iterations"] != "1" {
				t.Errorf("exit code %d, status %q after %s iterations, want completed after 1", got.Code, got.Outputs["status"], got.Outputs["iterations"])
			}
			wants(t, "the log", got.Log, c.says)
		})
	}
}
