package filter

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

const maxOutputDepth = 1000

// appendJSON appends a value as `jq -S` prints it: members sorted, two spaces for
// each level. It gives up when dst would become longer than limit.
func appendJSON(dst []byte, v any, depth, limit int) ([]byte, error) {
	if len(dst) > limit {
		return dst, errFilterBytes
	}
	if depth > maxOutputDepth {
		return dst, errFilterDepth
	}
	var err error
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return append(dst, "[]"...), nil
		}
		dst = append(dst, '[')
		for i, item := range v {
			if dst, err = appendJSON(newLine(dst, i, depth+1), item, depth+1, limit); err != nil {
				return dst, err
			}
		}
		return append(newLine(dst, 0, depth), ']'), nil
	case map[string]any:
		if len(v) == 0 {
			return append(dst, "{}"...), nil
		}
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
			if dst, err = appendJSON(newLine(dst, i, depth+1), key, depth+1, limit); err != nil {
				return dst, err
			}
			if dst, err = appendJSON(append(dst, ": "...), v[key], depth+1, limit); err != nil {
				return dst, err
			}
		}
		return append(newLine(dst, 0, depth), '}'), nil
	case string:
		if len(v) > limit {
			return dst, errFilterBytes
		}
	}
	b, err := gojq.Marshal(v)
	return append(dst, b...), err
}

// newLine begins the line of the i-th item of a list.
func newLine(dst []byte, i, depth int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(append(dst, '\n'), strings.Repeat("  ", depth)...)
}

// Text is a string as it is and all else as JSON, at most limit bytes of it;
// nothing of null.
func Text(v any, limit int) string {
	s, ok := v.(string)
	if !ok && v != nil {
		b, err := gojq.Marshal(v)
		if err != nil {
			return ""
		}
		s = string(b)
	}
	return strings.ToValidUTF8(s[:min(len(s), limit)], "\uFFFD")
}
