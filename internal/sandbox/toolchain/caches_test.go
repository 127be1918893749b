package toolchain_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

func TestCaches(t *testing.T) {
	t.Parallel()
	at := machine(t, "go/pkg/mod", "elsewhere/build", ".cargo/registry", ".cargo/bin", ".gradle/daemon", ".m2/repository", ".cache/pip", "uv")
	if err := os.WriteFile(at(".npm"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": at(""), "GOCACHE": at("elsewhere/build"), "UV_CACHE_DIR": "relative", "PIP_CACHE_DIR": at("missing")}
	getenv := func(name string) string { return env[name] }
	look := func(name string) (string, error) {
		if slices.Contains([]string{"go", "java", "npm", "uv", "pip3"}, name) {
			return "/bin/" + name, nil
		}
		return "", errors.New("not found")
	}
	uses := func(names []string) (all []string) {
		for _, c := range toolchain.Caches(names, getenv, look) {
			if variable, ok := c.Read(getenv); ok {
				all = append(all, variable)
				continue
			}
			all = append(all, c.Use(c.Dir))
		}
		return all
	}
	file := "GOPROXY=file://" + at("go/pkg/mod") + "/cache/download,https://proxy.golang.org,direct"
	if got, want := uses(nil), []string{file, "GOCACHE=" + at("elsewhere/build"), "MAVEN_OPTS=-Dmaven.repo.local=" + at(".m2/repository")}; !slices.Equal(got, want) {
		t.Errorf("on this machine: %q, want %q", got, want)
	}
	if got, want := uses([]string{"cargo", "pip", "npm", "gradle"}), []string{"CARGO_HOME=" + at(".cargo")}; !slices.Equal(got, want) {
		t.Errorf("by name: %q, want %q", got, want)
	}
	if c := toolchain.Caches([]string{"cargo"}, getenv, look); len(c) != 1 || !slices.Equal(c[0].Parts, []string{"registry"}) {
		t.Errorf("cargo: %v, want its registry alone", c)
	}
	env["HOME"] = ""
	if got := uses([]string{"cargo", "maven"}); len(got) > 0 {
		t.Errorf("without HOME: %q", got)
	}
}

// The documentation names every variable, folder and cache of the tables.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range toolchain.Words() {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("docs/configuration.md does not name `%s`", word)
		}
	}
}
