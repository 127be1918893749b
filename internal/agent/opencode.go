package agent

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// opencode is OpenCode, opencode-ai 1.18.
type opencode struct{ base }

// opencodeCompatible is the provider for an endpoint that speaks OpenAI's chat
// completions.
const opencodeCompatible = "openai-compatible"

// argv asks for one unattended turn with a JSON stream; the prompt comes on
// stdin. --auto allows what the user's configuration does not deny. The log of
// errors tells of requests that are repeated, and which model does not exist.
func (opencode) argv(o Options, p ralph.Prompt) []string {
	ours := []option{{names: []string{"--auto", "--print-logs"}}, {names: []string{"--format"}, value: true}}
	argv, args := program(o, "opencode", ours...), strip(o.Args, ours...)
	if n := len(argv); n > 1 && argv[n-1] == "run" {
		argv = argv[:n-1]
	}
	if len(args) > 0 && args[0] == "run" {
		args = args[1:]
	}
	argv = append(argv, "run")
	if !o.Plain {
		argv = append(argv, "--format", "json", "--print-logs")
		if !has(args, "--log-level") {
			argv = append(argv, "--log-level", "ERROR")
		}
	}
	if !has(args, "--auto") {
		argv = append(argv, "--auto")
	}
	if model := opencodeModel(o); model != "" && !has(args, "-m", "--model") {
		argv = append(argv, "-m", model)
	}
	if o.Effort != "" && !has(args, "--variant") {
		argv = append(argv, "--variant", o.Effort)
	}
	return opencode{}.resumed(append(argv, args...), len(argv), p.Resume)
}

func (opencode) resumed(argv []string, n int, session string) []string {
	args := argv[n:]
	if session == "" || has(args, "-c", "--continue", "-s", "--session") || !slices.Contains(argv, "run") {
		return argv
	}
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return append(argv[:n:n], slices.Insert(slices.Clone(args), end, "-s", session)...)
}

// opencodeAlone keeps out the repository's configuration: opencode.json and
// .opencode, with their MCP servers, tools, agents, commands and addresses. 1.18.33
// runs its plugins all the same, whatever is set.
const opencodeAlone = "OPENCODE_DISABLE_PROJECT_CONFIG"

// environ turns off updates, sharing, downloads and the repository's configuration,
// unless the user decided otherwise, and adds the configuration of this run, which
// counts more than that of the user.
func (opencode) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	off := []string{"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_SHARE", "OPENCODE_DISABLE_LSP_DOWNLOAD", opencodeAlone}
	if !opencodePlugins(o) {
		off = append(off, "OPENCODE_PURE")
	}
	for _, name := range off {
		if lookup(env, name) == "" {
			env = append(without(env, name), name+"=1")
		}
	}
	if config, err := opencodeConfig(o); err == nil && config != "" && (opencodeAsked(o) || lookup(env, "OPENCODE_CONFIG_CONTENT") == "") {
		env = append(without(env, "OPENCODE_CONFIG_CONTENT"), "OPENCODE_CONFIG_CONTENT="+config)
	}
	return env
}

// opencodeKey is the variable with the key of a model's provider; empty where it is
// not known.
func opencodeKey(model string) string {
	provider, _, _ := strings.Cut(model, "/")
	return catalog.Of("opencode").Provider(provider).Key
}

// provider is that of the model.
func (opencode) provider(o Options) string {
	provider, _, _ := strings.Cut(opencodeModel(o), "/")
	return provider
}

// ready refuses only where there is nothing that looks like a key or like a
// configuration: opencode knows a hundred providers, and some models of its own
// that take no key.
func (opencode) ready(o Options) error {
	looksLikeKey := func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "OPENCODE_CONFIG") || name == "OPENCODE_AUTH_CONTENT")
	}
	switch {
	case slices.ContainsFunc(o.Env, looksLikeKey), o.BaseURL != "", o.Settings != "", strings.HasPrefix(opencodeModel(o), "opencode/"),
		holds(inHome(o, ".local", "share", "opencode"), "auth.json"),
		holds(inHome(o, ".config", "opencode"), "opencode.json", "opencode.jsonc", "config.json"):
		return nil
	}
	return errors.New("no credentials: set ANTHROPIC_API_KEY, OPENAI_API_KEY or the key of your provider, or log in with opencode first")
}

// opencodeModel is the model as the CLI names it: provider/model.
func opencodeModel(o Options) string {
	provider := opencodeProvider(o)
	if o.Model == "" || provider == "" || strings.HasPrefix(o.Model, provider+"/") {
		return o.Model
	}
	return provider + "/" + o.Model
}

// opencodeProvider is whose model it is. At an endpoint of the user's it is one
// of any name, unless the model begins with another's.
func opencodeProvider(o Options) string {
	if o.Provider != "" {
		return o.Provider
	}
	provider, _, found := strings.Cut(o.Model, "/")
	switch {
	case found:
		return provider
	case o.BaseURL != "":
		return opencodeCompatible
	}
	return ""
}

// extras are the file with what is added to the system prompt.
func (opencode) extras(o Options) ([]extra, error) {
	if provider := opencodeProvider(o); provider != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`).MatchString(provider) {
		return nil, fmt.Errorf("provider %q: is no name of one; opencode has anthropic, openai, google, openrouter and many more, and %s for any endpoint with a base-url", clip(provider, maxName), opencodeCompatible)
	}
	if opencodeProvider(o) == opencodeCompatible && o.BaseURL == "" && o.Settings == "" && o.Provider != "" {
		return nil, fmt.Errorf("provider %q: needs base-url, where the models answer, such as https://llm.example.com/v1", o.Provider)
	}
	if o.Model == "" && (o.Provider != "" || o.BaseURL != "") {
		return nil, errors.New("provider, base-url: need model, because opencode names a model together with its provider")
	}
	config, err := opencodeConfig(o)
	switch {
	case err != nil:
		return nil, err
	case opencodeAsked(o) && lookup(o.Env, "OPENCODE_CONFIG_CONTENT") != "":
		return nil, errors.New("OPENCODE_CONFIG_CONTENT is set: mcp-config, agent-settings, append-system-prompt, provider and base-url have no effect; write them there, or give its text as agent-settings")
	case len(config) > maxArgument:
		return nil, fmt.Errorf("agent-settings, mcp-config: %d bytes are too long for opencode (%d); put them into opencode.json", len(config), maxArgument)
	case o.System != "":
		return []extra{{name: "system.md", text: o.System}}, nil
	}
	return nil, nil
}

func (opencode) ways(Options) ways { return ways{system: true} }

func (opencode) decoder(o Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	return newOpencodeDecoder(o, emit, finished)
}
