package price

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of a table.
const (
	maxBytes    = 1 << 20
	maxModels   = 2000
	maxAliases  = 20
	maxAmount   = 1_000_000_000_000 // a million dollars per million tokens
	minAmount   = 1000              // below it dollars were meant
	maxProblems = 20
)

// Parse reads a table, which docs/pricing.md describes: JSON, at most 1 MiB and
// 2000 models. The error names everything that is wrong, at most 20 problems, a
// line each, with the model it belongs to and what would be right.
func Parse(text []byte) (Table, error) {
	if len(text) > maxBytes {
		return Table{}, fmt.Errorf("the table of prices has %d bytes; at most %d are read", len(text), maxBytes)
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return Table{}, fmt.Errorf("the table of prices is no JSON: line %d: %w", line(text, err), err)
	}
	p := parser{table: Table{names: map[string]model{}}}
	p.document(text)
	if len(p.problems) == 0 {
		return p.table, nil
	}
	if n := len(p.problems) - maxProblems; n > 0 {
		p.problems = append(p.problems[:maxProblems], fmt.Errorf("and %d more", n))
	}
	return Table{}, errors.Join(p.problems...)
}

// line is where JSON is broken, 1-based.
func line(text []byte, err error) int {
	var s *json.SyntaxError
	if !errors.As(err, &s) {
		return 1
	}
	return 1 + bytes.Count(text[:min(int(s.Offset), len(text))], []byte("\n"))
}

type parser struct {
	table    Table
	problems []error
}

// wrong notes a problem; where is empty for the table itself.
func (p *parser) wrong(where, format string, args ...any) {
	if where != "" {
		where += ": "
	}
	p.problems = append(p.problems, errors.New(where+fmt.Sprintf(format, args...)))
}

func (p *parser) document(text []byte) {
	found := false
	ok := p.object("", text, []field{
		{"date", func(where string, value []byte) { p.table.date = p.date(where, value) }},
		{"source", func(where string, value []byte) {
			if json.Unmarshal(value, new([]string)) != nil {
				p.wrong(where, "write a list of texts")
			}
		}},
		{"models", func(_ string, value []byte) {
			found = true
			p.models(value)
		}},
	})
	if !ok || !found {
		p.wrong("", `a table of prices is an object with "models"`)
	}
}

func (p *parser) models(value []byte) {
	list, ok := members(value)
	switch {
	case !ok:
		p.wrong("models", "write an object with a model's name before its prices")
		return
	case len(list) > maxModels:
		p.wrong("models", "there are %d; at most %d are read", len(list), maxModels)
		return
	}
	slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	for _, f := range list {
		if !p.named(f.name) {
			continue
		}
		if _, twice := p.table.names[f.name]; twice {
			p.wrong(shown(f.name), "stands there twice")
			continue
		}
		p.table.names[f.name] = model{id: f.name} // before any alias
	}
	for _, f := range list {
		if m, ok := p.table.names[f.name]; ok {
			p.model(m.id, f.value)
		}
	}
}

func (p *parser) model(id string, value []byte) {
	m := model{id: id}
	var aliases []string
	ok := p.object(shown(id), value, append(p.amounts(&m.rates),
		field{"above", func(where string, value []byte) { m.above = p.size(where, value) }},
		field{"aliases", func(where string, value []byte) { aliases = p.aliases(where, value) }},
		field{"then", func(where string, value []byte) { m.from, m.then = p.change(where, value) }},
	))
	if !ok {
		p.wrong(shown(id), `write an object with "input" and "output"`)
		return
	}
	p.complete(shown(id), m.rates)
	p.table.names[id] = m
	for _, alias := range aliases {
		if other, taken := p.table.names[alias]; taken {
			p.wrong(shown(id)+".aliases", "%s is a name of %s already", shown(alias), shown(other.id))
			continue
		}
		p.table.names[alias] = m
	}
}

// amounts are the fields for the four prices.
func (p *parser) amounts(r *rates) []field {
	*r = rates{unpriced, unpriced, unpriced, unpriced}
	read := func(name string, to *int64) field {
		return field{name, func(where string, value []byte) {
			n, problem := amount(string(value))
			if problem != "" {
				p.wrong(where, "%s", problem)
			}
			*to = n
		}}
	}
	return []field{read("input", &r.input), read("output", &r.output), read("cacheRead", &r.cacheRead), read("cacheWrite", &r.cacheWrite)}
}

// complete notes which of the two prices that have to be there is missing.
func (p *parser) complete(where string, r rates) {
	const rule = "is missing: whole micro-dollars per million tokens, 1250000 for $1.25"
	if r.input == unpriced {
		p.wrong(where, "input "+rule)
	}
	if r.output == unpriced {
		p.wrong(where, "output "+rule)
	}
}

// change reads prices that hold from a day on.
func (p *parser) change(where string, value []byte) (from string, r rates) {
	dated := false
	ok := p.object(where, value, append([]field{{"from", func(where string, value []byte) {
		dated, from = true, p.date(where, value)
	}}}, p.amounts(&r)...))
	switch {
	case !ok:
		p.wrong(where, `write an object with "from", "input" and "output"`)
		return "", rates{}
	case !dated:
		p.wrong(where, "from is missing: the day, as 2026-12-31")
	}
	p.complete(where, r)
	return from, r
}

func (p *parser) date(where string, value []byte) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		if _, err := time.Parse(time.DateOnly, text); err == nil {
			return text
		}
	}
	p.wrong(where, "%s is no day; write it as 2026-12-31", excerpt(string(value)))
	return ""
}

func (p *parser) size(where string, value []byte) int64 {
	var n int64
	if json.Unmarshal(value, &n) != nil || n < 1 || n > maxAmount {
		p.wrong(where, "%s is no number of tokens; write a whole number above 0, 200000 for instance", excerpt(string(value)))
		return 0
	}
	return n
}

func (p *parser) aliases(where string, value []byte) []string {
	var list []string
	if json.Unmarshal(value, &list) != nil || len(list) > maxAliases {
		p.wrong(where, "write a list of at most %d names", maxAliases)
		return nil
	}
	return slices.DeleteFunc(list, func(name string) bool { return !p.named(name) })
}

// named reports whether a text can be the name of a model.
func (p *parser) named(name string) bool {
	if name != "" && len(name) <= maxName && strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return true
	}
	p.wrong(shown(name), "is no name of a model: 1 to %d visible ASCII characters", maxName)
	return false
}

// field is what an object may have, and what its value is for.
type field struct {
	name string
	read func(where string, value []byte)
}

// object reads the fields of an object, and notes those that are unknown or stand there
// twice. It reports whether the value is an object.
func (p *parser) object(where string, value []byte, fields []field) bool {
	list, ok := members(value)
	seen := map[string]bool{}
	for _, m := range list {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		switch {
		case i < 0:
			var names []string
			for _, f := range fields {
				names = append(names, f.name)
			}
			p.wrong(where, "unknown key %s (one of %s)", shown(m.name), strings.Join(names, ", "))
		case seen[m.name]:
			p.wrong(where, "%s stands there twice", m.name)
		case where == "":
			fields[i].read(m.name, m.value)
		default:
			fields[i].read(where+"."+m.name, m.value)
		}
		seen[m.name] = true
	}
	return ok
}

// member is one field of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members lists the fields of an object as they stand there, also those that
// stand there twice; ok is false when text is valid JSON but no object.
func members(text []byte) (list []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

// amount reads whole micro-dollars per million tokens; else it says what would
// be right.
func amount(text string) (n int64, problem string) {
	const rule = "amounts are whole micro-dollars per million tokens, 1250000 for $1.25"
	whole := strings.Trim(text, "0123456789") == ""
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "" || strings.Trim(text, "0123456789+-.eE") != "":
		return 0, excerpt(text) + " is no number: " + rule
	case strings.HasPrefix(text, "-"):
		return 0, excerpt(text) + " is negative: " + rule
	case err != nil || value > maxAmount:
		return 0, excerpt(text) + " is more than $1,000,000: " + rule
	case whole && value > 0 && value < minAmount, !whole && value < minAmount:
		return 0, fmt.Sprintf("%s is taken for dollars: write $%s as %.0f, in whole micro-dollars per million tokens", excerpt(text), excerpt(text), math.Round(value*1e6))
	case !whole:
		return 0, fmt.Sprintf("%s is not written as a whole number: %s", excerpt(text), rule)
	}
	return int64(value), ""
}

// shown is foreign text in a message: quoted unless it is as plain as a name,
// and bounded.
func shown(s string) string {
	if s != "" && len(s) <= 60 && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) < 0 {
		return s
	}
	return strconv.QuoteToASCII(cut(s))
}

// excerpt is a JSON value in a message, on one line and bounded.
func excerpt(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, cut(s))
}

func cut(s string) string {
	if len(s) <= 60 {
		return s
	}
	return s[:60] + "..."
}
