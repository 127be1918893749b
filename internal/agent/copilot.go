package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// copilot is the GitHub Copilot CLI, @github/copilot 1.0 (tested: 1.0.102). Its
// options are those of its --help, its variables those of `copilot help
// environment` and `copilot help providers`.
type copilot struct{ base }

const (
	copilotMCP   = "mcp.json"
	copilotUsage = "usage.json"
)

// argv asks for one unattended turn, with the prompt on stdin. --allow-all gives
// way to permissions the user chose; what takes permissions away goes with it. What
// the turn used stands in a file only: 1.0.102 leaves it out of its stream.
func (c copilot) argv(o Options, p ralph.Prompt) []string {
	ours := []option{
		{names: []string{"--allow-all", "--yolo", "--no-ask-user", "--no-auto-update", "--disable-client-telemetry", "-s", "--silent"}},
		{names: []string{"--output-format", "-p", "--prompt"}, value: true},
	}
	argv, args := program(o, "copilot", ours...), strip(o.Args, ours...)
	if o.Plain {
		argv = append(argv, "-s")
	} else {
		argv = append(argv, "--output-format", "json")
	}
	if !has(given(o, "copilot"), "--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-tool", "--allow-url", "--assisted-approval") {
		argv = append(argv, "--allow-all")
	}
	argv = append(argv, "--no-ask-user", "--no-auto-update", "--disable-client-telemetry")
	if o.Model != "" && !has(args, "--model") {
		argv = append(argv, "--model", o.Model)
	}
	if o.Effort != "" && !has(args, "--reasoning-effort", "--effort") {
		argv = append(argv, "--reasoning-effort", o.Effort)
	}
	if o.MCP != "" {
		argv = append(argv, "--additional-mcp-config", "@"+o.path(copilotMCP))
	}
	if copilotLeaves(o) {
		argv = append(argv, "--usage-output-file", o.path(copilotUsage))
	}
	return c.resumed(append(argv, args...), len(argv), p.Resume)
}

// resumed leaves out a --session-id, which is another way to say the same.
func (copilot) resumed(argv []string, n int, session string) []string {
	args := argv[n:]
	if session == "" || has(args, "-r", "--resume", "--continue", "--connect") {
		return argv
	}
	args = strip(args, option{names: []string{"--session-id"}, value: true})
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return append(argv[:n:n], slices.Insert(args, end, "--resume="+session)...)
}

// environ turns off what updates the CLI, and names the provider the options
// name. GitHub itself is none of them: it is what copilot asks
// where no other is named.
func (copilot) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	set := func(name, value string) { env = append(without(env, name), name+"="+value) }
	if lookup(env, "COPILOT_AUTO_UPDATE") == "" {
		set("COPILOT_AUTO_UPDATE", "false")
	}
	if o.Provider == "github" {
		return without(env, "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_BASE_URL")
	}
	if o.Provider != "" {
		set("COPILOT_PROVIDER_TYPE", o.Provider)
	}
	switch usual := catalog.Of("copilot").Provider(o.Provider).Address; {
	case o.BaseURL != "":
		set("COPILOT_PROVIDER_BASE_URL", o.BaseURL)
	case usual != "" && lookup(env, "COPILOT_PROVIDER_BASE_URL") == "":
		set("COPILOT_PROVIDER_BASE_URL", usual)
	}
	return env
}

// provider is one of the user's own where only an address is given.
func (copilot) provider(o Options) string {
	if o.Provider == "" && o.BaseURL != "" {
		return "openai"
	}
	return o.Provider
}

// ready wants a token, a login, or a provider of the user's own, which may
// need no key but needs a model.
func (c copilot) ready(o Options) error {
	env := c.environ(o)
	given := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return lookup(env, name) != "" })
	}
	if given("COPILOT_PROVIDER_BASE_URL") {
		switch {
		case o.Model == "" && !has(o.Args, "--model") && !given("COPILOT_MODEL", "COPILOT_PROVIDER_MODEL_ID"):
			return errors.New("no model: a provider other than GitHub needs one: set model, or COPILOT_MODEL")
		case catalog.Of("copilot").Provider(o.Provider).Address == lookup(env, "COPILOT_PROVIDER_BASE_URL") &&
			!given("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_API_KEY_COMMAND", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_HEADERS"):
			return errors.New("no credentials: set COPILOT_PROVIDER_API_KEY to the key of the provider")
		}
		return nil
	}
	home := lookup(env, "COPILOT_HOME")
	if home == "" {
		home = inHome(o, ".copilot")
	}
	if given("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN") || holds(home, "config.json") || holds(inHome(o, ".config", "gh"), "hosts.yml") {
		return nil
	}
	return errors.New("no credentials: set COPILOT_GITHUB_TOKEN to a fine-grained token with the permission Copilot Requests (the job's own GITHUB_TOKEN and classic tokens will not do), " +
		"or COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL for a provider of your own")
}

// extras are the MCP servers, which copilot takes in claude's form, and an empty
// file it writes what it used into. System is none of them: copilot reads
// *.instructions.md from folders in COPILOT_CUSTOM_INSTRUCTIONS_DIRS and below,
// where an agent's own files are also, so it stands before the prompt.
func (copilot) extras(o Options) ([]extra, error) {
	switch {
	case o.Provider != "" && catalog.Of("copilot").Provider(o.Provider).Name == "":
		return nil, fmt.Errorf("provider %q: copilot knows github, openai (any endpoint that is compatible), azure and anthropic", clip(o.Provider, maxName))
	case o.Provider == "github" && o.BaseURL != "":
		return nil, errors.New("base-url has no effect with provider github; set COPILOT_GH_HOST for another host")
	case o.Provider == "azure" && o.BaseURL == "" && lookup(o.Env, "COPILOT_PROVIDER_BASE_URL") == "":
		return nil, errors.New("provider azure: needs base-url, such as https://RESOURCE.openai.azure.com")
	}
	if err := errors.Join(
		oneOf("effort", o.Effort, "none", "minimal", "low", "medium", "high", "xhigh", "max"),
		refuse("agent-settings", o.Settings, "copilot has no settings of one run; give its options in agent-args"),
	); err != nil {
		return nil, err
	}
	var all []extra
	if o.MCP != "" {
		if _, err := mcpMembers(o); err != nil {
			return nil, err
		}
		all = append(all, extra{name: copilotMCP, text: o.MCP})
	}
	if copilotLeaves(o) {
		all = append(all, extra{name: copilotUsage})
	}
	return all, nil
}

// copilotLeaves says that the CLI is told to leave what it used in our file.
func copilotLeaves(o Options) bool {
	return !o.Plain && !o.Exact && o.Scratch != "" && !has(slices.Concat(behind(o, "copilot"), o.Args), "--usage-output-file")
}

func (copilot) ways(Options) ways { return ways{totals: true} }

func (copilot) decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newCopilotDecoder(emit, finished)
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hints{key: "COPILOT_GITHUB_TOKEN", model: o.Model}
	if env := (copilot{}).environ(o); lookup(env, "COPILOT_PROVIDER_BASE_URL") != "" {
		d.hints.key = firstSet(o, []string{"COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY_COMMAND"})
	}
	d.used = func() string { return leftIn(o.Scratch, o.extra[copilotUsage]) }
	d.goesOn = p.Resume != "" || has(o.Args, "-r", "--resume", "--continue", "--session-id", "--connect")
	return d
}

// leftIn is what the CLI left in one of our files in the scratch folder; see
// [file.read].
func leftIn(scratch, path string) string {
	if scratch == "" || path == "" {
		return ""
	}
	root, err := os.OpenRoot(scratch)
	if err != nil {
		return ""
	}
	defer root.Close()
	return file{root: root, name: filepath.Base(path)}.read()
}
