// Package gitconfig reads git's configuration files, and takes credentials out of them. The
// reader of go-git says nothing of where a variable stands, and refuses files that git takes:
// what is left has to be byte by byte what was there.
package gitconfig

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/repo/files"
)

// maxBytes bounds a configuration file we read.
const maxBytes = 16 << 20

// Read reads a configuration file below root.
func Read(root *os.Root, name string) (Config, error) {
	b, err := files.Read(root, name, maxBytes)
	if err != nil {
		return Config{}, err
	}
	return Parse(b)
}

// Config is a git configuration file (git-config, "Syntax") with the place of
// each variable, so that lines can be taken out and everything else stays as
// it is, byte by byte.
type Config struct {
	raw      []byte
	Vars     []Variable
	sections []Variable // the section headers, by their start and end
}

// Variable is one "key = value". Section and key are in lower case, the
// subsection as written.
type Variable struct {
	Section, Subsection, Key string
	Value                    string
	start, end               int // in raw; a line end belongs to it when the line holds nothing else
	valueStart, valueEnd     int // the value as written, quotes and all
}

// Value is the last value of a variable without a subsection.
func (c Config) Value(section, key string) string {
	s := ""
	for _, v := range c.Vars {
		if v.Section == section && v.Subsection == "" && v.Key == key {
			s = v.Value
		}
	}
	return s
}

// Parse reads a configuration file. Errors name the line.
func Parse(raw []byte) (Config, error) {
	p := configParser{b: raw}
	p.skipBOM()
	for p.i < len(raw) {
		if err := p.next(); err != nil {
			line := 1 + strings.Count(string(raw[:min(p.i, len(raw))]), "\n")
			return Config{}, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return Config{raw: raw, Vars: p.vars, sections: p.sections}, nil
}

type configParser struct {
	b           []byte
	i           int
	section     string
	subsection  string
	haveSection bool
	vars        []Variable
	sections    []Variable
}

func (p *configParser) skipBOM() {
	if strings.HasPrefix(string(p.b), "\xef\xbb\xbf") {
		p.i = 3
	}
}

func (p *configParser) peek() byte {
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return '\n'
}

func (p *configParser) next() error {
	switch c := p.peek(); {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		p.i++
		return nil
	case c == '#' || c == ';':
		for p.i < len(p.b) && p.b[p.i] != '\n' {
			p.i++
		}
		return nil
	case c == '[':
		return p.header()
	case isAlpha(c):
		if !p.haveSection {
			return errors.New("a variable before the first section")
		}
		return p.variable()
	default:
		return fmt.Errorf("unexpected %q", c)
	}
}

func (p *configParser) header() error {
	from := p.i
	p.i++
	start := p.i
	for isAlnum(p.peek()) || p.peek() == '-' || p.peek() == '.' {
		p.i++
	}
	name := strings.ToLower(string(p.b[start:min(p.i, len(p.b))]))
	p.section, p.subsection, p.haveSection = name, "", true
	// The old style [section.subsection] is in lower case altogether.
	if s, sub, ok := strings.Cut(name, "."); ok {
		p.section, p.subsection = s, sub
	}
	if p.peek() == ' ' || p.peek() == '\t' {
		for p.peek() == ' ' || p.peek() == '\t' {
			p.i++
		}
		if p.peek() != '"' {
			return errors.New("malformed section header")
		}
		p.i++
		var sub strings.Builder
		for p.peek() != '"' {
			c := p.peek()
			if c == '\\' {
				p.i++
				c = p.peek()
			}
			if c == '\n' {
				return errors.New("malformed section header")
			}
			sub.WriteByte(c)
			p.i++
		}
		p.i++
		p.subsection = sub.String()
	}
	if p.peek() != ']' {
		return errors.New("malformed section header")
	}
	p.i++
	p.sections = append(p.sections, Variable{Section: p.section, Subsection: p.subsection, start: from, end: p.i})
	return nil
}

func (p *configParser) variable() error {
	v := Variable{Section: p.section, Subsection: p.subsection, start: p.i}
	for isAlnum(p.peek()) || p.peek() == '-' {
		p.i++
	}
	v.Key = strings.ToLower(string(p.b[v.start:p.i]))
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
	v.valueStart, v.valueEnd = p.i, p.i
	switch c := p.peek(); c {
	case '\n':
	case '\r':
		if p.i+1 < len(p.b) && p.b[p.i+1] != '\n' {
			return errors.New("malformed variable")
		}
	case '#', ';':
		// A comment after a variable without a value: git refuses it.
		return errors.New("malformed variable")
	case '=':
		p.i++
		for p.peek() == ' ' || p.peek() == '\t' {
			p.i++
		}
		v.valueStart = p.i
		value, err := p.valueText()
		if err != nil {
			return err
		}
		v.Value, v.valueEnd = value, p.i
	default:
		return errors.New("malformed variable")
	}
	for p.i < len(p.b) && p.b[p.i] != '\n' {
		p.i++
	}
	v.end = p.i
	lineStart := v.start
	for lineStart > 0 && (p.b[lineStart-1] == ' ' || p.b[lineStart-1] == '\t') {
		lineStart--
	}
	if lineStart == 0 || p.b[lineStart-1] == '\n' {
		v.start = lineStart
		if v.end < len(p.b) {
			v.end++
		}
	}
	p.vars = append(p.vars, v)
	return nil
}

// valueText reads a value to the end of its line or to a comment, with git's
// quotes, escapes and continued lines.
func (p *configParser) valueText() (string, error) {
	var b strings.Builder
	quoted, space := false, 0
	for p.i < len(p.b) && p.b[p.i] != '\n' {
		c := p.b[p.i]
		if c == '\r' && (p.i+1 == len(p.b) || p.b[p.i+1] == '\n') {
			break
		}
		if !quoted && (c == '#' || c == ';') {
			break
		}
		if !quoted && (c == ' ' || c == '\t') {
			if b.Len() > 0 {
				space++
			}
			p.i++
			continue
		}
		b.WriteString(strings.Repeat(" ", space))
		space = 0
		p.i++
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			if p.i >= len(p.b) {
				return "", errors.New("a backslash at the end of the file")
			}
			e := p.b[p.i]
			p.i++
			switch e {
			case '\r':
				if p.peek() != '\n' {
					return "", errors.New("unknown escape")
				}
				p.i++
			case '\n':
			case 't':
				b.WriteByte('\t')
			case 'n':
				b.WriteByte('\n')
			case 'b':
				b.WriteByte('\b')
			case '\\', '"':
				b.WriteByte(e)
			default:
				return "", fmt.Errorf("unknown escape %q", e)
			}
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", errors.New("a quote is not closed")
	}
	return b.String(), nil
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' }

// WithoutSecrets is the configuration without what carries or fetches a
// credential, and without includes: the included file may hold one (that is
// where actions/checkout v6 puts its token), and with the file out of the
// sandbox's reach every git command would fail.
func (c Config) WithoutSecrets() []byte {
	type cut struct {
		start, end int
		instead    string
	}
	var cuts []cut
	for _, h := range c.sections {
		if h.secretSection() {
			cuts = append(cuts, cut{h.start, h.end, ""})
		}
	}
	for _, v := range c.Vars {
		if v.carriesSecret() {
			cuts = append(cuts, cut{v.start, v.end, ""})
		} else if u, ok := withoutUser(v.Value); ok {
			cuts = append(cuts, cut{v.valueStart, v.valueEnd, quoteValue(u)})
		}
	}
	slices.SortFunc(cuts, func(a, b cut) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, x := range cuts {
		out = append(append(out, c.raw[at:x.start]...), x.instead...)
		at = x.end
	}
	return append(out, c.raw[at:]...)
}

// secretSection reports whether nothing of a section may be seen.
func (v Variable) secretSection() bool {
	switch v.Section {
	case "include", "includeif", "credential":
		return true
	}
	_, has := withoutUser(v.Subsection)
	return has
}

// carriesSecret reports whether a variable holds, or names, what authenticates.
func (v Variable) carriesSecret() bool {
	switch {
	case v.secretSection():
		return true
	case v.Section == "http" && (v.Key == "extraheader" || v.Key == "cookiefile"):
		return true
	case v.Section == "core" && v.Key == "sshcommand":
		return true
	}
	// core.askPass, sendemail.smtpPass, imap.pass, github.token and what tools of all
	// kinds keep here.
	for _, word := range []string{"pass", "token", "secret", "apikey", "authorization"} {
		if strings.Contains(v.Key, word) {
			return true
		}
	}
	return false
}

// withoutUser takes user and password out of an http(s) URL; false when it has
// none, or is no such URL.
func withoutUser(s string) (string, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return s, false
	}
	host, path, slash := strings.Cut(rest, "/")
	i := strings.LastIndexByte(host, '@')
	if i < 0 {
		return s, false
	}
	if u, err := url.Parse(s); err == nil && u.User == nil {
		return s, false
	}
	clean := scheme + "://" + host[i+1:]
	if slash {
		clean += "/" + path
	}
	return clean, true
}

func quoteValue(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s) + `"`
}
