package config

import (
	"fmt"
	"strings"
)

// setting is one value as it was given, for Redacted.
type setting struct {
	in     Input
	text   string
	source string
}

// Redacted lists what is in force and where it came from, one input per line.
// Secrets are hidden and long texts are cut; what a user wrote into a command
// line is shown, so it goes through the redactor like all output.
func (c Config) Redacted() string {
	var b strings.Builder
	for _, s := range c.shown {
		shown := quote(strings.TrimSpace(s.text))
		switch s.in.Kind {
		case Secret:
			shown = "***"
		case Choice, Count, Dollars, Duration, Bool:
			shown = visible(strings.TrimSpace(s.text))
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.in.Name, shown, visible(s.source))
	}
	return b.String()
}
