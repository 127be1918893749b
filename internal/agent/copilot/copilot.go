// Package copilot drives the GitHub Copilot CLI.
package copilot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is the GitHub Copilot CLI, @github/copilot 1.0 (tested: 1.0.102). Its
// options are those of its --help, its variables those of `copilot help
// environment` and `copilot help providers`.
type Driver struct{ driver.Base }

const (
	mcpFile   = "mcp.json"
	usageFile = "usage.json"
)

// Argv asks for one unattended turn, with the prompt on stdin. --allow-all gives
// way to permissions the user chose; what takes permissions away goes with it. What
// the turn used stands in a file only: 1.0.102 leaves it out of its stream.
func (c Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{
		{Names: []string{"--allow-all", "--yolo", "--no-ask-user", "--no-auto-update", "--disable-client-telemetry", "-s", "--silent"}},
		{Names: []string{"--output-format", "-p", "--prompt"}, Value: true},
	}
	argv, args := driver.Program(o, "copilot", ours...), driver.Strip(o.Args, ours...)
	if o.Plain {
		argv = append(argv, "-s")
	} else {
		argv = append(argv, "--output-format", "json")
	}
	if !driver.Has(driver.Given(o, "copilot"), "--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-tool", "--allow-url", "--assisted-approval") {
		argv = append(argv, "--allow-all")
	}
	argv = append(argv, "--no-ask-user", "--no-auto-update", "--disable-client-telemetry")
	argv = driver.AddOption(argv, args, o.Model, "--model")
	argv = driver.AddOption(argv, args, o.Effort, "--reasoning-effort", "--effort")
	if o.MCP != "" {
		argv = append(argv, "--additional-mcp-config", "@"+o.Path(mcpFile))
	}
	if leavesUsage(o) {
		argv = append(argv, "--usage-output-file", o.Path(usageFile))
	}
	return c.Resume(append(argv, args...), len(argv), p.Resume)
}

// Resume leaves out a --session-id, which is another way to say the same.
func (Driver) Resume(argv []string, n int, session string) []string {
	if session == "" || driver.Has(argv[n:], "-r", "--resume", "--continue", "--connect") {
		return argv
	}
	return driver.InSession(argv, n, driver.Option{Names: []string{"--session-id"}, Value: true}, "--resume="+session)
}

// Environ turns off what updates the CLI, and names the provider the options
// name. GitHub itself is none of them: it is what copilot asks
// where no other is named.
func (Driver) Environ(o driver.Options) []string {
	env := driver.SetUnset(driver.Without(o.Env, "CLAUDECODE"), "false", "COPILOT_AUTO_UPDATE")
	if o.Provider == "github" {
		return driver.Without(env, "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_BASE_URL")
	}
	if o.Provider != "" {
		env = driver.Set(env, "COPILOT_PROVIDER_TYPE", o.Provider)
	}
	switch usual := catalog.Of("copilot").Provider(o.Provider).Address; {
	case o.BaseURL != "":
		env = driver.Set(env, "COPILOT_PROVIDER_BASE_URL", o.BaseURL)
	case usual != "":
		env = driver.SetUnset(env, usual, "COPILOT_PROVIDER_BASE_URL")
	}
	return env
}

// Provider is GitHub where neither another one nor an address is given. All others look
// for their key in the same variable.
func (Driver) Provider(o driver.Options) string {
	if o.BaseURL == "" && (o.Provider == "" || o.Provider == "github") {
		return "github"
	}
	return "openai"
}

// Ready wants a token, a login, or a provider of the user's own, which may
// need no key but needs a model.
func (c Driver) Ready(o driver.Options) error {
	o.Env = c.Environ(o)
	given := func(names ...string) bool { return driver.IsSet(o, names...) }
	if given("COPILOT_PROVIDER_BASE_URL") {
		switch {
		case o.Model == "" && !driver.Has(o.Args, "--model") && !given("COPILOT_MODEL", "COPILOT_PROVIDER_MODEL_ID"):
			return errors.New("no model: a provider other than GitHub needs one: set model, or COPILOT_MODEL")
		case catalog.Of("copilot").Provider(o.Provider).Address == driver.Lookup(o.Env, "COPILOT_PROVIDER_BASE_URL") &&
			!given("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_API_KEY_COMMAND", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_HEADERS"):
			return errors.New("no credentials: set COPILOT_PROVIDER_API_KEY to the key of the provider")
		}
		return nil
	}
	home := driver.ConfigDir(o, "COPILOT_HOME", ".copilot")
	if given("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN") || driver.Holds(home, "config.json") || driver.Holds(driver.InHome(o, ".config", "gh"), "hosts.yml") {
		return nil
	}
	return errors.New("no credentials: set COPILOT_GITHUB_TOKEN to a fine-grained token with the permission Copilot Requests (the job's own GITHUB_TOKEN and classic tokens will not do), " +
		"or COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL for a provider of your own")
}

// Extras are the MCP servers, which copilot takes in claude's form, and an empty
// file it writes what it used into. System is none of them: copilot reads
// *.instructions.md from directories in COPILOT_CUSTOM_INSTRUCTIONS_DIRS and below,
// where an agent's own files are also, so it stands before the prompt.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	switch {
	case o.Provider != "" && catalog.Of("copilot").Provider(o.Provider).Name == "":
		return nil, fmt.Errorf("provider %q: copilot knows github, openai (any endpoint that is compatible), azure and anthropic", driver.Clip(o.Provider, driver.MaxName))
	case o.Provider == "github" && o.BaseURL != "":
		return nil, errors.New("base-url has no effect with provider github; set COPILOT_GH_HOST for another host")
	case o.Provider == "azure" && o.BaseURL == "" && driver.Lookup(o.Env, "COPILOT_PROVIDER_BASE_URL") == "":
		return nil, errors.New("provider azure: needs base-url, such as https://RESOURCE.openai.azure.com")
	}
	if err := errors.Join(
		driver.OneOf("effort", o.Effort, "none", "minimal", "low", "medium", "high", "xhigh", "max"),
		driver.Refuse("agent-settings", o.Settings, "copilot has no settings of one run; give its options in agent-args"),
	); err != nil {
		return nil, err
	}
	var all []driver.Extra
	if o.MCP != "" {
		if _, err := driver.MCPMembers(o); err != nil {
			return nil, err
		}
		all = append(all, driver.Extra{Name: mcpFile, Text: o.MCP})
	}
	if leavesUsage(o) {
		all = append(all, driver.Extra{Name: usageFile})
	}
	return all, nil
}

// leavesUsage reports whether the CLI is told to leave what it used in our file.
func leavesUsage(o driver.Options) bool {
	return !o.Plain && !o.Exact && o.Scratch != "" && !driver.Has(driver.Given(o, "copilot"), "--usage-output-file")
}

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(driver.Options) driver.Ways { return driver.Ways{Totals: true} }

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := newDecoder(emit, finished)
	d.Attach(o, driver.Hints{Key: "COPILOT_GITHUB_TOKEN", Model: o.Model})
	if env := (Driver{}).Environ(o); driver.Lookup(env, "COPILOT_PROVIDER_BASE_URL") != "" {
		d.Hints.Key = driver.FirstSet(o, []string{"COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY_COMMAND"})
	}
	d.used = func() string { return driver.ReadLeft(o.Scratch, o.Turn.Files[usageFile]) }
	d.goesOn = p.Resume != "" || driver.Has(o.Args, "-r", "--resume", "--continue", "--session-id", "--connect")
	return d
}

// KeyProxy is for a provider other than GitHub, whose token is exchanged for others.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	env := (Driver{}).Environ(o)
	kind := cmp.Or(driver.Lookup(env, "COPILOT_PROVIDER_TYPE"), "openai")
	d := driver.KeyProxy{
		Upstream: driver.Lookup(env, "COPILOT_PROVIDER_BASE_URL"), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.OpenAIEndpoints(""), KeyVariable: "COPILOT_PROVIDER_API_KEY",
	}
	if driver.Lookup(env, "COPILOT_PROVIDER_BEARER_TOKEN") != "" {
		d.KeyVariable = "COPILOT_PROVIDER_BEARER_TOKEN"
	}
	switch kind {
	case "openai":
	case "anthropic":
		d.Endpoints = driver.AnthropicEndpoints("/v1")
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "x-api-key", ""
		}
	case "azure":
		d.Endpoints = driver.AzureEndpoints()
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "api-key", ""
		}
	default:
		return driver.KeyProxy{}, false
	}
	return d, d.Upstream != "" && driver.Lookup(env, "COPILOT_PROVIDER_API_KEY_COMMAND") == "" && driver.Lookup(env, "COPILOT_PROVIDER_TRANSPORT") == ""
}

// Hosts are those of the user's own provider alone, where there is one.
func (Driver) Hosts(o driver.Options) []string {
	if address := driver.Lookup((Driver{}).Environ(o), "COPILOT_PROVIDER_BASE_URL"); address != "" {
		return driver.HostsOf(address)
	}
	host := "github.com"
	if other := driver.HostOf("https://" + driver.Lookup(o.Env, "COPILOT_GH_HOST")); other != "" {
		host = strings.ToLower(other)
	}
	if host != "github.com" {
		return []string{host, "api." + host, "copilot-api." + host}
	}
	return []string{"api.github.com", "*.githubcopilot.com"}
}
