// Package opencode drives OpenCode.
package opencode

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is OpenCode, opencode-ai 1.18.
type Driver struct{ driver.Base }

// compatible is the provider for an endpoint that speaks OpenAI's chat
// completions.
const compatible = "openai-compatible"

// Argv asks for one unattended turn with a JSON stream; the prompt comes on
// stdin. --auto allows what the user's configuration does not deny. The log of
// errors tells of requests that are repeated, and which model does not exist.
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{{Names: []string{"--auto", "--print-logs"}}, {Names: []string{"--format"}, Value: true}}
	argv, args := driver.Program(o, "opencode", ours...), driver.Strip(o.Args, ours...)
	if n := len(argv); n > 1 && argv[n-1] == "run" {
		argv = argv[:n-1]
	}
	if len(args) > 0 && args[0] == "run" {
		args = args[1:]
	}
	argv = append(argv, "run")
	if !o.Plain {
		argv = append(argv, "--format", "json", "--print-logs")
		argv = driver.AddOption(argv, args, "ERROR", "--log-level")
	}
	if !driver.Has(args, "--auto") {
		argv = append(argv, "--auto")
	}
	argv = driver.AddOption(argv, args, modelOf(o), "-m", "--model")
	argv = driver.AddOption(argv, args, o.Effort, "--variant")
	return Driver{}.Resume(append(argv, args...), len(argv), p.Resume)
}

// Resume adds what makes the CLI go on in a session.
func (Driver) Resume(argv []string, n int, session string) []string {
	if session == "" || driver.Has(argv[n:], "-c", "--continue", "-s", "--session") || !slices.Contains(argv, "run") {
		return argv
	}
	return driver.InSession(argv, n, driver.Option{}, "-s", session)
}

// aloneVariable keeps out the repository's configuration: opencode.json and
// .opencode, with their MCP servers, tools, agents, commands and addresses. 1.18.33
// runs its plugins all the same, whatever is set.
const aloneVariable = "OPENCODE_DISABLE_PROJECT_CONFIG"

// Environ turns off updates, sharing, downloads and the repository's configuration,
// unless the user decided otherwise, and adds the configuration of this run, which
// counts more than that of the user.
func (Driver) Environ(o driver.Options) []string {
	env := driver.Without(o.Env, "CLAUDECODE")
	off := []string{"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_SHARE", "OPENCODE_DISABLE_LSP_DOWNLOAD", aloneVariable}
	if !hasPlugins(o) {
		off = append(off, "OPENCODE_PURE")
	}
	env = driver.SetUnset(env, "1", off...)
	if config, err := configOf(o); err == nil && config != "" && (isAsked(o) || driver.Lookup(env, "OPENCODE_CONFIG_CONTENT") == "") {
		env = driver.Set(env, "OPENCODE_CONFIG_CONTENT", config)
	}
	return env
}

// keyVariable is the variable with the key of a model's provider; empty where it is
// not known.
func keyVariable(model string) string {
	provider, _, _ := strings.Cut(model, "/")
	return catalog.Of("opencode").Provider(provider).Key
}

// Provider is that of the model.
func (Driver) Provider(o driver.Options) string {
	provider, _, _ := strings.Cut(modelOf(o), "/")
	return provider
}

// Ready refuses only where there is nothing that looks like a key or like a
// configuration: opencode knows a hundred providers, and some models of its own
// that take no key.
func (Driver) Ready(o driver.Options) error {
	looksLikeKey := func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "OPENCODE_CONFIG") || name == "OPENCODE_AUTH_CONTENT")
	}
	switch {
	case slices.ContainsFunc(o.Env, looksLikeKey), o.BaseURL != "", o.Settings != "", strings.HasPrefix(modelOf(o), "opencode/"),
		driver.Holds(driver.InHome(o, ".local", "share", "opencode"), "auth.json"),
		driver.Holds(driver.InHome(o, ".config", "opencode"), "opencode.json", "opencode.jsonc", "config.json"):
		return nil
	}
	return errors.New("no credentials: set ANTHROPIC_API_KEY, OPENAI_API_KEY or the key of your provider, or log in with opencode first")
}

// modelOf is the model as the CLI names it: provider/model.
func modelOf(o driver.Options) string {
	provider := providerOf(o)
	if o.Model == "" || provider == "" || strings.HasPrefix(o.Model, provider+"/") {
		return o.Model
	}
	return provider + "/" + o.Model
}

// providerOf is whose model it is. At an endpoint of the user's it is one
// of any name, unless the model begins with another's.
func providerOf(o driver.Options) string {
	if o.Provider != "" {
		return o.Provider
	}
	provider, _, found := strings.Cut(o.Model, "/")
	switch {
	case found:
		return provider
	case o.BaseURL != "":
		return compatible
	}
	return ""
}

// Extras are the file with what is added to the system prompt.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if provider := providerOf(o); provider != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`).MatchString(provider) {
		return nil, fmt.Errorf("provider %q: is no name of one; opencode has anthropic, openai, google, openrouter and many more, and %s for any endpoint with a base-url", driver.Clip(provider, driver.MaxName), compatible)
	}
	if providerOf(o) == compatible && o.BaseURL == "" && o.Settings == "" && o.Provider != "" {
		return nil, fmt.Errorf("provider %q: needs base-url, where the models answer, such as https://llm.example.com/v1", o.Provider)
	}
	if o.Model == "" && (o.Provider != "" || o.BaseURL != "") {
		return nil, errors.New("provider, base-url: need model, because opencode names a model together with its provider")
	}
	config, err := configOf(o)
	switch {
	case err != nil:
		return nil, err
	case isAsked(o) && driver.Lookup(o.Env, "OPENCODE_CONFIG_CONTENT") != "":
		return nil, errors.New("OPENCODE_CONFIG_CONTENT is set: mcp-config, agent-settings, append-system-prompt, provider and base-url have no effect; write them there, or give its text as agent-settings")
	case len(config) > driver.MaxArgument:
		return nil, fmt.Errorf("agent-settings, mcp-config: %d bytes are too long for opencode (%d); put them into opencode.json", len(config), driver.MaxArgument)
	case o.System != "":
		return []driver.Extra{{Name: "system.md", Text: o.System}}, nil
	}
	return nil, nil
}

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(driver.Options) driver.Ways { return driver.Ways{System: true} }

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	return newDecoder(o, emit, finished)
}

// KeyProxy is for the providers it was tried with (opencode 1.18.33): each takes an
// address in the configuration, and the key from its variable.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	provider := providerOf(o)
	if o.Model == "" || driver.Lookup(o.Env, "OPENCODE_CONFIG_CONTENT") != "" || driver.Lookup(o.Env, "OPENCODE_AUTH_CONTENT") != "" ||
		!slices.Contains([]string{"anthropic", "openai", "openrouter", "groq", compatible}, provider) {
		return driver.KeyProxy{}, false
	}
	d := driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, catalog.Of("opencode").Provider(provider).Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.OpenAIEndpoints(""), KeyVariable: catalog.Of("opencode").Provider(provider).Key,
	}
	if provider == "anthropic" {
		d.Header, d.Scheme, d.Endpoints = "x-api-key", "", driver.AnthropicEndpoints("")
	}
	return d, d.Upstream != ""
}

// Hosts are those of the API that the options choose.
func (Driver) Hosts(o driver.Options) []string {
	row := catalog.Of("opencode")
	hosts, provider := row.SideHosts, providerOf(o)
	switch address := row.Provider(provider).Address; {
	case o.BaseURL != "":
	case address != "":
		hosts = append(hosts, driver.HostsOf(address)...)
	case provider == "azure":
		if resource := driver.Label(driver.Lookup(o.Env, "AZURE_RESOURCE_NAME")); resource != "" {
			hosts = append(hosts, resource+".openai.azure.com")
		}
	case provider == "amazon-bedrock":
		hosts = append(hosts, "bedrock-runtime."+cmp.Or(driver.Label(driver.Lookup(o.Env, "AWS_REGION")), "us-east-1")+".amazonaws.com")
	case provider == "google-vertex", provider == "google-vertex-anthropic":
		hosts = append(hosts, driver.VertexHosts(o, driver.Label(driver.Lookup(o.Env, "GOOGLE_VERTEX_LOCATION")))...)
	case provider == "github-copilot":
		hosts = append(hosts, "api.github.com", "*.githubcopilot.com")
	case provider == "":
		for _, p := range row.Providers {
			if p.Name == "opencode" || driver.Lookup(o.Env, p.Key) != "" {
				hosts = append(hosts, driver.HostsOf(p.Address)...)
			}
		}
	}
	return hosts
}
