package gemini

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func TestGeminiArgv(t *testing.T) {
	t.Parallel()
	const id = "ee499aad-3e09-4cfb-b54f-51ee1e26433e"
	const usual = "gemini|-o|stream-json|--yolo|--skip-trust"
	for _, tt := range []struct {
		name   string
		o      driver.Options
		resume string
		want   string
	}{
		{"bare", driver.Options{}, "", usual},
		{"a model", driver.Options{Model: "gemini-2.5-pro"}, "", usual + "|-m|gemini-2.5-pro"},
		{"the user's model", driver.Options{Model: "a", Args: []string{"--model=b"}}, "", usual + "|--model=b"},
		{"text mode", driver.Options{Plain: true}, "", "gemini|-o|text|--yolo|--skip-trust"},
		{"what repeats ours", driver.Options{Args: []string{"-y", "--output-format", "json", "--skip-trust", "-o=text", "-e", "x"}}, "", usual + "|-e|x"},
		{"another mode of approval", driver.Options{Args: []string{"--approval-mode", "auto_edit"}}, "", "gemini|-o|stream-json|--skip-trust|--approval-mode|auto_edit"},
		{"without bypass", driver.Options{Args: []string{"--yolo=false"}}, "", "gemini|-o|stream-json|--skip-trust|--yolo=false"},
		{"another command", driver.Options{Command: []string{"npx", "gemini", "--yolo"}}, "", "npx|" + usual},
		{"resumed", driver.Options{Args: []string{"-e", "x"}}, id, usual + "|-e|x|--resume|" + id},
		{"a session id is for the first turn", driver.Options{Args: []string{"--session-id", "x", "--", "y"}}, id, usual + "|--resume|" + id + "|--|y"},
		{"the user resumes", driver.Options{Args: []string{"--resume", "latest"}}, id, usual + "|--resume|latest"},
		{"exact", driver.Options{Exact: true, ExactArgs: []string{"-o", "stream-json"}}, id, "gemini|-o|stream-json|--resume|" + id},
		{"settings", driver.Options{Scratch: "/s", Turn: driver.Turn{Files: map[string]string{"settings.json": "/s/f"}}}, "", "sh|-c|" + startScript + "|gemini|/s/gemini-home|/s/f|" + usual},
	} {
		tt.o.Name = "gemini"
		if got := strings.Join(driver.CommandLine(Driver{}, tt.o, ralph.Prompt{Text: "p", Resume: tt.resume}), "|"); got != tt.want {
			t.Errorf("%s: argv =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestGeminiEnviron(t *testing.T) {
	t.Parallel()
	const quiet = " GEMINI_TELEMETRY_ENABLED=false"
	for _, tt := range []struct {
		name string
		o    driver.Options
		env  string
		want string
	}{
		{"quiet", driver.Options{}, "CLAUDECODE=1 A=b", "A=b" + quiet},
		{"the user's", driver.Options{}, "GEMINI_TELEMETRY_ENABLED=true GEMINI_CLI_TRUST_WORKSPACE=false", "GEMINI_TELEMETRY_ENABLED=true GEMINI_CLI_TRUST_WORKSPACE=false"},
		{"a base URL", driver.Options{BaseURL: "http://x"}, "GEMINI_API_KEY=k", "GEMINI_API_KEY=k" + quiet + " GOOGLE_GEMINI_BASE_URL=http://x"},
		{"of Vertex", driver.Options{BaseURL: "http://x"}, "GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_GENAI_USE_VERTEXAI=true" + quiet + " GOOGLE_VERTEX_BASE_URL=http://x"},
		{"Vertex", driver.Options{Provider: "vertex"}, "GEMINI_API_KEY=k GOOGLE_API_KEY=v", "GOOGLE_API_KEY=v" + quiet + " GOOGLE_GENAI_USE_VERTEXAI=true"},
		{"not Vertex", driver.Options{Provider: "gemini"}, "GEMINI_API_KEY=k GOOGLE_GENAI_USE_VERTEXAI=true", "GEMINI_API_KEY=k" + quiet + " GOOGLE_GENAI_USE_VERTEXAI=false"},
		{"a home", driver.Options{Scratch: "/s", Turn: driver.Turn{Files: map[string]string{"settings.json": "/s/f"}}}, "A=b", "A=b" + quiet + " GEMINI_CLI_HOME=/s/gemini-home"},
	} {
		tt.o.Env = strings.Fields(tt.env)
		given := slices.DeleteFunc(Driver{}.Environ(tt.o), func(kv string) bool { return strings.HasSuffix(kv, "=") })
		if got := strings.Join(given, " "); got != tt.want {
			t.Errorf("%s: environ = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestGeminiReady(t *testing.T) {
	t.Parallel()
	login := t.TempDir()
	agenttest.WriteFile(t, filepath.Join(login, ".gemini", "oauth_creds.json"), "{}")
	for _, tt := range []struct {
		name, env, provider string
		want                string // in the error; empty: ready
	}{
		{"nothing", "HOME=" + t.TempDir(), "", "set GEMINI_API_KEY, or log in"},
		{"a key", "GEMINI_API_KEY=k", "", ""},
		{"a key for Vertex", "GOOGLE_API_KEY=k", "", ""},
		{"a login", "HOME=" + login, "", ""},
		{"a login elsewhere", "GEMINI_CLI_HOME=" + login, "", ""},
		{"Vertex without a project", "GOOGLE_GENAI_USE_VERTEXAI=true", "", "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY"},
		{"Vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=l", "vertex", ""},
		{"a login with Google", "GOOGLE_GENAI_USE_GCA=true", "", ""},
		{"a key asked for", "GOOGLE_API_KEY=k HOME=" + login, "gemini", "set GEMINI_API_KEY"},
	} {
		err := Driver{}.Ready(driver.Options{Env: strings.Fields(tt.env), Provider: tt.provider})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: ready = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestGeminiSettings(t *testing.T) {
	t.Parallel()
	empty, own, noted := t.TempDir(), t.TempDir(), t.TempDir()
	agenttest.WriteFile(t, filepath.Join(own, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"oauth-personal"}},"privacy":{"usageStatisticsEnabled":true},"model":{"maxSessionTurns":9007199254740993}}`)
	agenttest.WriteFile(t, filepath.Join(noted, ".gemini", "settings.json"), "{\n// mine\n}")
	const mcp = `{"mcpServers":{"a":{"type":"stdio","command":"x","args":["${Y}"]},"b":{"type":"streamable-http","url":"http://x","headers":{"H":"v"}}}}`
	for _, tt := range []struct {
		name string
		o    driver.Options
		env  string
		want string // settings, or an error; empty: no file
	}{
		{"a new home", driver.Options{}, "GEMINI_API_KEY=k HOME=" + empty, `"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":true}}`},
		{"quiet", driver.Options{}, "HOME=" + empty, `"privacy":{"usageStatisticsEnabled":false}`},
		{"nothing asked, the user's own", driver.Options{}, "GEMINI_API_KEY=k HOME=" + own, ""},
		{"a base URL needs a way to log in", driver.Options{}, "GEMINI_API_KEY=k GOOGLE_GEMINI_BASE_URL=http://x HOME=" + empty, `"selectedType":"gemini-api-key"`},
		{"the user's own way", driver.Options{Settings: "{}"}, "GEMINI_API_KEY=k HOME=" + own, `{"advanced":{"ignoreLocalEnv":true},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"model":{"maxSessionTurns":9007199254740993},"privacy":{"usageStatisticsEnabled":true},"security":{"auth":{"selectedType":"oauth-personal"},"folderTrust":{"enabled":true}}}`},
		{"a provider", driver.Options{Provider: "vertex"}, "HOME=" + own, `"selectedType":"vertex-ai"`},
		{"settings", driver.Options{Settings: `{"model":{"maxSessionTurns":3}}`}, "HOME=" + own, `"model":{"maxSessionTurns":3}`},
		{"servers", driver.Options{MCP: mcp}, "HOME=" + empty, `"mcpServers":{"a":{"args":["${Y}"],"command":"x"},"b":{"headers":{"H":"v"},"type":"http","url":"http://x"}}`},
		{"a level", driver.Options{Model: "gemini-3-pro", Effort: "low"}, "HOME=" + empty, `"modelConfigs":{"customOverrides":[{"match":{"model":"chat-base-3"},"modelConfig":{"generateContentConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}},{"match":{"model":"gemini-3-pro"},"modelConfig":{"generateContentConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}}]}`},
		{"a budget", driver.Options{Effort: "1024"}, "HOME=" + empty, `"modelConfigs":{"customOverrides":[{"match":{"model":"chat-base-2.5"},"modelConfig":{"generateContentConfig":{"thinkingConfig":{"thinkingBudget":1024}}}}]}`},
		{"a level for a model of budgets", driver.Options{Model: "gemini-2.5-pro", Effort: "low"}, "", "Gemini 2.5 models take a number of tokens"},
		{"a budget for a model of levels", driver.Options{Model: "gemini-3-pro", Effort: "1024"}, "", "models from Gemini 3 on take one of minimal, low, medium, high"},
		{"an effort of another's", driver.Options{Effort: "xhigh"}, "", "gemini takes one of minimal, low, medium, high"},
		{"another provider", driver.Options{Provider: "bedrock"}, "", `provider "bedrock": unknown; gemini knows gemini (with GEMINI_API_KEY) and vertex`},
		{"no settings", driver.Options{Settings: "[]"}, "", "agent-settings: is no JSON object"},
		{"no servers", driver.Options{MCP: `{"servers":{}}`}, "", `mcp-config: must be a JSON object whose member "mcpServers"`},
		{"a server of nothing", driver.Options{MCP: `{"mcpServers":{"a":{}}}`}, "", `the server "a" has neither "command" nor "url"`},
		{"settings with comments", driver.Options{Settings: "{}"}, "HOME=" + noted, "comments cannot be kept"},
		{"a home of the user's", driver.Options{Settings: "{}"}, "GEMINI_CLI_HOME=/x", "GEMINI_CLI_HOME is set"},
		{"exact", driver.Options{Exact: true, Settings: "{}"}, "", "agent-settings has no effect: with exact arguments"},
	} {
		tt.o.Name, tt.o.Env, tt.o.Scratch = "gemini", strings.Fields(tt.env), t.TempDir()
		extras, err := Driver{}.Extras(tt.o)
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(extras) > 0 {
			var compact map[string]json.RawMessage
			if err := json.Unmarshal([]byte(extras[0].Text), &compact); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			b, _ := json.Marshal(compact)
			got = string(b)
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: extras = %s, want %q", tt.name, got, tt.want)
		}
		if b := strings.Contains(got, "chat-base-2.5"); b && strings.Contains(got, "thinkingLevel") {
			t.Errorf("%s: a level and a budget: %s", tt.name, got)
		}
	}
	if extras, err := (Driver{}).Extras(driver.Options{Env: []string{"HOME=" + empty}}); extras != nil || err != nil {
		t.Errorf("without a folder: extras = %v, %v, want none", extras, err)
	}
}

// The home a turn gets has our settings, and of the user's what else there is;
// the user's own stays as it was.
func TestGeminiHome(t *testing.T) {
	t.Parallel()
	home, scratch := t.TempDir(), filepath.Join(t.TempDir(), "a 'b' $c")
	const theirs = `{"ui":{"theme":"ANSI"}}`
	agenttest.WriteFile(t, filepath.Join(home, ".gemini", "settings.json"), theirs)
	agenttest.WriteFile(t, filepath.Join(home, ".gemini", "oauth_creds.json"), "login")
	agenttest.WriteFile(t, filepath.Join(home, ".gemini", ".env"), "X=1")
	agenttest.WriteFile(t, filepath.Join(scratch, "ours"), "ours")
	program := filepath.Join(scratch, "gemini")
	agenttest.WriteFile(t, program, "#!/bin/sh\nd=$GEMINI_CLI_HOME/.gemini\ncat $PWD/../none 2>/dev/null; cat \"$d/settings.json\" \"$d/oauth_creds.json\" \"$d/.env\"; echo session > \"$d/tmp/s\"; [ ! -e \"$d/planted\" ] || echo planted; echo x > \"$d/planted\"; echo x > \"$d/../.env\"; echo \" $*\"; cat\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	o := driver.Options{
		Name: "gemini", Command: []string{program}, Args: []string{"-e", "x y"}, Scratch: scratch,
		Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, Turn: driver.Turn{Files: map[string]string{"settings.json": filepath.Join(scratch, "ours")}},
	}
	for range 2 { // and nothing of what the turn before left counts
		argv := Driver{}.Argv(o, ralph.Prompt{})
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) // #nosec G204 -- a test's own
		cmd.Env, cmd.Stdin = Driver{}.Environ(o), strings.NewReader("the prompt")
		out, err := cmd.CombinedOutput()
		if want := "oursloginX=1 -o stream-json --yolo --skip-trust -e x y\nthe prompt"; err != nil || string(out) != want {
			t.Fatalf("it saw %q, %v, want %q", out, err, want)
		}
	}
	b, err := os.ReadFile(filepath.Join(home, ".gemini", "settings.json"))
	if err != nil || string(b) != theirs {
		t.Errorf("the user's settings = %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(home, ".gemini", "tmp", "s")); err != nil || string(b) != "session\n" {
		t.Errorf("sessions of the user's home: %q, %v", b, err)
	}
}

func TestGeminiCredentials(t *testing.T) {
	t.Parallel()
	got := catalog.Of("gemini").Credentials()
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL"} {
		if !slices.Contains(got, name) {
			t.Errorf("Credentials = %q, want %s among them", got, name)
		}
	}
	if slices.Contains(got, "GOOGLE_APPLICATION_CREDENTIALS") || slices.Contains(got, "OPENAI_API_KEY") {
		t.Errorf("Credentials = %q, want its own alone", got)
	}
}

// A file of the repository cannot say where gemini sends its requests: what the
// run does not set is set to nothing, which a .env cannot change.
func TestGeminiPinned(t *testing.T) {
	t.Parallel()
	env := Driver{}.Environ(driver.Options{Env: []string{"GEMINI_API_KEY=k", "HTTPS_PROXY=http://p"}, BaseURL: "http://127.0.0.1:1"})
	for _, name := range pinned() {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			t.Errorf("%s is open", name)
		}
	}
	if driver.Lookup(env, "HTTPS_PROXY") != "http://p" || driver.Lookup(env, "GEMINI_API_KEY") != "k" || driver.Lookup(env, "GOOGLE_GEMINI_BASE_URL") != "http://127.0.0.1:1" {
		t.Errorf("what was set did not stay: %q", env)
	}
	if driver.Lookup(env, trustVariable) != "" {
		t.Error("the repository's settings are trusted")
	}
	if env := (Driver{}).Environ(driver.Options{Env: []string{trustVariable + "=true"}}); slices.Contains(env, "GOOGLE_GEMINI_BASE_URL=") {
		t.Error("a user who trusts the folder lost its .env")
	}
}
