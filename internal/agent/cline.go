package agent

import (
	"errors"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// cline is the Cline CLI, cline 3.0.
type cline struct{ base }

// argv asks for one unattended turn; approval of all tools is the CLI's
// default. The prompt is an argument: cline refuses one that comes on stdin
// alone. p is what stands there, see [handOver].
func (cline) argv(o Options, p ralph.Prompt) []string {
	json := option{names: []string{"--json"}}
	argv, args := program(o, "cline", json), strip(o.Args, json)
	if !o.Plain {
		argv = append(argv, "--json")
	}
	if o.Provider != "" && !has(args, "-P", "--provider") {
		argv = append(argv, "-P", o.Provider)
	}
	if o.Model != "" && !has(args, "-m", "--model") {
		argv = append(argv, "-m", o.Model)
	}
	if o.Effort != "" && !has(args, "--thinking") {
		argv = append(argv, "--thinking", o.Effort)
	}
	return append(append(argv, args...), operand(p.Text))
}

// operand keeps a prompt from being taken for an option or for a command of
// the CLI's.
func operand(prompt string) string {
	if strings.HasPrefix(prompt, "-") || !strings.ContainsAny(prompt, " \t\n") {
		return "\n" + prompt
	}
	return prompt
}

// environ turns off what phones home and updates itself, unless the user
// decided otherwise.
func (cline) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	for _, name := range []string{"CLINE_NO_AUTO_UPDATE", "CLINE_TELEMETRY_DISABLED"} {
		if lookup(env, name) == "" {
			env = append(without(env, name), name+"=1")
		}
	}
	if path := o.extra[clineMCP]; path != "" {
		env = append(without(env, "CLINE_MCP_SETTINGS_PATH"), "CLINE_MCP_SETTINGS_PATH="+path)
	}
	if o.BaseURL != "" && !o.Exact {
		env = append(without(env, "CLINE_API_BASE_URL"), "CLINE_API_BASE_URL="+o.BaseURL)
	}
	return env
}

func (cline) provider(o Options) string { return firstOf(o.Provider, "cline") }

// ready refuses only where there is nothing that looks like a key or like a
// configuration: cline knows a hundred providers.
func (cline) ready(o Options) error {
	looksLikeKey := func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "CLINE_"))
	}
	if slices.ContainsFunc(o.Env, looksLikeKey) || has(o.Args, "-k", "--key", "--config", "--data-dir") ||
		holds(inHome(o), ".cline") {
		return nil
	}
	return errors.New("no credentials: set CLINE_API_KEY or the key of your provider, or configure one with cline auth first")
}

const clineMCP = "mcp.json"

// extras are a file that takes the place of ~/.cline's own MCP settings for the
// turn (tried: 3.0.65). The address of a provider stands in ~/.cline, which
// cline auth writes; only cline's own provider takes one from a variable.
func (cline) extras(o Options) (files []extra, err error) {
	if o.Exact {
		return nil, nil
	}
	elsewhere := ""
	if p := firstOf(value(o.Args, "-P", "--provider"), o.Provider, lookup(o.Env, "CLINE_PROVIDER")); p != "" && p != "cline" {
		elsewhere = o.BaseURL
	}
	err = errors.Join(
		oneOf("effort", o.Effort, "none", "low", "medium", "high", "xhigh"),
		refuse("base-url", elsewhere, "cline takes the address of another provider than its own from its configuration; run cline auth --baseurl URL before"),
		refuseExtras(Options{Settings: o.Settings}, "write a setup step that runs cline config or cline auth"))
	if err != nil || o.MCP == "" {
		return nil, err
	}
	if _, err := mcpMembers(o); err != nil {
		return nil, err
	}
	return []extra{{name: clineMCP, text: o.MCP}}, nil
}

func (cline) ways(Options) ways { return ways{argument: true} }

func (cline) decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newClineDecoder(p.Text, emit, finished)
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hintsOf(o, firstSet(o, catalog.Of("cline").Keys()))
	return d
}

func (cline) hosts(o Options) []string {
	provider := firstOf(value(o.Args, "-P", "--provider"), o.Provider, lookup(o.Env, "CLINE_PROVIDER"), "cline")
	address := catalog.Of("cline").Provider(provider).Address
	if provider == "cline" {
		address = firstOf(o.BaseURL, lookup(o.Env, "CLINE_API_BASE_URL"), address)
	}
	return hostsOf(address)
}
