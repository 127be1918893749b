package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Extras are the scripts that start MCP servers. The other options go into the
// command line, as overrides of the configuration.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if o.Exact {
		return nil, nil
	}
	if _, err := overridesOf(o); err != nil {
		return nil, err
	}
	m, err := serversOf(o)
	return m.files, err
}

// overridesOf are the values of -c for the options, the user's settings last:
// of two for the same key codex takes the later. They do not touch the user's
// own config.toml, and go before it. developer_instructions are a message behind
// codex's own system prompt; those of config.toml give way.
func overridesOf(o driver.Options) ([]string, error) {
	var all []string
	if o.Effort != "" {
		// 0.169 passes every word on; what the model does not know is refused late, or
		// taken for medium.
		if err := driver.OneOf("effort", o.Effort, "none", "minimal", "low", "medium", "high", "xhigh"); err != nil {
			return nil, err
		}
		all = append(all, "model_reasoning_effort="+tomlString(o.Effort))
	}
	if o.System != "" {
		all = append(all, "developer_instructions="+tomlString(o.System))
	}
	provider, err := providerOverrides(o)
	if err != nil {
		return nil, err
	}
	servers, err := serversOf(o)
	if err != nil {
		return nil, err
	}
	all = append(append(all, provider...), servers.overrides...)
	if o.Settings != "" {
		settings, err := driver.JSONObject("agent-settings", o.Settings)
		if err != nil {
			return nil, err
		}
		if settings["developer_instructions"] != nil && o.System != "" {
			return nil, errors.New("agent-settings: developer_instructions are what append-system-prompt is to codex; leave one of them out")
		}
		paths, err := tomlPaths("", settings)
		if err != nil {
			return nil, fmt.Errorf("agent-settings: %w", err)
		}
		all = append(all, paths...)
	}
	for _, value := range all {
		if len(value) > driver.MaxArgument {
			return nil, fmt.Errorf("codex takes %q as an argument, and %d bytes are too long for one (%d)", driver.Clip(value, 40), len(value), driver.MaxArgument)
		}
	}
	return all, nil
}

// mcpServer is an MCP server as mcp-config has it. What else stands there
// codex would not understand, so it is refused.
type mcpServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// mcpServers is mcp-config for codex 0.169, which takes servers in its
// configuration only: as -c mcp_servers.NAME={…}. Of a server the user's own
// configuration has under that name, the other keys stay (tried: one of the other
// kind there is an error of codex that says so).
//
// No secret of env or headers is in a command line. A server that is a program is
// started by a shell script, an extra file that sets its variables: codex would
// pass on variables of its own only, under their own names, where they would
// be those of codex and of all commands of the agent, too. Headers come from
// variables of the child's, see [mcpServers.env]. The address of a server stays
// in the command line.
type mcpServers struct {
	overrides []string // values of -c
	files     []driver.Extra
	env       []string // KEY=VALUE
}

// serversOf translates mcp-config. Of a command line that is only shown, the
// scripts are <file>.
func serversOf(o driver.Options) (m mcpServers, err error) {
	if o.MCP == "" {
		return m, nil
	}
	servers, err := driver.MCPMembers(o)
	if err != nil {
		return m, err
	}
	for i, name := range slices.Sorted(maps.Keys(servers)) {
		fail := func(err error) error {
			return fmt.Errorf("mcp-config: server %q: %w", driver.Clip(name, driver.MaxName), err)
		}
		if !bareKey(name) {
			return m, fail(errors.New("codex takes letters, digits, - and _ in a name"))
		}
		s, err := serverOf(servers[name], o.Env)
		if err != nil {
			return m, fail(err)
		}
		table := map[string]string{}
		if s.URL != "" {
			table["url"] = tomlString(s.URL)
			headers := map[string]string{}
			for j, header := range slices.Sorted(maps.Keys(s.Headers)) {
				variable := fmt.Sprintf("RALPH_MCP_%d_HEADER_%d", i+1, j+1)
				headers[header] = tomlString(variable)
				m.env = append(m.env, variable+"="+s.Headers[header])
			}
			if len(headers) > 0 {
				table["env_http_headers"] = tomlTable(headers)
			}
		} else {
			file := driver.Extra{Name: "mcp-" + strconv.Itoa(i+1) + ".sh", Text: s.script()}
			m.files = append(m.files, file)
			table["command"], table["args"] = tomlString("sh"), tomlStrings([]string{o.Path(file.Name)})
			if s.Cwd != "" {
				table["cwd"] = tomlString(s.Cwd)
			}
		}
		m.overrides = append(m.overrides, "mcp_servers."+name+"="+tomlTable(table))
	}
	return m, nil
}

// serverOf reads a server and puts variables of env for ${NAME}.
func serverOf(raw json.RawMessage, env []string) (s mcpServer, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("%w; codex takes command, args, env and cwd, or url and headers; the rest of its own options goes into agent-settings, below mcp_servers", err)
	}
	switch {
	case (s.Command == "") == (s.URL == ""):
		return s, errors.New("must have a command or a url")
	case s.URL == "" && s.Type != "" && s.Type != "stdio", s.URL != "" && s.Type != "" && s.Type != "http" && s.Type != "streamable-http":
		return s, fmt.Errorf("type %q: codex speaks stdio with a command and streamable HTTP with a url", driver.Clip(s.Type, driver.MaxName))
	}
	texts := []*string{&s.Command, &s.Cwd, &s.URL}
	for i := range s.Args {
		texts = append(texts, &s.Args[i])
	}
	for _, text := range texts {
		err = errors.Join(err, driver.Expand(text, env))
	}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for name, value := range values {
			err = errors.Join(err, driver.Expand(&value, env))
			values[name] = value
		}
	}
	for name := range s.Env {
		if !variableName.MatchString(name) {
			err = errors.Join(err, fmt.Errorf("env: %q is no name of a variable", driver.Clip(name, driver.MaxName)))
		}
	}
	return s, err
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// script starts the server.
func (s mcpServer) script() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, shellWord(s.Env[name]))
	}
	b.WriteString("exec")
	for _, word := range append([]string{s.Command}, s.Args...) {
		b.WriteString(" " + shellWord(word))
	}
	b.WriteString("\n")
	return b.String()
}

// shellWord is a text as one word of a POSIX shell.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tomlString is a basic string of TOML 1.0: on one line, with the escapes of JSON, and one
// for the control character that JSON leaves as it is.
func tomlString(s string) string {
	quoted, _ := driver.EncodeJSON(s) // a string can always be encoded
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007F`)
}

// tomlStrings is a list of strings.
func tomlStrings(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = tomlString(s)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// tomlTable is an inline table, in the order of its keys; the values are TOML.
func tomlTable(values map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, tomlKey(key)+"="+values[key])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func tomlKey(key string) string {
	if bareKey(key) {
		return key
	}
	return tomlString(key)
}

// bareKey reports whether a key needs no quotes, so that it may be a part of the
// dotted path codex takes in -c.
func bareKey(key string) bool {
	return key != "" && strings.IndexFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// tomlPaths are the values of a JSON object as KEY=VALUE for codex's -c, sorted:
// a path leads to each value, so that what the user's own configuration says
// besides stays. An object with a member that fits in no path is one value.
func tomlPaths(prefix string, object map[string]any) ([]string, error) {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !bareKey(key) {
			return nil, fmt.Errorf("%s: letters, digits, - and _ only", driver.Clip(prefix+key, driver.MaxName))
		}
		odd := func(name string) bool { return !bareKey(name) }
		if below, ok := object[key].(map[string]any); ok && len(below) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(below)), odd) {
			more, err := tomlPaths(prefix+key+".", below)
			if err != nil {
				return nil, err
			}
			paths = append(paths, more...)
			continue
		}
		text, err := tomlValue(object[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", driver.Clip(prefix+key, driver.MaxName), err)
		}
		paths = append(paths, prefix+key+"="+text)
	}
	return paths, nil
}

// tomlValue is a JSON value as a TOML value. TOML has no null.
func tomlValue(value any) (text string, err error) {
	switch value := value.(type) {
	case nil:
		return "", errors.New("null is no value of codex's configuration; leave it out")
	case string:
		return tomlString(value), nil
	case []any:
		parts := make([]string, len(value))
		for i, v := range value {
			if parts[i], err = tomlValue(v); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	case map[string]any:
		values := make(map[string]string, len(value))
		for key, v := range value {
			if values[key], err = tomlValue(v); err != nil {
				return "", err
			}
		}
		return tomlTable(values), nil
	}
	return fmt.Sprint(value), nil // true, false and numbers are the same in both
}
