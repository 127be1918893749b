package codex

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

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

// bareKey says that a key needs no quotes, so that it may be a part of the
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
