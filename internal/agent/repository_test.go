package agent

import (
	"slices"
	"strings"
	"testing"
)

// A file of the repository cannot say where gemini sends its requests: what the
// run does not set is set to nothing, which a .env cannot change.
func TestGeminiPinned(t *testing.T) {
	t.Parallel()
	env := gemini{}.environ(Options{Env: []string{"GEMINI_API_KEY=k", "HTTPS_PROXY=http://p"}, BaseURL: "http://127.0.0.1:1"})
	for _, name := range geminiPinned() {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			t.Errorf("%s is open", name)
		}
	}
	if lookup(env, "HTTPS_PROXY") != "http://p" || lookup(env, "GEMINI_API_KEY") != "k" || lookup(env, "GOOGLE_GEMINI_BASE_URL") != "http://127.0.0.1:1" {
		t.Errorf("what was set did not stay: %q", env)
	}
	if lookup(env, geminiTrust) != "" {
		t.Error("the repository's settings are trusted")
	}
	if env := (gemini{}).environ(Options{Env: []string{geminiTrust + "=true"}}); slices.Contains(env, "GOOGLE_GEMINI_BASE_URL=") {
		t.Error("a user who trusts the folder lost its .env")
	}
}

// The repository's opencode.json is left out, its words to agents are not.
func TestOpencodeProse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := func(o Options) string {
		o.Dir = dir
		return lookup(opencode{}.environ(o), "OPENCODE_CONFIG_CONTENT")
	}
	if got := config(Options{}); got != "" {
		t.Errorf("without a file: %s", got)
	}
	writeFile(t, dir+"/CLAUDE.md", "x")
	if want := `{"instructions":["` + dir + `/CLAUDE.md"]}`; config(Options{}) != want {
		t.Errorf("CLAUDE.md alone: %s, want %s", config(Options{}), want)
	}
	writeFile(t, dir+"/AGENTS.md", "x")
	if want := `{"instructions":["` + dir + `/AGENTS.md"]}`; config(Options{}) != want {
		t.Errorf("both: %s, want %s", config(Options{}), want)
	}
	if want := `{"instructions":["own.md","` + dir + `/AGENTS.md"]}`; config(Options{Settings: `{"instructions":["own.md"]}`}) != want {
		t.Errorf("with the user's: %s, want %s", config(Options{Settings: `{"instructions":["own.md"]}`}), want)
	}
	if got := config(Options{Env: []string{"OPENCODE_CONFIG_CONTENT={}"}}); got != "{}" {
		t.Errorf("over the user's own configuration: %s", got)
	}
	if got := config(Options{Env: []string{opencodeAlone + "=0"}}); got != "" {
		t.Errorf("where the repository's configuration counts: %s", got)
	}
}
