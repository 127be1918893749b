// Package gemini drives the Gemini CLI.
package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is the Gemini CLI, @google/gemini-cli 0.61.
type Driver struct{ driver.Base }

// settingsFile is the file of our settings, and homeFolder the directory below
// Scratch that becomes the CLI's home when there is one.
const (
	settingsFile = "settings.json"
	homeFolder   = "gemini-home"
)

// trustVariable is the variable by which a user trusts the directory. It is not set, and the switch
// --skip-trust is used instead: 0.61 reads it when the repository's settings have
// been judged. So .gemini/settings.json of a directory nobody trusted is left out, with
// its MCP servers, hooks and commands, while --yolo works.
const trustVariable = "GEMINI_CLI_TRUST_WORKSPACE"

// pinned are variables that say where requests and keys go. A .env of the
// repository, which 0.61 reads, sets what is not set; an empty one is.
func pinned() []string {
	return []string{
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT", "GEMINI_CLI_CUSTOM_HEADERS",
		"GEMINI_API_KEY_AUTH_MECHANISM", "GOOGLE_GENAI_API_VERSION", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_ACCESS_TOKEN",
		"GEMINI_TELEMETRY_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD", "GEMINI_SANDBOX",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_USE_ENV_PROXY",
	}
}

// startScript makes a home for the CLI and starts it. $1 is the home, $2 our
// settings; the rest is the command. The CLI reads settings from the home alone:
// those of the system count only in directories of root's, and those of the
// workspace are the repository's. Everything else the user has in ~/.gemini (a
// login, sessions) is linked into it, so nothing of the user's is changed and
// sessions outlive the turn. The home is made anew for each turn.
const startScript = `h=$1 d=$1/.gemini s=$2; shift 2
rm -rf "$h" || exit
mkdir -p "$d" "${HOME:-$d}/.gemini/tmp" || exit
for f in "${HOME:-$d}"/.gemini/* "${HOME:-$d}"/.gemini/.[!.]*; do
	case ${f##*/} in settings.json) ;; *) [ ! -e "$f" ] || ln -sfn "$f" "$d/${f##*/}" || exit ;; esac
done
cp "$s" "$d/settings.json" && exec "$@"`

// Argv asks for one unattended turn with a JSON stream; the prompt comes on
// stdin. Without --skip-trust the CLI refuses a directory it does not know (exit
// 55), and with --yolo and --approval-mode together any (exit 1).
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{
		{Names: []string{"-y", "--yolo", "--skip-trust", "--skipTrust"}},
		{Names: []string{"-o", "--output-format", "--outputFormat"}, Value: true},
	}
	argv, args := driver.Program(o, "gemini", ours...), driver.Strip(o.Args, ours...)
	format := "stream-json"
	if o.Plain {
		format = "text"
	}
	argv = append(argv, "-o", format)
	if !driver.Has(args, "-y", "--yolo") && !driver.Has(driver.Given(o, "gemini"), "--approval-mode", "--approvalMode") {
		argv = append(argv, "--yolo")
	}
	if !driver.Has(args, "--skip-trust", "--skipTrust") {
		argv = append(argv, "--skip-trust")
	}
	argv = driver.AddOption(argv, args, o.Model, "-m", "--model")
	argv = Driver{}.Resume(append(argv, args...), len(argv), p.Resume)
	if settings := o.Turn.Files[settingsFile]; settings != "" {
		start := []string{"sh", "-c", startScript, "gemini", filepath.Join(o.Scratch, homeFolder), settings}
		argv = append(start, argv...)
	}
	return argv
}

// Resume leaves out a --session-id, which is for new sessions.
func (Driver) Resume(argv []string, n int, session string) []string {
	if session == "" || driver.Has(argv[n:], "-r", "--resume", "--session-file", "--sessionFile") {
		return argv
	}
	return driver.InSession(argv, n, driver.Option{Names: []string{"--session-id", "--sessionId"}, Value: true}, "--resume", session)
}

// Environ turns off telemetry, unless the user decided otherwise, says where the
// models answer, and leaves nothing of that to a .env of the repository.
func (Driver) Environ(o driver.Options) []string {
	env := driver.SetUnset(driver.Without(o.Env, "CLAUDECODE"), "false", "GEMINI_TELEMETRY_ENABLED")
	const vertex, base = "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL"
	url := base
	switch o.Provider {
	case "vertex":
		env = driver.Set(driver.Without(env, base, "GEMINI_API_KEY"), vertex, "true")
	case "gemini":
		env = driver.Set(env, vertex, "false")
	}
	if authOf(o) == authVertex {
		url = "GOOGLE_VERTEX_BASE_URL"
	}
	if o.BaseURL != "" {
		env = driver.Set(env, url, o.BaseURL)
	}
	if o.Turn.Files[settingsFile] != "" && !o.Exact {
		env = driver.Set(env, "GEMINI_CLI_HOME", filepath.Join(o.Scratch, homeFolder))
	}
	if o.Exact || driver.Lookup(env, trustVariable) == "true" { // the user trusts the directory
		return env
	}
	for _, name := range pinned() {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			env = append(env, name+"=")
		}
	}
	return env
}

// The values of the CLI's security.auth.selectedType that take no login.
const (
	authKey    = "gemini-api-key"
	authVertex = "vertex-ai"
)

// authOf is how the CLI is to log in, by what is set; empty: its own way.
func authOf(o driver.Options) string {
	on := func(name string) bool { return driver.Lookup(o.Env, name) == "true" }
	switch {
	case o.Provider == "gemini":
		return authKey
	case o.Provider == "vertex", on("GOOGLE_GENAI_USE_VERTEXAI"):
		return authVertex
	case on("GOOGLE_GENAI_USE_GCA"):
		return ""
	case driver.IsSet(o, "GEMINI_API_KEY"):
		return authKey
	case driver.IsSet(o, "GOOGLE_API_KEY"):
		return authVertex
	}
	return ""
}

// Ready wants a key, Vertex AI with a project, or a login or settings of the
// user's.
func (Driver) Ready(o driver.Options) error {
	project := driver.IsSet(o, "GOOGLE_CLOUD_PROJECT") && driver.IsSet(o, "GOOGLE_CLOUD_LOCATION") || driver.IsSet(o, "GOOGLE_API_KEY")
	switch {
	case o.Provider == "gemini" && !driver.IsSet(o, "GEMINI_API_KEY"):
		return errors.New("no credentials: set GEMINI_API_KEY")
	case authOf(o) == authVertex && !project:
		return errors.New("no credentials: for Vertex AI set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
	case authOf(o) != "", driver.Lookup(o.Env, "GOOGLE_GENAI_USE_GCA") == "true",
		driver.Holds(folderOf(o), "oauth_creds.json", "settings.json"):
		return nil
	}
	return errors.New("no credentials: set GEMINI_API_KEY, or log in with gemini first; for Vertex AI set GOOGLE_GENAI_USE_VERTEXAI to true, GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
}

// folderOf is where the CLI keeps its settings and its login.
func folderOf(o driver.Options) string {
	if dir := driver.Lookup(o.Env, "GEMINI_CLI_HOME"); dir != "" {
		return filepath.Join(dir, ".gemini")
	}
	return driver.InHome(o, ".gemini")
}

// Extras are the settings of this run, over those in the user's home.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if o.Provider != "" && o.Provider != "gemini" && o.Provider != "vertex" {
		return nil, fmt.Errorf("provider %q: unknown; gemini knows gemini (with GEMINI_API_KEY) and vertex", driver.Clip(o.Provider, driver.MaxName))
	}
	if o.Exact {
		return nil, driver.RefuseExtras(o, "with exact arguments write it into ~/.gemini/settings.json")
	}
	asked := o.MCP != "" || o.Settings != "" || o.Effort != "" || o.Provider != "" || o.BaseURL != ""
	theirs := driver.Lookup(o.Env, "GEMINI_CLI_HOME") != ""
	if !asked && (theirs || o.Scratch == "" || driver.Holds(folderOf(o), settingsFile) && driver.Lookup(o.Env, "GOOGLE_GEMINI_BASE_URL") == "") {
		return nil, nil
	}
	if theirs {
		return nil, errors.New("GEMINI_CLI_HOME is set: mcp-config, agent-settings, effort, provider and base-url have no effect; write them into the settings.json there")
	}
	text, err := configOf(o)
	if err != nil {
		return nil, err
	}
	return []driver.Extra{{Name: settingsFile, Text: text}}, nil
}

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := newDecoder(emit, finished)
	key := "GEMINI_API_KEY"
	if authOf(o) == authVertex {
		key = driver.FirstSet(o, []string{"GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"})
	}
	d.Attach(o, driver.HintsOf(o, key))
	return d
}

// Cautions tell of an approval mode of the user's.
func (Driver) Cautions(o driver.Options) []string {
	mode := driver.Value(driver.Given(o, "gemini"), "--approval-mode", "--approvalMode")
	if mode == "" || mode == "yolo" {
		return nil
	}
	return []string{driver.Unanswered("gemini", "--approval-mode "+driver.Clip(mode, driver.MaxName), "Leave it out to allow everything.")}
}

// KeyProxy is for a key of Gemini's API.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	if authOf(o) != authKey || driver.Lookup(o.Env, "GEMINI_CLI_HOME") != "" || driver.Lookup(o.Env, "GEMINI_API_KEY_AUTH_MECHANISM") != "" {
		return driver.KeyProxy{}, false
	}
	return driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address), Header: "x-goog-api-key",
		Endpoints: driver.GeminiEndpoints(), KeyVariable: "GEMINI_API_KEY",
	}, o.Scratch != ""
}

// Hosts are others with a login of Google's: the models answer elsewhere then.
func (Driver) Hosts(o driver.Options) []string {
	switch authOf(o) {
	case authKey:
		return driver.HostsOf(cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address))
	case authVertex:
		if address := cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_VERTEX_BASE_URL")); address != "" {
			return driver.HostsOf(address)
		}
		return driver.VertexHosts(o, driver.Label(driver.Lookup(o.Env, "GOOGLE_CLOUD_LOCATION")))
	}
	return []string{"cloudcode-pa.googleapis.com", "oauth2.googleapis.com"}
}
