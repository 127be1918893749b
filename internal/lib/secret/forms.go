package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// minValue is the length below which a value is not looked for: masking
	// every "yes" or "42" of a log hides the log and protects nothing.
	minValue = 4
	// minLine is the length from which a line of a multi-line value is a form
	// of its own, because logs are read by line.
	minLine = 8
	// maxHex is the length up to which a value is looked for in hex: tools wrap
	// longer ones, and every stream is held back by what may become a form.
	maxHex = 256
)

// forms lists the shapes in which tools print a value: itself, as JSON, in URLs,
// in HTML, quoted by a shell, in hex, in base64 alone or embedded in something
// longer, and line by line. What only somebody would write who wants to get
// around a mask (every byte escaped, reversed, in pieces) is not among them.
func forms(value string, byLine bool) []string {
	value = strings.TrimSpace(value)
	all := append(escaped(value), encoded(value)...)
	if byLine && strings.ContainsAny(value, "\r\n") {
		for line := range strings.FieldsFuncSeq(value, isLineEnd) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				all = append(all, escaped(line)...)
			}
		}
	}
	kept := all[:0]
	for _, form := range all {
		if len(form) >= minValue {
			kept = append(kept, form)
		}
	}
	return kept
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// escaped is the value and what JSON encoders, URL escapers, HTML templates and
// shells make of it.
func escaped(value string) []string {
	query, path := url.QueryEscape(value), url.PathEscape(value)
	component := strings.ReplaceAll(query, "+", "%20")
	all := []string{value, query, path, component, lowerHex(query), lowerHex(path), lowerHex(component),
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component), // JavaScript's encodeURIComponent
		strings.ReplaceAll(component, "%2F", "/"),                                                          // Python's quote
	}
	if utf8.ValidString(value) { // an encoder replaces the rest, which no form can find
		once := jsonEscape(value, false)
		all = append(all, once, jsonEscape(value, true),
			jsonEscape(once, false), // JSON in JSON: tool output inside an agent's stream
			strings.ReplaceAll(once, "/", `\/`),
			asciiJSON(once, `\u%04x`),
			strings.ReplaceAll(asciiJSON(once, `\u%04x`), "/", `\/`), // PHP's json_encode
			asciiJSON(once, `\u%04X`),                                // Jackson
			netJSON(asciiJSON(once, `\u%04X`)))
	}
	return append(append(all, quoted(value)...), inHTML(value)...)
}

// quoted is the inside of the value's shell word: as sh -x closes the quotes
// around a single quote and escapes it, as Python's shlex does with double
// quotes, and as printf %q of bash writes it; and of a literal of Python's repr.
func quoted(value string) []string {
	var backslashed strings.Builder
	for i := range len(value) {
		if strings.IndexByte(" !\"#$&'()*,;<>?[\\]^`{|}", value[i]) >= 0 {
			backslashed.WriteByte('\\')
		}
		backslashed.WriteByte(value[i])
	}
	return []string{
		strings.ReplaceAll(value, "'", `'\''`),
		strings.ReplaceAll(value, "'", `'"'"'`),
		strings.ReplaceAll(strings.ReplaceAll(value, `\`, `\\`), "'", `\'`),
		backslashed.String(),
	}
}

// inHTML is the value as Go's html/template and html.escape of Python and PHP
// write it.
func inHTML(value string) []string {
	escaped := html.EscapeString(value)
	named := strings.ReplaceAll(escaped, "&#34;", "&quot;")
	return []string{escaped, named, strings.ReplaceAll(named, "&#39;", "&#x27;"), strings.ReplaceAll(named, "&#39;", "&#039;")}
}

// asciiJSON escapes what is not ASCII, as Python's json.dumps does, in the given
// format of a UTF-16 unit.
func asciiJSON(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, format+format, high, low)
		default:
			fmt.Fprintf(&b, format, r)
		}
	}
	return b.String()
}

// netJSON escapes what .NET's System.Text.Json does by default on top of others:
// what means something in HTML, and the plus sign.
func netJSON(s string) string {
	return strings.NewReplacer(`\\`, `\\`, `\"`, `\u0022`, "&", `\u0026`, "'", `\u0027`, "+", `\u002B`, "<", `\u003C`, ">", `\u003E`, "`", `\u0060`).Replace(s)
}

// jsonEscape is the inside of the value's JSON string; html escapes <, > and &
// as Go's encoder does by default and JavaScript's does not.
func jsonEscape(value string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(value); err != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// lowerHex turns %2F into %2f.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// encoded is the value in hex and in base64, alone and inside a longer text.
func encoded(value string) []string {
	var all []string
	if len(value) <= maxHex {
		digits := hex.EncodeToString([]byte(value))
		all = append(all, digits, strings.ToUpper(digits))
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := enc.EncodeToString([]byte(value))
		all = append(append(all, whole, strings.TrimRight(whole, "=")), Base64Cores(enc, value)...)
	}
	return all
}

// Base64Cores are the parts of a value's base64 that stay the same wherever the value
// stands inside a longer text ("user:token"): the characters that no neighbouring byte has
// a bit in.
func Base64Cores(enc *base64.Encoding, value string) []string {
	var all []string
	for offset, first := range []int{0, 2, 3} {
		shifted := append(make([]byte, offset, offset+len(value)), value...)
		last := len(shifted) * 8 / 6
		if text := enc.EncodeToString(shifted); first < last {
			all = append(all, text[first:last])
		}
	}
	return all
}
