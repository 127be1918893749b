package content_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/inspect/content"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		patterns string // separated by spaces
		path     string
		want     string
	}{
		{"*.key", "a.key", "*.key"},
		{"*.key", "deep/down/a.key", "*.key"},
		{"*.key", "a.key/b", "*.key"},
		{"*.key", "a.keys", ""},
		{"/action.yml", "action.yml", "/action.yml"},
		{"/action.yml", "sub/action.yml", ""},
		{".github/workflows/", ".github/workflows/x/y.yml", ".github/workflows/"},
		{".github/workflows/", "sub/.github/workflows/y.yml", ""},
		{".github/workflows/", ".github/workflows", ".github/workflows/"}, // a link in its place
		{".github/workflows/", ".github/workflows2/a", ""},
		{"**/CODEOWNERS", "CODEOWNERS", "**/CODEOWNERS"},
		{"**/CODEOWNERS", "docs/CODEOWNERS", "**/CODEOWNERS"},
		{"docs/**/x", "docs/x", "docs/**/x"},
		{"docs/**/x", "docs/a/b/x", "docs/**/x"},
		{"docs/**", "docs/a", "docs/**"},
		{"a/*/c", "a/b/c", "a/*/c"},
		{"a/*/c", "a/b/b/c", ""},
		{"a?c", "abc", "a?c"},
		{"[!a]b", "ab", ""},
		{"[!a]b", "cb", "[!a]b"},
		{"a[0-9]", "a7", "a[0-9]"},
		{`\#a`, "#a", `\#a`},
		{`\!a`, "!a", `\!a`},
		{".claude/ !.claude/rules/", ".claude/settings.json", ".claude/"},
		{".claude/ !.claude/rules/", ".claude/rules/go.md", ""},
		{"*.md !README.md docs/README.md", "docs/README.md", "docs/README.md"},
		{"**", "anything/at/all", "**"},
		{"#comment", "comment", ""},

		// What other file systems take for the same.
		{".github/workflows/", ".GitHub/Workflows/x.yml", ".github/workflows/"},
		{"codeowners", "CODEOWNERS", "codeowners"},
		{".github/workflows/", ".git\u200chub/workflows/x.yml", ".github/workflows/"},
		{".github/workflows/", ".github/work\u017flows/x.yml", ""},
		{".github/workflows/", ".github/workflow\u017f/x.yml", ".github/workflows/"},
		{"k", "\u212a", "k"},
		{"\u00fcber/", "u\u0308ber/x", "\u00fcber/"},
		{"U\u0308BER", "\u00fcber", "U\u0308BER"},
		{"action.yml", "action.yml.", "action.yml"},
		{"action.yml", "action.yml::$DATA", "action.yml"},
		{".github/workflows/", ".github. /workflows/x", ".github/workflows/"},
	} {
		if got := patterns(t, strings.Split(tt.patterns, " ")...).Match(tt.path); got != tt.want {
			t.Errorf("Parse(%q).Match(%q) = %q, want %q", tt.patterns, tt.path, got, tt.want)
		}
	}
}

func TestWrongPatternsAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, want string }{
		{"a[", "bracket"},
		{"[[:alpha:]]", "[a-z]"},
		{"../a", `no ".."`},
		{"a//b", "two slashes"},
		{"/", "names nothing"},
		{"!", "names nothing"},
		{strings.Repeat("a", 2000), "more than 1000 bytes"},
	} {
		if _, err := content.Parse([]string{"fine", tt.pattern}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.20q) = %v, want %q", tt.pattern, err, tt.want)
		}
	}
	if p, err := content.Parse([]string{"", "  ", "# nothing"}); err != nil || p.Match("a") != "" {
		t.Errorf("Parse(empty) = %v, %v, want nothing", p, err)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	protected, agents := patterns(t, content.Protected()...), patterns(t, content.AgentConfig()...)
	programs := patterns(t, content.AgentPrograms()...)
	for _, tt := range []struct {
		path              string
		protected, agents bool
	}{
		{".github/workflows/ci.yml", true, false},
		{".github/actions/x/run.sh", true, false},
		{"action.yml", true, false},
		{"tools/action.yaml", true, false},
		{"CODEOWNERS", true, false},
		{".github/CODEOWNERS", true, false},
		{"docs/CODEOWNERS", true, false},
		{".gitmodules", true, false},
		{".lfsconfig", true, false},
		{".github/ralph.yml", true, true},
		{".ralph/settings.json", true, true},
		{"sub/.ralph/settings.local.json", true, true},
		{".ralph/report.json", false, false},
		{".claude/settings.json", true, true},
		{".claude/settings.local.json", true, true},
		{".claude/hooks/x.sh", true, true},
		{".claude/skills/x/SKILL.md", true, true},
		{"web/.claude/agents/x.md", true, true},
		{".claude/rules/go.md", false, true},
		{".claude/CLAUDE.md", false, true},
		{".mcp.json", true, true},
		{".codex/config.toml", true, true},
		{".gemini/settings.json", true, true},
		{".gemini/GEMINI.md", false, true},
		{".agents/skills/x/SKILL.md", true, true},
		{".github/skills/x/SKILL.md", true, true},
		{".clinerules", false, true},
		{".clinerules/go.md", false, true},
		{".clinerules/hooks/PreToolUse", true, true},
		{".geminiignore", false, true},
		{"opencode.json", true, true},
		{".opencode/plugin/x.ts", true, true},
		{".cursor/mcp.json", true, true},
		{".cursor/rules/a.mdc", false, true},
		{".vscode/tasks.json", true, false},
		{"sub/.vscode/settings.json", true, false},
		{".vscode/extensions.json", false, false},
		{".devcontainer/Dockerfile", true, false},
		{".husky/pre-commit", true, true},
		{"lefthook.yml", true, true},
		{".pre-commit-config.yaml", true, true},
		{"AGENTS.md", false, true},
		{"CLAUDE.md", false, true},
		{"pkg/CLAUDE.md", false, true},
		{"GEMINI.md", false, true},
		{".github/copilot-instructions.md", false, true},
		{".github/copilot/settings.json", true, true},
		{".env", false, true},
		{".github/dependabot.yml", false, false},
		{"README.md", false, false},
		{"src/action.go", false, false},
		{"go.sum", false, false},
	} {
		if got := protected.Match(tt.path) != ""; got != tt.protected {
			t.Errorf("Protected picks %q: %t, want %t", tt.path, got, tt.protected)
		}
		if got := agents.Match(tt.path) != ""; got != tt.agents {
			t.Errorf("AgentConfig picks %q: %t, want %t", tt.path, got, tt.agents)
		}
		if got, want := programs.Match(tt.path) != "", tt.agents && tt.protected; got != want {
			t.Errorf("AgentPrograms picks %q: %t, want %t", tt.path, got, want)
		}
	}
}

// What git itself ignores by these patterns is picked. The other way round there
// are the differences that the type names.
func TestPatternsPickWhatGitIgnores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent")
		out, _ := cmd.Output()
		return "\x00" + string(out)
	}
	git("", "init", "-q")
	paths := []string{"a", "a/b", "b/a", "a/b/c", "x.key", "d/x.key", "docs/x", "docs/a/x", "docs/a/b/x", "foo", "foo/bar", "d/foo/bar", "[a]", "#a", "!a", "a b", "abc", "Abc"}
	for _, p := range []string{"a", "/a", "a/", "a/b", "/a/b", "**/a", "a/**", "docs/**/x", "*.key", "d/*.key", "*", "foo/*", "foo/", "a?c", "[a-c]bc", "[!a]*", `\#a`, `\!a`, `\[a\]`, "**/foo/bar", "a*/b"} {
		if err := os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte(p+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		all := git(strings.Join(paths, "\x00"), "check-ignore", "--no-index", "--stdin", "-z")
		for _, name := range paths {
			ignored := strings.Contains(all, "\x00"+name+"\x00")
			got := patterns(t, p).Match(name) != ""
			more := strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/**") // what stands in a folder's place, too
			if name != "Abc" && (ignored && !got || !ignored && got && !more) {
				t.Errorf("%q picks %q: %t, git says %t", p, name, got, ignored)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/a*[b-c]/**", "x/abc/y")
	f.Add("!a", "a")
	f.Add(".github/workflows/", ".GitHub/WORKFLOWS/\xff")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := content.Parse([]string{pattern})
		if err != nil {
			return
		}
		one := p.Match(path)
		if one != "" && p.Match(path+"/below") == "" {
			t.Errorf("%q picks %q and not what lies below it", pattern, path)
		}
		both, err := content.Parse([]string{pattern, "**"})
		if err == nil && path != "" && both.Match(path) == "" {
			t.Errorf("** does not pick %q", path)
		}
	})
}
