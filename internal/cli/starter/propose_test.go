package starter_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/org/ralph-action/internal/cli/starter"
)

// nowhere is a PATH without agents.
func nowhere(string) (string, error) { return "", errors.New("not found") }

func on(names ...string) func(string) (string, error) {
	return func(name string) (string, error) {
		if slices.Contains(names, name) {
			return "/bin/" + name, nil
		}
		return nowhere(name)
	}
}

func files(nameThenText ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(nameThenText); i += 2 {
		fsys[nameThenText[i]] = &fstest.MapFile{Data: []byte(nameThenText[i+1])}
	}
	return fsys
}

func commands(p starter.Proposal) []string {
	var list []string
	for _, g := range p.Guardrails {
		list = append(list, g.Command)
	}
	return list
}

// The first agent of the list that is on PATH is proposed.
func TestProposeAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		found []string
		want  string
	}{
		{nil, ""},
		{[]string{"cline"}, "cline"},
		{[]string{"amp", "codex"}, "codex"},
		{[]string{"cline", "amp", "codex", "claude"}, "claude"},
		{[]string{"vim"}, ""},
	} {
		if got := starter.Propose(files(), on(tc.found...)).Agent; got != tc.want {
			t.Errorf("Propose with %v on PATH: agent %q, want %q", tc.found, got, tc.want)
		}
	}
}

func TestProposeMake(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, makefile string
		want           []string
	}{
		{"targets in our order", "test: a\n\t./t\nlint:\n\t./l\ncheck:\n\t./c\nvet: ; go vet\n", []string{"make lint", "make vet", "make check", "make test"}},
		{"several on one line", "lint test build:\n\t./run $@\n", []string{"make lint", "make test"}},
		{"double colon, grouped, spaces", "test :: a\n  lint &: b\n", []string{"make lint", "make test"}},
		{"a prerequisite is enough", "test: unit\n", []string{"make test"}},
		{"only prerequisites of others", "all: lint test\n\techo\n", nil},
		{".PHONY alone", ".PHONY: lint test\n", nil},
		{"nothing to do", "test:\nlint:\n\t\nbuild:\n\tgo build\n", nil},
		{"recipe after an empty line and a condition", "test:\n\n# c\nifdef X\n\tgo test\nendif\n", []string{"make test"}},
		{"variables", "test := a:b\nlint = x\ncheck ?= y: z\nvet::=q\nlint += a: b\ntest != ls\ncheck:::=z\n", nil},
		{"a variable of the target's", "test: FLAGS = -race\nlint: export A := 1\n", nil},
		{"a value with a colon in a function", "X = $(subst :, ,test: a)\n$(info lint: x)\n", nil},
		{"pattern rules", "test%: a\n\tb\n%.o: %.c\n\tcc\nlint-%:\n\tx\n", nil},
		{"similar names", "test-unit: a\n\tb\nmytest:\n\tx\nTest: a\n", nil},
		{"in a recipe", "build:\n\techo test: a\n\techo lint: b\n", nil},
		{"in a recipe that goes on", "build:\n\techo a \\\ntest: b\n", nil},
		{"in a comment", "# test: a\nx: y # \\\ntest: b\n", nil},
		{"continued", "lint \\\n  test: a \\\n  b\n", []string{"make lint", "make test"}},
		{"a recipe with an equals sign", "test: ; A=b go test\n", []string{"make test"}},
		{"line ends and mark of Windows", "\ufefftest: a\r\n\tgo test\r\n", []string{"make test"}},
		{"a file of noise", "\x00:\x01=\n$(((\n\\\n:::\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := commands(starter.Propose(files("Makefile", tc.makefile), nowhere)); !slices.Equal(got, tc.want) {
				t.Errorf("Propose(%q) = %q, want %q", tc.makefile, got, tc.want)
			}
		})
	}
	both := files("Makefile", "lint: a\n", "GNUmakefile", "test: a\n")
	if got, want := commands(starter.Propose(both, nowhere)), []string{"make test"}; !slices.Equal(got, want) {
		t.Errorf("Propose with two makefiles = %q, want %q: make reads GNUmakefile first", got, want)
	}
}

func TestProposeManifests(t *testing.T) {
	t.Parallel()
	const all = `{"scripts": {"test": "vitest run", "lint": "eslint .", "typecheck": "tsc", "build": "vite"}}`
	for _, tc := range []struct {
		name  string
		files fstest.MapFS
		want  []string
	}{
		{"nothing", files("README.md", "test: a"), nil},
		{"npm", files("package.json", all, "package-lock.json", "{}"), []string{"npm run lint", "npm run typecheck", "npm run test"}},
		{"no lock file", files("package.json", `{"scripts":{"test":"jest"}}`), []string{"npm run test"}},
		{"pnpm", files("package.json", all, "pnpm-lock.yaml", ""), []string{"pnpm run lint", "pnpm run typecheck", "pnpm run test"}},
		{"yarn", files("package.json", all, "yarn.lock", ""), []string{"yarn run lint", "yarn run typecheck", "yarn run test"}},
		{"bun", files("package.json", all, "bun.lock", ""), []string{"bun run lint", "bun run typecheck", "bun run test"}},
		{"bun, older", files("package.json", `{"scripts":{"test":"bun test"}}`, "bun.lockb", ""), []string{"bun run test"}},
		{"what npm init writes", files("package.json", `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`), nil},
		{"a test that never ends", files("package.json", `{"scripts":{"test":"jest --watch","lint":"eslint --watch-path"}}`), []string{"npm run lint"}},
		{"scripts that are none", files("package.json", `{"scripts":{"test":["a"],"lint":"  ","typecheck":7}}`), nil},
		{"other names", files("package.json", `{"Scripts":{"test":"a"},"x":{"scripts":{"lint":"b"}}}`), nil},
		{"no object", files("package.json", `["scripts"]`), nil},
		{"broken", files("package.json", `{"scripts":{"test":"a"}`), nil},

		{"go", files("go.mod", "module x\n"), []string{"go vet ./...", "go test ./..."}},
		{"go with make test", files("go.mod", "", "Makefile", "test:\n\tgo test\n"), []string{"make test", "go vet ./..."}},
		{"go with make lint and check", files("go.mod", "", "Makefile", "lint check: x\n"), []string{"make lint", "make check"}},
		{"go.mod is a folder", files("go.mod/x", ""), nil},
		{"rust", files("Cargo.toml", ""), []string{"cargo clippy --all-targets -- -D warnings", "cargo test"}},
		{"rust with make", files("Cargo.toml", "", "makefile", "lint test: x\n"), []string{"make lint", "make test"}},

		{"python without tools", files("pyproject.toml", "[project]\nname = \"x\"\n"), nil},
		{"ruff and pytest", files("pyproject.toml", "[tool.ruff]\nline-length = 1\n[tool.pytest.ini_options]\n"), []string{"ruff check", "pytest"}},
		{"below ruff", files("pyproject.toml", "[tool.ruff.lint]\n"), []string{"ruff check"}},
		{"tests folder, uv", files("pyproject.toml", "[ tool . \"ruff\" ] # c\n", "uv.lock", "", "tests/test_x.py", ""), []string{"uv run ruff check", "uv run pytest"}},
		{"poetry", files("pyproject.toml", "[tool.poetry]\n[tool.pytest]\n", "poetry.lock", ""), []string{"poetry run pytest"}},
		{"in comments", files("pyproject.toml", "# [tool.ruff]\n[project] # [tool.pytest]\n"), nil},
		{"similar names", files("pyproject.toml", "[tool.ruff-lsp]\n[tools.ruff]\n[x.tool.ruff]\n[[tool]]\nruffle = 1\n[tool]\n"), nil},
		{"tests without pyproject", files("tests/test_x.py", ""), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := commands(starter.Propose(tc.files, nowhere)); !slices.Equal(got, tc.want) {
				t.Errorf("Propose = %q, want %q", got, tc.want)
			}
		})
	}
}

// What is no file of the project is not opened: a pipe would wait for ever.
func TestProposeOddFiles(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "package.json"), []byte(`{"scripts":{"test":"x"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "Makefile"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "package.json"), filepath.Join(dir, "package.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "pyproject.toml")); err != nil {
		t.Fatal(err)
	}
	folder, err := starter.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if got := commands(starter.Propose(folder.FS(), nowhere)); len(got) > 0 {
		t.Errorf("Propose = %q, want nothing", got)
	}
}

// fixed are all the commands there can be.
func fixed(command string) bool {
	for _, tool := range []string{"make ", "npm run ", "pnpm run ", "yarn run ", "bun run "} {
		if name, ok := strings.CutPrefix(command, tool); ok {
			return slices.Contains([]string{"lint", "vet", "check", "typecheck", "test"}, name)
		}
	}
	return slices.Contains([]string{
		"go vet ./...", "go test ./...", "cargo clippy --all-targets -- -D warnings", "cargo test",
		"ruff check", "pytest", "uv run ruff check", "uv run pytest", "poetry run ruff check", "poetry run pytest",
	}, command)
}

func FuzzPropose(f *testing.F) {
	for _, seed := range []struct{ name, text string }{
		{"Makefile", "test: a\n\tb\nlint := c\n.PHONY: x\ndefine y\nendef\n"},
		{"Makefile", ".RECIPEPREFIX = >\ntest: $(X:a=b) ; c\n> d\\\n"},
		{"package.json", `{"scripts":{"test":"a","lint":"b; rm -rf /"}}`},
		{"pyproject.toml", "[tool.ruff]\na = '''\n'''\nb = [\"]\", {x = 1}]\n[[tool.pytest]]\n"},
		{"pyproject.toml", "tool.\"ruff\".x = \"\"\"\\\"\"\"\"\n"},
	} {
		f.Add(seed.name, []byte(seed.text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if !slices.Contains([]string{"Makefile", "package.json", "pyproject.toml"}, name) {
			t.Skip()
		}
		for _, command := range commands(starter.Propose(fstest.MapFS{name: {Data: text}}, nowhere)) {
			if !fixed(command) {
				t.Errorf("Propose(%s: %q) proposes %q", name, text, command)
			}
		}
	})
}
