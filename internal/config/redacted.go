package config

import (
	"fmt"
	"strings"
)

// setting is one value for Redacted: already cut, escaped and without secrets,
// because %+v prints unexported fields.
type setting struct{ name, text, source string }

func show(v value) setting {
	text := strings.TrimSpace(v.text)
	switch v.in.Kind {
	case Secret:
		text = "***"
	case Choice, Count, Dollars, Duration, Size, Bool:
		text = visible(text)
	default:
		text = quote(text)
	}
	return setting{v.in.Name, text, visible(v.source())}
}

// Redacted lists what is in force and where it came from, one input per line.
// Secrets are hidden and long texts are cut; what a user wrote into a command
// line is shown, so it goes through the redactor like all output.
func (c Config) Redacted() string {
	var b strings.Builder
	for _, s := range c.shown {
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.name, s.text, s.source)
	}
	return b.String()
}
