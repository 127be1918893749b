package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// refuseExtras is for a CLI that has no way to take MCP servers or settings;
// instead is what is used for them.
func refuseExtras(o Options, instead string) error {
	return errors.Join(refuse("mcp-config", o.MCP, instead), refuse("agent-settings", o.Settings, instead))
}

// refuse says that an option has no effect, and what is used instead; nil when
// it is not given.
func refuse(name, value, instead string) error {
	if value == "" {
		return nil
	}
	return fmt.Errorf("%s has no effect: %s", name, instead)
}

// oneOf says that a value is none of those a CLI knows; empty is fine.
func oneOf(name, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q: unknown; known are %s", name, clip(value, maxName), strings.Join(known, ", "))
}

// path is where the file of an extra stands in the turn at hand; a command line
// that is only shown says <file>.
func (o Options) path(name string) string {
	if p := o.extra[name]; p != "" {
		return p
	}
	return "<file>"
}

// jsonObject is the members of a JSON object of the user's; name is the
// option's.
func jsonObject(name, text string) (map[string]json.RawMessage, error) {
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
		return nil, fmt.Errorf("%s: is no JSON object", name)
	}
	return v, nil
}

// mcpMembers are the members of mcpServers in Options.MCP.
func mcpMembers(o Options) (map[string]json.RawMessage, error) {
	v, err := jsonObject("mcp-config", o.MCP)
	if err != nil {
		return nil, err
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(v["mcpServers"], &servers); err != nil || servers == nil {
		return nil, errors.New(`mcp-config: must be a JSON object whose member "mcpServers" holds an object for each server`)
	}
	return servers, nil
}

// merge puts what above says over what below says: objects member by member,
// lists one behind the other as claude joins those of several files, and of
// anything else what above has.
func merge(below, above map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	both := make(map[string]json.RawMessage, len(below)+len(above))
	for name, value := range below {
		both[name] = value
	}
	for name, value := range above {
		value, err := mergeValue(both[name], value)
		if err != nil {
			return nil, err
		}
		both[name] = value
	}
	return both, nil
}

func mergeValue(below, above json.RawMessage) (json.RawMessage, error) {
	starts := func(b json.RawMessage, c byte) bool {
		b = bytes.TrimSpace(b)
		return len(b) > 0 && b[0] == c
	}
	switch {
	case starts(below, '{') && starts(above, '{'):
		var b, a map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(below, &b), json.Unmarshal(above, &a)); err != nil {
			return nil, err
		}
		both, err := merge(b, a)
		if err != nil {
			return nil, err
		}
		return plainJSON(both)
	case starts(below, '[') && starts(above, '['):
		var b, a []json.RawMessage
		if err := errors.Join(json.Unmarshal(below, &b), json.Unmarshal(above, &a)); err != nil {
			return nil, err
		}
		return plainJSON(append(b, a...))
	}
	return above, nil
}
