package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// gemini is the Gemini CLI, @google/gemini-cli 0.61.
type gemini struct{ base }

// geminiSettings is the file of our settings, and geminiHome the folder below
// Scratch that becomes the CLI's home when there is one.
const (
	geminiSettings = "settings.json"
	geminiHome     = "gemini-home"
)

// geminiTrust says that the folder may be trusted. It is not set, and the switch
// --skip-trust is used instead: 0.61 reads it when the repository's settings have
// been judged. So .gemini/settings.json of a folder nobody trusted is left out, with
// its MCP servers, hooks and commands, while --yolo works.
const geminiTrust = "GEMINI_CLI_TRUST_WORKSPACE"

// geminiPinned are variables that say where requests and keys go. A .env of the
// repository, which 0.61 reads, sets what is not set; an empty one is.
func geminiPinned() []string {
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

// geminiStart makes a home for the CLI and starts it. $1 is the home, $2 our
// settings; the rest is the command. The CLI reads settings from the home alone:
// those of the system count only in folders of root's, and those of the
// workspace are the repository's. Everything else the user has in ~/.gemini (a
// login, sessions) is linked into it, so nothing of the user's is changed and
// sessions outlive the turn. The home is made anew for each turn.
const geminiStart = `h=$1 d=$1/.gemini s=$2; shift 2
rm -rf "$h" || exit
mkdir -p "$d" "${HOME:-$d}/.gemini/tmp" || exit
for f in "${HOME:-$d}"/.gemini/* "${HOME:-$d}"/.gemini/.[!.]*; do
	case ${f##*/} in settings.json) ;; *) [ ! -e "$f" ] || ln -sfn "$f" "$d/${f##*/}" || exit ;; esac
done
cp "$s" "$d/settings.json" && exec "$@"`

// argv asks for one unattended turn with a JSON stream; the prompt comes on
// stdin. Without --skip-trust the CLI refuses a folder it does not know (exit
// 55), and with --yolo and --approval-mode together any (exit 1).
func (gemini) argv(o Options, p ralph.Prompt) []string {
	ours := []option{
		{names: []string{"-y", "--yolo", "--skip-trust", "--skipTrust"}},
		{names: []string{"-o", "--output-format", "--outputFormat"}, value: true},
	}
	argv, args := program(o, "gemini", ours...), strip(o.Args, ours...)
	format := "stream-json"
	if o.Plain {
		format = "text"
	}
	argv = append(argv, "-o", format)
	if !has(args, "-y", "--yolo") && !has(given(o, "gemini"), "--approval-mode", "--approvalMode") {
		argv = append(argv, "--yolo")
	}
	if !has(args, "--skip-trust", "--skipTrust") {
		argv = append(argv, "--skip-trust")
	}
	if o.Model != "" && !has(args, "-m", "--model") {
		argv = append(argv, "-m", o.Model)
	}
	argv = gemini{}.resumed(append(argv, args...), len(argv), p.Resume)
	if settings := o.extra[geminiSettings]; settings != "" {
		start := []string{"sh", "-c", geminiStart, "gemini", filepath.Join(o.Scratch, geminiHome), settings}
		argv = append(start, argv...)
	}
	return argv
}

// resumed leaves out a --session-id, which is for new sessions.
func (gemini) resumed(argv []string, n int, session string) []string {
	args := argv[n:]
	if session == "" || has(args, "-r", "--resume", "--session-file", "--sessionFile") {
		return argv
	}
	args = strip(args, option{names: []string{"--session-id", "--sessionId"}, value: true})
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return append(argv[:n:n], slices.Insert(args, end, "--resume", session)...)
}

// environ turns off telemetry, unless the user decided otherwise, says where the
// models answer, and leaves nothing of that to a .env of the repository.
func (gemini) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	if name := "GEMINI_TELEMETRY_ENABLED"; lookup(env, name) == "" {
		env = append(without(env, name), name+"=false")
	}
	const vertex, base = "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GEMINI_BASE_URL"
	url := base
	switch o.Provider {
	case "vertex":
		env = append(without(env, vertex, base, "GEMINI_API_KEY"), vertex+"=true")
	case "gemini":
		env = append(without(env, vertex), vertex+"=false")
	}
	if geminiAuth(o) == authVertex {
		url = "GOOGLE_VERTEX_BASE_URL"
	}
	if o.BaseURL != "" {
		env = append(without(env, url), url+"="+o.BaseURL)
	}
	if o.extra[geminiSettings] != "" && !o.Exact {
		env = append(without(env, "GEMINI_CLI_HOME"), "GEMINI_CLI_HOME="+filepath.Join(o.Scratch, geminiHome))
	}
	if o.Exact || lookup(env, geminiTrust) == "true" { // the user trusts the folder
		return env
	}
	for _, name := range geminiPinned() {
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

// geminiAuth is how the CLI is to log in, by what is set; empty: its own way.
func geminiAuth(o Options) string {
	on := func(name string) bool { return lookup(o.Env, name) == "true" }
	is := func(name string) bool { return lookup(o.Env, name) != "" }
	switch {
	case o.Provider == "gemini":
		return authKey
	case o.Provider == "vertex", on("GOOGLE_GENAI_USE_VERTEXAI"):
		return authVertex
	case on("GOOGLE_GENAI_USE_GCA"):
		return ""
	case is("GEMINI_API_KEY"):
		return authKey
	case is("GOOGLE_API_KEY"):
		return authVertex
	}
	return ""
}

// ready wants a key, Vertex AI with a project, or a login or settings of the
// user's.
func (gemini) ready(o Options) error {
	is := func(name string) bool { return lookup(o.Env, name) != "" }
	project := is("GOOGLE_CLOUD_PROJECT") && is("GOOGLE_CLOUD_LOCATION") || is("GOOGLE_API_KEY")
	switch {
	case o.Provider == "gemini" && !is("GEMINI_API_KEY"):
		return errors.New("no credentials: set GEMINI_API_KEY")
	case geminiAuth(o) == authVertex && !project:
		return errors.New("no credentials: for Vertex AI set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
	case geminiAuth(o) != "", lookup(o.Env, "GOOGLE_GENAI_USE_GCA") == "true",
		holds(geminiFolder(o), "oauth_creds.json", "settings.json"):
		return nil
	}
	return errors.New("no credentials: set GEMINI_API_KEY, or log in with gemini first; for Vertex AI set GOOGLE_GENAI_USE_VERTEXAI to true, GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY")
}

// geminiFolder is where the CLI keeps its settings and its login.
func geminiFolder(o Options) string {
	if dir := lookup(o.Env, "GEMINI_CLI_HOME"); dir != "" {
		return filepath.Join(dir, ".gemini")
	}
	return inHome(o, ".gemini")
}

// extras are the settings of this run, over those in the user's home.
func (gemini) extras(o Options) ([]extra, error) {
	if o.Provider != "" && o.Provider != "gemini" && o.Provider != "vertex" {
		return nil, fmt.Errorf("provider %q: unknown; gemini knows gemini (with GEMINI_API_KEY) and vertex", clip(o.Provider, maxName))
	}
	if o.Exact {
		return nil, refuseExtras(o, "with exact arguments write it into ~/.gemini/settings.json")
	}
	asked := o.MCP != "" || o.Settings != "" || o.Effort != "" || o.Provider != "" || o.BaseURL != ""
	theirs := lookup(o.Env, "GEMINI_CLI_HOME") != ""
	if !asked && (theirs || o.Scratch == "" || holds(geminiFolder(o), geminiSettings) && lookup(o.Env, "GOOGLE_GEMINI_BASE_URL") == "") {
		return nil, nil
	}
	if theirs {
		return nil, errors.New("GEMINI_CLI_HOME is set: mcp-config, agent-settings, effort, provider and base-url have no effect; write them into the settings.json there")
	}
	text, err := geminiConfig(o)
	if err != nil {
		return nil, err
	}
	return []extra{{name: geminiSettings, text: text}}, nil
}

func (gemini) ways(Options) ways { return ways{} }

func (gemini) decoder(o Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newGeminiDecoder(emit, finished)
	key := "GEMINI_API_KEY"
	if geminiAuth(o) == authVertex {
		key = firstSet(o, []string{"GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"})
	}
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hintsOf(o, key)
	return d
}

// cautions tell of an approval mode of the user's.
func (gemini) cautions(o Options) []string {
	mode := value(given(o, "gemini"), "--approval-mode", "--approvalMode")
	if mode == "" || mode == "yolo" {
		return nil
	}
	return []string{unanswered("gemini", "--approval-mode "+clip(mode, maxName), "Leave it out to allow everything.")}
}
