package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

const (
	maxValues      = 1 << 20 // of one line: a value costs far more memory than its text
	maxNumber      = 4 << 10 // digits: arithmetic on millions of them takes minutes
	maxOutputDepth = 1000
)

// parseJSON makes of a line of JSON what gojq works on: nil, bool, json.Number,
// string, []any and map[string]any. Numbers stay as they are written. ok is
// false when the line is anything else, nests deeper than maxDepth, has more
// than maxValues values or a number of more than maxNumber digits.
func parseJSON(line []byte) (v any, ok bool) {
	p := parser{scanner: scanner{b: line}}
	v = p.next()
	return v, !p.bad && space(line, p.i) == len(line)
}

type parser struct {
	scanner
	values, depth int
}

func (p *parser) next() any {
	p.values++
	p.i = space(p.b, p.i)
	if p.bad || p.i == len(p.b) || p.values > maxValues || p.depth > maxDepth {
		p.bad = true
		return nil
	}
	switch p.b[p.i] {
	case '{':
		p.depth++
		defer func() { p.depth-- }()
		m := map[string]any{}
		p.object(func(key []byte) { m[plain(key, maxLine)] = p.next() })
		return m
	case '[':
		p.depth++
		defer func() { p.depth-- }()
		list := []any{}
		p.array(func() { list = append(list, p.next()) })
		return list
	}
	value := p.value()
	switch {
	case p.bad:
	case value[0] == '"':
		return str(value, maxLine)
	case value[0] == 't':
		return true
	case value[0] == 'f':
		return false
	case value[0] == 'n':
	case len(value) <= maxNumber && json.Valid(value):
		return json.Number(value)
	default:
		p.bad = true
	}
	return nil
}

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
