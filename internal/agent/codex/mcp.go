package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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
