package price

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
