package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// RefuseExtras is for a CLI that has no way to take MCP servers or settings;
// instead is what is used for them.
func RefuseExtras(o Options, instead string) error {
	return errors.Join(Refuse("mcp-config", o.MCP, instead), Refuse("agent-settings", o.Settings, instead))
}

// Refuse is the error for an option that has no effect; instead is what is used for it.
// Returns nil if the option is not given.
func Refuse(name, value, instead string) error {
	if value == "" {
		return nil
	}
	return fmt.Errorf("%s has no effect: %s", name, instead)
}

// OneOf returns an error if a value is none of those a CLI knows. An empty value is fine.
func OneOf(name, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q: unknown; known are %s", name, Clip(value, MaxName), strings.Join(known, ", "))
}

// JSONObject is the members of a JSON object of the user's, whose numbers stay as they are
// written; name is the option's.
func JSONObject(name, text string) (map[string]any, error) {
	v, err := DecodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// MCPMembers are the members of mcpServers in Options.MCP.
func MCPMembers(o Options) (map[string]json.RawMessage, error) {
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(o.MCP), &v); err != nil || v == nil {
		return nil, errors.New("mcp-config: is no JSON object")
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(v["mcpServers"], &servers); err != nil || servers == nil {
		return nil, errors.New(`mcp-config: must be a JSON object whose member "mcpServers" holds an object for each server`)
	}
	return servers, nil
}

// placeholder is ${NAME} or ${NAME:-default}, as claude has them in mcp-config.
var placeholder = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// Expand puts variables for placeholders. One that is not set is an error,
// because a server with half a key fails in the dark.
func Expand(text *string, env []string) (err error) {
	if strings.ContainsRune(*text, 0) {
		return errors.New("contains a NUL character")
	}
	*text = placeholder.ReplaceAllStringFunc(*text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		switch v := Lookup(env, m[1]); {
		case v != "":
			return v
		case m[2] != "":
			return m[3]
		}
		err = fmt.Errorf("%s: the variable is not set; hand it to the agent with pass-env", Clip(p, MaxName))
		return ""
	})
	return err
}

// DecodeJSON reads a JSON object. Numbers stay as they are written.
func DecodeJSON(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil || m == nil {
		return nil, errors.New("is no JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something behind the JSON object")
	}
	return m, nil
}

// Overlay puts src over dst; objects are merged, anything else is replaced.
func Overlay(dst, src map[string]any) { overlay(dst, src, false) }

// Join is [Overlay], but for lists: those of src go behind those of dst, as claude joins
// the lists of several files.
func Join(dst, src map[string]any) { overlay(dst, src, true) }

func overlay(dst, src map[string]any, join bool) {
	for key, above := range src {
		switch below := dst[key].(type) {
		case map[string]any:
			if above, ok := above.(map[string]any); ok {
				overlay(below, above, join)
				continue
			}
		case []any:
			if list, ok := above.([]any); ok && join {
				above = append(below, list...)
			}
		}
		dst[key] = above
	}
}

// MCPServers are the members of an mcp-config, {command, args, env} or {type, url,
// headers} by name. Without one there are none.
func MCPServers(o Options) (map[string]map[string]any, error) {
	if o.MCP == "" {
		return nil, nil
	}
	members, err := MCPMembers(o)
	if err != nil {
		return nil, err
	}
	servers := make(map[string]map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		server, err := DecodeJSON(string(members[name]))
		if err != nil {
			return nil, fmt.Errorf("mcp-config: the server %q %w", Clip(name, MaxName), err)
		}
		command, _ := server["command"].(string)
		url, _ := server["url"].(string)
		if command == "" && url == "" && server["httpUrl"] == nil {
			return nil, fmt.Errorf(`mcp-config: the server %q has neither "command" nor "url"`, Clip(name, MaxName))
		}
		servers[name] = server
	}
	return servers, nil
}

// EncodeJSON is compact JSON with <, > and & as they are: it is shown, too.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
