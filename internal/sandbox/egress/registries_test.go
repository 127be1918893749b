package egress_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

func TestRegistries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		has   []string
		hasNo []string
		none  bool
	}{
		"node":                  {files: []string{"package.json"}, has: []string{"registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io"}, hasNo: []string{"deno.land", "dl.deno.land", "jsr.io"}},
		"deno":                  {files: []string{"deno.jsonc"}, has: []string{"deno.land", "dl.deno.land", "jsr.io", "registry.npmjs.org"}, hasNo: []string{"registry.yarnpkg.com"}},
		"python":                {files: []string{"pyproject.toml"}, has: []string{"pypi.org", "files.pythonhosted.org"}},
		"go":                    {files: []string{"go.mod"}, has: []string{"proxy.golang.org", "sum.golang.org", "storage.googleapis.com"}},
		"rust":                  {files: []string{"Cargo.toml"}, has: []string{"index.crates.io", "static.crates.io", "static.rust-lang.org"}},
		"ruby":                  {files: []string{"Gemfile"}, has: []string{"rubygems.org"}},
		"php":                   {files: []string{"composer.json"}, has: []string{"repo.packagist.org"}},
		"java":                  {files: []string{"pom.xml"}, has: []string{"repo.maven.apache.org", "repo1.maven.org"}},
		"kotlin":                {files: []string{"build.gradle.kts"}, has: []string{"plugins.gradle.org", "services.gradle.org"}},
		"dotnet, by its ending": {files: []string{"src/App/App.csproj"}, has: []string{"api.nuget.org"}},
		"elixir":                {files: []string{"mix.exs"}, has: []string{"repo.hex.pm"}},
		"dart":                  {files: []string{"pubspec.yaml"}, has: []string{"pub.dev"}},
		"swift":                 {files: []string{"Podfile"}, has: []string{"cdn.cocoapods.org"}},
		"haskell":               {files: []string{"x.cabal"}, has: []string{"hackage.haskell.org"}},
		"two levels below":      {files: []string{"services/web/package.json", "go.mod"}, has: []string{"registry.npmjs.org", "proxy.golang.org"}},
		"three levels below":    {files: []string{"a/b/c/package.json"}, none: true},
		"what was installed":    {files: []string{"node_modules/x/package.json", "vendor/go.mod", ".git/package.json"}, none: true},
		"nothing known":         {files: []string{"README.md", "main.c"}, none: true},
		"a folder of that name": {files: []string{"package.json/x"}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := registries(t, func(dir string) {
				for _, f := range c.files {
					write(t, filepath.Join(dir, f))
				}
			})
			for _, want := range c.has {
				if !slices.Contains(got, want) {
					t.Errorf("Registries() = %v, want %s among them", got, want)
				}
			}
			for _, no := range c.hasNo {
				if slices.Contains(got, no) {
					t.Errorf("Registries() = %v, want no %s among them", got, no)
				}
			}
			if c.none && len(got) > 0 {
				t.Errorf("Registries() = %v, want none", got)
			}
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("Registries() = %v, want each once, sorted", got)
			}
			for _, host := range got {
				if r, err := hosts.Parse(host); err != nil || r.String() != host || strings.Contains(host, "*") {
					t.Errorf("%q is no plain host: %v", host, err)
				}
			}
		})
	}
}

// Links are not followed, neither to files nor to folders.
func TestRegistriesFollowsNoLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "package.json"))
	got := registries(t, func(dir string) {
		for link, to := range map[string]string{"go.mod": filepath.Join(outside, "package.json"), "sub": outside, "loop": "."} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(got) > 0 {
		t.Errorf("Registries() = %v, want none", got)
	}
}

func registries(t *testing.T, fill func(dir string)) []string {
	t.Helper()
	dir := t.TempDir()
	fill(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return egress.Registries(root)
}

func write(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestForge(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"https://github.com", "https://GitHub.com./"} {
		got := egress.Forge(server)
		for _, want := range []string{"github.com", "codeload.github.com", "raw.githubusercontent.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com"} {
			if !slices.Contains(got, want) {
				t.Errorf("Forge(%q) = %v, want %s among them", server, got, want)
			}
		}
		for _, host := range got {
			if slices.Contains([]string{"api.github.com", "uploads.github.com", "gist.github.com"}, host) || strings.Contains(host, "*") {
				t.Errorf("Forge(%q) has %s, where a sandboxed process could write", server, host)
			}
		}
	}
	for server, want := range map[string]string{
		"https://git.example.com": "git.example.com:443", "http://gitea:3000/": "gitea:3000", "https://git.example.com:8443/x": "git.example.com:8443",
		"https://github.com.evil.example": "github.com.evil.example:443", "ssh://git.example.com": "", "": "", "::": "", "https://": "",
	} {
		if got := strings.Join(egress.Forge(server), " "); got != want {
			t.Errorf("Forge(%q) = %q, want %q", server, got, want)
		}
	}
}
