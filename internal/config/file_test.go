package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

func TestBadFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{"a: b: c\n", ".github/ralph.yml:1: not valid YAML: mapping values are not allowed in this context"},
		{"model: x\n  base: y\n", ".github/ralph.yml:2: not valid YAML: mapping values are not allowed in this context"},
		{"model: x\nlabels: [a\nbase: y\n", ".github/ralph.yml:"},
		{"model: *x\n", ".github/ralph.yml:1: not valid YAML: unknown anchor 'x' referenced"},
		{"- a\n", ".github/ralph.yml:1: a list of `name: value` settings is expected"},
		{"\n\njust text\n", ".github/ralph.yml:3: a list of `name: value` settings is expected"},
		{"model: a\n---\nmodel: b\n", ".github/ralph.yml:2: a second document is not allowed"},
		{"model: a\nbase: b\nmodel: c\n", ".github/ralph.yml:3: model is given twice: first in line 1"},
		{"model: a\nmax_iterations: 5\n", `.github/ralph.yml:2: unknown key "max_iterations"; did you mean max-iterations?`},
		{"comit-mesage: x\n", `.github/ralph.yml:1: unknown key "comit-mesage"; did you mean commit-message?`},
		{"zzzzzz: x\n", `.github/ralph.yml:1: unknown key "zzzzzz"`},
		{"? [a]\n: b\n", ".github/ralph.yml:1: a setting's name is expected"},
		{"<<: {model: a}\n", `.github/ralph.yml:1: unknown key "<<"`},
		{"github-token: abcdef\n", ".github/ralph.yml:1: github-token: a token does not belong in a file"},
		{"config: x\n", ".github/ralph.yml:1: config: it cannot be set in the file"},
		{"model: [a]\n", ".github/ralph.yml:1: model: a list is not allowed: give one value"},
		{"model: {a: b}\n", ".github/ralph.yml:1: model: a mapping is not allowed: give a value"},
		{"labels: {a: b}\n", ".github/ralph.yml:1: labels: a mapping is not allowed: give a value or a list"},
		{"labels:\n  - a\n  - [b]\n", ".github/ralph.yml:3: labels: each entry of the list must be a text"},
		{"setup:\n  - \"a\\0\"\n", ".github/ralph.yml:2: setup: is binary"},
		{"agent-command: [\"\", x]\nagent: text\n", ".github/ralph.yml:1: agent-command: "},
		{"model: \"a\\0\"\n", ".github/ralph.yml:1: model: is binary"},
		{"model: a\x00\n", `.github/ralph.yml: ".github/ralph.yml" is binary`},
		{"model: \xff\n", `.github/ralph.yml: ".github/ralph.yml" is binary`},
		{"# " + strings.Repeat("x", 1<<20), `.github/ralph.yml: ".github/ralph.yml" is larger than 1 MiB`},
		{"max-iterations: -3\n", `.github/ralph.yml:1: max-iterations: "-3" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"branch: a..b\n", `.github/ralph.yml:1: branch: "a..b" is not allowed`},
		{"branch: a\nbase: a\n", `.github/ralph.yml:1: branch: "a" is not allowed: it is also the base`},
		{"setup: [" + strings.Repeat("a,", 101) + "]\n", ".github/ralph.yml:1: setup: 101 entries are too many: at most 100"},
	} {
		err := loadFile(t, tt.file)
		if got := problems(t, err); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("Load(%.80q) = %q, want %q", tt.file, got, tt.want)
		}
	}
}

// A large file that is no configuration, or a hostile one, costs neither
// minutes nor a log of megabytes.
func TestHostileFile(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&names, "%x,", i)
	}
	for name, file := range map[string]string{
		"keys":    strings.Repeat("kkkkkkkkkkk: 1\n", 10_000),
		"depth":   strings.Repeat("[", 1<<20),
		"anchors": "guardrails: [&a {command: x}" + strings.Repeat(",*a", 50_000) + "]",
		"bomb":    "labels: &a [x, x]\nsetup: &b [*a, *a]\npass-env: &c [*b, *b]\nagent-args: [*c, *c]\n",
		"cycle":   "guardrails: &a [*a]\n",
		"names":   "labels: [" + names.String() + "]",
	} {
		err := loadFile(t, file)
		if err == nil || len(err.Error()) > 10_000 {
			t.Errorf("%s: Load = %.300v, want a bounded error", name, err)
		}
	}
}

func TestGoodFile(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{".github/ralph.yml": "\ufeff" + strings.ReplaceAll(
		"x: &x [a, 'b c']\n", "x: ", "agent-args: ") + "labels: *x\nmax-iterations: \"4\"\nsetup:\n  - '# kept'\n  - a\r\npush: True\n"})
	c, err := config.Load(config.LoadOptions{Dir: dir, Inputs: with()})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b c"}; !reflect.DeepEqual(c.Agent.Args, want) || !reflect.DeepEqual(c.PullRequest.Labels, want) {
		t.Errorf("agent-args = %q, labels = %q, want %q", c.Agent.Args, c.PullRequest.Labels, want)
	}
	if c.Loop.MaxIterations != 4 || c.Git.Push != config.PushAlways || !reflect.DeepEqual(c.Checks.Setup, []string{"# kept", "a"}) {
		t.Errorf("max-iterations = %d, push = %s, setup = %q", c.Loop.MaxIterations, c.Git.Push, c.Checks.Setup)
	}
}

func TestWhichFile(t *testing.T) {
	t.Parallel()
	outside := workspace(t, map[string]string{"c.yml": "model: outside\n"})
	dir := workspace(t, map[string]string{".github/ralph.yml": "model: standard\n", "ci/own.yml": "model: own\n", "folder.yml/": ""})
	if err := os.Symlink(filepath.Join(outside, "c.yml"), filepath.Join(dir, "link.yml")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		inputs, flags map[string]string
		model, err    string
	}{
		{"default", with(), nil, "standard", ""},
		{"input", with("config", "ci/own.yml"), nil, "own", ""},
		{"absolute input inside", with("config", filepath.Join(dir, "ci/own.yml")), nil, "own", ""},
		{"flag", with("config", "nope.yml"), map[string]string{"config": "ci/own.yml"}, "own", ""},
		{"flag outside", with(), map[string]string{"config": filepath.Join(outside, "c.yml")}, "outside", ""},
		{"missing", with(), map[string]string{"config": "nope.yml"}, "", `flag --config: "nope.yml" cannot be read: it does not exist`},
		{"folder", with("config", "folder.yml"), nil, "", `input config: "folder.yml" is a folder: give a file`},
		{"link out", with("config", "link.yml"), nil, "", `input config: "link.yml" cannot be read: path escapes from parent`},
	} {
		c, err := config.Load(config.LoadOptions{Dir: dir, Inputs: tt.inputs, Flags: tt.flags})
		got := strings.Join(problems(t, err), "\n")
		if c.Agent.Model != tt.model || got != tt.err {
			t.Errorf("%s: model %q, problems %q; want %q, %q", tt.name, c.Agent.Model, got, tt.model, tt.err)
		}
	}

	_, err := config.Load(config.LoadOptions{Dir: workspace(t, map[string]string{".github/ralph.yaml": "model: x"}), Inputs: with()})
	if want := ".github/ralph.yaml: is not read: call it .github/ralph.yml"; err == nil || err.Error() != want {
		t.Errorf("Load(ralph.yaml) = %v, want %s", err, want)
	}
}
