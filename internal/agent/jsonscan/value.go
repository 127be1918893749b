package jsonscan

import "encoding/json"

const (
	maxValues = 1 << 20 // of one line: a value costs far more memory than its text
	maxNumber = 4 << 10 // digits: arithmetic on millions of them takes minutes
)

// Parse makes of a line of JSON what gojq works on: nil, bool, json.Number,
// string, []any and map[string]any. Numbers stay as they are written. ok is
// false when the line is anything else, nests deeper than maxDepth, has more
// than maxValues values or a number of more than maxNumber digits.
func Parse(line []byte) (v any, ok bool) {
	p := parser{Scanner: Scanner{b: line}}
	v = p.next()
	return v, !p.bad && space(line, p.i) == len(line)
}

type parser struct {
	Scanner
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
		p.Object(func(key []byte) { m[Plain(key, len(p.b))] = p.next() })
		return m
	case '[':
		p.depth++
		defer func() { p.depth-- }()
		list := []any{}
		p.Array(func() { list = append(list, p.next()) })
		return list
	}
	value := p.Value()
	switch {
	case p.bad:
	case value[0] == '"':
		return String(value, len(p.b))
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
