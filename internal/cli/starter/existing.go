package starter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// document is a JSON object: map[string]any, []any, string, json.Number, bool or nil.
type document = map[string]any

// maxDepth bounds how deep settings nest; ours are three deep.
const maxDepth = 32

// parse reads a JSON object. Errors begin with name, and with line and column where these are known.
func parse(name string, data []byte) (document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(any)); errors.As(err, &syntax) {
		line, column := position(data, syntax.Offset)
		return nil, fmt.Errorf("%s:%d:%d: %w", name, line, column, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d, ok := v.(document)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s:1:1: settings are an object, {…}", name)
	case deeper(d, maxDepth):
		return nil, fmt.Errorf("%s: it nests deeper than %d levels", name, maxDepth)
	}
	return d, nil
}

// deeper reports whether a value nests deeper than so many levels.
func deeper(v any, levels int) bool {
	var below []any
	switch v := v.(type) {
	case document:
		for _, member := range v {
			below = append(below, member)
		}
	case []any:
		below = v
	default:
		return false
	}
	for _, member := range below {
		if deeper(member, levels-1) {
			return true
		}
	}
	return levels == 0
}

// position turns json's offset, the bytes up to and with the offending one,
// into a line and a column in characters, both counted from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// merge lays over on top of base: objects recursively, everything else takes
// the place of what was there.
func merge(base, over document) document {
	merged := maps.Clone(base)
	for key, v := range over {
		below, ok := v.(document)
		object, was := merged[key].(document)
		if ok && was {
			v = merge(object, below)
		}
		merged[key] = v
	}
	return merged
}

// pretty is the document with sorted keys, and with <, > and & as they are.
func pretty(d document) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(d) // was JSON before
	return strings.TrimSuffix(b.String(), "\n")
}
