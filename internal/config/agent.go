package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// address is the URL of an API. A password in it would stand in command lines.
func (l *loader) address(v value) string {
	s := l.line(v)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		l.refuse(v, "give an address such as https://models.example.com/v1")
	case u.User != nil:
		l.Report(v.Where, "it holds a name or a password: give the key in api-key")
	default:
		if u.Scheme == "http" && !loopback(u.Hostname()) {
			l.warn(v.Where, "the agent's key and the code travel in the clear: give an address with https")
		}
		return s
	}
	return ""
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// inlineOrFile is a text, or what the file holds whose name stands behind the
// prefix.
func (l *loader) inlineOrFile(v value, prefix string) string {
	name, named := strings.CutPrefix(strings.TrimSpace(v.Text), prefix)
	if !named {
		return v.Text
	}
	return l.fileText(v, name)
}

// fileText reads a text file that a setting names.
func (l *loader) fileText(v value, name string) string {
	name = strings.TrimSpace(name)
	data, problem := l.files.Read(name, v.from == fromFlag, v.in.Max)
	switch {
	case problem != "":
		l.Report(v.Where, "%s %s", l.Quote(name), problem)
	case strings.TrimSpace(string(data)) == "":
		l.Report(v.Where, "%s is empty", l.Quote(name))
	default:
		return string(data)
	}
	return ""
}

// object is a JSON object, given as it is or as the name of a file.
func (l *loader) object(v value) string {
	s := strings.TrimSpace(v.Text)
	if s == "" {
		return ""
	}
	what := "it"
	if !strings.HasPrefix(s, "{") {
		name := strings.TrimPrefix(s, "@")
		what = l.Quote(name)
		if s = strings.TrimSpace(l.fileText(v, name)); s == "" {
			return ""
		}
	}
	var any map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &any); err != nil {
		l.Report(v.Where, "%s is no JSON object: %s", what, l.Scrub(jsonCause(s, err)))
		return ""
	}
	return s
}

// filters are lines of NAME: JQ.
func (l *loader) filters(v value) map[string]string {
	filters := map[string]string{}
	for _, line := range l.lines(v) {
		name, expression, ok := strings.Cut(line, ":")
		name, expression = strings.TrimSpace(name), strings.TrimSpace(expression)
		_, noWord := v.in.Word(name)
		switch _, twice := filters[name]; {
		case !ok || name == "" || noWord != "" || expression == "":
			l.Report(v.Where, "%s is not allowed: give one NAME: JQ per line, such as text: select(.type==\"text\") | .text", l.Quote(line))
		case twice:
			l.Report(v.Where, "%s is there twice", l.Quote(name))
		default:
			filters[name] = expression
		}
	}
	return filters
}

// jsonCause says where a JSON text is wrong.
func jsonCause(text string, err error) string {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind): // its text is for programmers
		offset, err = kind.Offset, fmt.Errorf("no %s belongs there", kind.Value)
	}
	return fmt.Sprintf("line %d: %v", 1+strings.Count(text[:min(int(offset), len(text))], "\n"), err)
}
