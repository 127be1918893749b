// Package cline drives the Cline CLI.
package cline

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is the Cline CLI, cline 3.0.
type Driver struct{ driver.Base }

// Argv asks for one unattended turn; approval of all tools is the CLI's
// default. The prompt is an argument: cline refuses one that comes on stdin
// alone. p is what stands there: the text, or where to find it.
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	json := driver.Option{Names: []string{"--json"}}
	argv, args := driver.Program(o, "cline", json), driver.Strip(o.Args, json)
	if !o.Plain {
		argv = append(argv, "--json")
	}
	argv = driver.AddOption(argv, args, o.Provider, "-P", "--provider")
	argv = driver.AddOption(argv, args, o.Model, "-m", "--model")
	argv = driver.AddOption(argv, args, o.Effort, "--thinking")
	return append(append(argv, args...), driver.Operand(p.Text))
}

// Environ turns off what phones home and updates itself, unless the user
// decided otherwise.
func (Driver) Environ(o driver.Options) []string {
	env := driver.SetUnset(driver.Without(o.Env, "CLAUDECODE"), "1", "CLINE_NO_AUTO_UPDATE", "CLINE_TELEMETRY_DISABLED")
	if path := o.Turn.Files[mcpFile]; path != "" {
		env = driver.Set(env, "CLINE_MCP_SETTINGS_PATH", path)
	}
	if o.BaseURL != "" && !o.Exact {
		env = driver.Set(env, "CLINE_API_BASE_URL", o.BaseURL)
	}
	return env
}

// Provider is the one that the options choose.
func (Driver) Provider(o driver.Options) string { return cmp.Or(o.Provider, "cline") }

// Ready refuses only where there is nothing that looks like a key or like a
// configuration: cline knows a hundred providers.
func (Driver) Ready(o driver.Options) error {
	looksLikeKey := func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "CLINE_"))
	}
	if slices.ContainsFunc(o.Env, looksLikeKey) || driver.Has(o.Args, "-k", "--key", "--config", "--data-dir") ||
		driver.Holds(driver.InHome(o), ".cline") {
		return nil
	}
	return errors.New("no credentials: set CLINE_API_KEY or the key of your provider, or configure one with cline auth first")
}

const mcpFile = "mcp.json"

// Extras are a file that takes the place of ~/.cline's own MCP settings for the
// turn (tried: 3.0.65). The address of a provider stands in ~/.cline, which
// cline auth writes; only cline's own provider takes one from a variable.
func (Driver) Extras(o driver.Options) (files []driver.Extra, err error) {
	if o.Exact {
		return nil, nil
	}
	elsewhere := ""
	if p := cmp.Or(driver.Value(o.Args, "-P", "--provider"), o.Provider, driver.Lookup(o.Env, "CLINE_PROVIDER")); p != "" && p != "cline" {
		elsewhere = o.BaseURL
	}
	err = errors.Join(
		driver.OneOf("effort", o.Effort, "none", "low", "medium", "high", "xhigh"),
		driver.Refuse("base-url", elsewhere, "cline takes the address of another provider than its own from its configuration; run cline auth --baseurl URL before"),
		driver.RefuseExtras(driver.Options{Settings: o.Settings}, "write a setup step that runs cline config or cline auth"))
	if err != nil || o.MCP == "" {
		return nil, err
	}
	if _, err := driver.MCPMembers(o); err != nil {
		return nil, err
	}
	return []driver.Extra{{Name: mcpFile, Text: o.MCP}}, nil
}

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(driver.Options) driver.Ways { return driver.Ways{Argument: true} }

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := newDecoder(p.Text, emit, finished)
	d.Attach(o, driver.HintsOf(o, driver.FirstSet(o, catalog.Of("cline").Keys())))
	return d
}

// Hosts are those of the API that the options choose.
func (Driver) Hosts(o driver.Options) []string {
	provider := cmp.Or(driver.Value(o.Args, "-P", "--provider"), o.Provider, driver.Lookup(o.Env, "CLINE_PROVIDER"), "cline")
	address := catalog.Of("cline").Provider(provider).Address
	if provider == "cline" {
		address = cmp.Or(o.BaseURL, driver.Lookup(o.Env, "CLINE_API_BASE_URL"), address)
	}
	return driver.HostsOf(address)
}
