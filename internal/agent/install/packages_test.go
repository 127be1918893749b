package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/agent/install"
)

func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string // package.json by folder; "-> target" is a link
		want  []string
	}{
		{"a platform's package beside it, as npm i lays it out", map[string]string{
			"node_modules/@openai/codex":             `{"optionalDependencies":{"@openai/codex-linux-x64":"npm:x","@openai/codex-darwin-x64":"npm:x"}}`,
			"node_modules/@openai/codex-linux-x64":   `{}`,
			"node_modules/@openai/codex-linux-arm64": `{}`,
			"node_modules/other":                     `{}`,
		}, []string{"node_modules/@openai/codex-linux-x64"}},
		{"in it, as npm i -g lays it out", map[string]string{
			"node_modules/@openai/codex":                                      `{"optionalDependencies":{"@openai/codex-linux-x64":"npm:x"}}`,
			"node_modules/@openai/codex/node_modules/@openai/codex-linux-x64": `{}`,
			"node_modules/@openai/codex-linux-x64":                            `{}`,
		}, nil},
		{"what a nested package needs is beside the first", map[string]string{
			"node_modules/@openai/codex":                     `{"dependencies":{"nested":"1"}}`,
			"node_modules/@openai/codex/node_modules/nested": `{"dependencies":{"hoisted":"1"},"peerDependencies":{"peer":"1"}}`,
			"node_modules/hoisted":                           `{"dependencies":{"deep":"1","nested":"2"}}`,
			"node_modules/nested":                            `{"dependencies":{"@openai/codex":"1"}}`,
			"node_modules/deep":                              `{}`,
			"node_modules/peer":                              `{}`,
		}, []string{"node_modules/deep", "node_modules/hoisted", "node_modules/nested", "node_modules/peer"}},
		{"of a workspace, above", map[string]string{
			"packages/a/node_modules/@openai/codex": `{"optionalDependencies":{"platform":"1"}}`,
			"node_modules/platform":                 `{}`,
			"packages/node_modules/platform":        `{}`,
		}, []string{"packages/node_modules/platform"}},
		{"a store with links, as pnpm's", map[string]string{
			"node_modules/@openai/codex":                                 "-> ../.pnpm/codex@1/node_modules/@openai/codex",
			"node_modules/.pnpm/codex@1/node_modules/@openai/codex":      `{"optionalDependencies":{"@openai/platform":"npm:x"}}`,
			"node_modules/.pnpm/codex@1/node_modules/@openai/platform":   "-> ../../../platform@1/node_modules/@openai/codex",
			"node_modules/.pnpm/platform@1/node_modules/@openai/codex":   `{}`,
			"node_modules/.pnpm/platform@1/node_modules/@openai/another": `{}`,
		}, []string{"node_modules/.pnpm/platform@1/node_modules/@openai/codex"}},
		{"names and links that lead elsewhere", map[string]string{
			"node_modules/@openai/codex": `{"dependencies":{"../../secret":"1","..":"1","@a/../../../secret":"1","link":"1","/secret":"1","":"1",".bin":"1"}}`,
			"node_modules/link":          "-> ../secret",
			"secret":                     `{}`,
		}, nil},
		{"no JSON", map[string]string{"node_modules/@openai/codex": `{"dependencies":["a"]}`, "node_modules/a": `{}`}, nil},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for folder, text := range tt.files {
			dir := filepath.Join(root, folder)
			if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			if target, ok := strings.CutPrefix(text, "-> "); ok {
				err = os.Symlink(target, dir)
			} else if err = os.MkdirAll(dir, 0o755); err == nil {
				err = os.WriteFile(filepath.Join(dir, "package.json"), []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		dir := "node_modules/@openai/codex"
		if tt.name == "of a workspace, above" {
			dir = "packages/a/" + dir
		}
		var got []string
		for _, path := range install.Needs(filepath.Join(root, dir)) {
			got = append(got, strings.TrimPrefix(path, root+"/"))
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Needs() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A pipe in place of a package.json is not waited for.
func TestNeedsOfAPipe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "node_modules", "codex")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "package.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := install.Needs(dir); len(got) != 0 {
		t.Errorf("Needs() = %q, want nothing", got)
	}
}
