package config

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/lib/printable"
)

// setting is one value for Redacted: already cut, escaped and without secrets,
// because %+v prints unexported fields.
type setting struct{ name, text, source string }

func show(v value) setting {
	text := strings.TrimSpace(v.Text)
	switch v.in.Kind {
	case Secret:
		text = "***"
	case Choice, Count, Dollars, Duration, Size, Bool:
		text = printable.Visible(text)
	default:
		text = problem.Quote(text)
	}
	return setting{v.in.Name, text, printable.Visible(v.source())}
}

// defaultSource is where a value comes from that was not given.
const defaultSource = "default"

// defaultsWidth is how long a line of defaults gets.
const defaultsWidth = 110

// Redacted lists what is in force: first what was given and where it came from, one
// input per line, then the defaults, several in a line. Secrets are hidden and long
// texts are cut; what a user wrote into a command line is shown, so it goes through
// the redactor like all output.
func (c Config) Redacted() string {
	var given, defaults strings.Builder
	width := 0
	for _, s := range c.shown {
		if s.source != defaultSource {
			fmt.Fprintf(&given, "%s: %s (%s)\n", s.name, s.text, s.source)
			continue
		}
		text := s.name + "=" + s.text
		switch {
		case width == 0:
			defaults.WriteString("defaults: ")
		case width+len(text) > defaultsWidth:
			defaults.WriteString("\ndefaults: ")
			width = 0
		default:
			defaults.WriteString(", ")
		}
		defaults.WriteString(text)
		width += len(text) + len(", ")
	}
	if width > 0 {
		defaults.WriteByte('\n')
	}
	return given.String() + defaults.String()
}
