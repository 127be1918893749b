package input

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Line reads text on one line without control characters.
func (in Input) Line(s string) (line, want string) {
	if bad := FirstControl(s); bad != "" {
		return "", "give one line without " + bad
	}
	return s, ""
}

// lineOf reads a line that satisfies ok; want says what would.
func (in Input) lineOf(s string, ok func(string) bool, want string) (string, string) {
	line, bad := in.Line(s)
	if bad == "" && line != "" && !ok(line) {
		return "", want
	}
	return line, bad
}

// Bool reads true or false.
func (in Input) Bool(s string) (yes bool, want string) {
	switch s {
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	}
	return false, "give true or false"
}

// Model reads the name of a model, which goes into the agent's argv.
func (in Input) Model(s string) (model, want string) {
	ok := func(s string) bool { return !strings.HasPrefix(s, "-") && !strings.ContainsAny(s, " \t") }
	return in.lineOf(s, ok, "give the name of a model, without spaces and not beginning with -")
}

// Token reads what stands between the tags of the completion marker.
func (in Input) Token(s string) (token, want string) {
	ok := func(s string) bool { return !strings.ContainsAny(s, "<>") }
	return in.lineOf(s, ok, "give the word that stands inside the tag, without < and >")
}

// SlashCommand reads a word that begins a line of a comment.
func (in Input) SlashCommand(s string) (command, want string) {
	ok := func(s string) bool { return !strings.ContainsAny(s, " \t<>`") }
	return in.lineOf(s, ok, "give one word such as /ralph")
}

var (
	wordPattern       = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	versionPattern    = lazyregexp.New(`^(latest|v?[0-9]+(\.[0-9]+)*([-+][A-Za-z0-9.-]+)?)$`)
	repositoryPattern = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/[A-Za-z0-9._-]{1,100}$`)
)

// Word reads one word that can be no option and no path.
func (in Input) Word(s string) (word, want string) {
	return in.lineOf(s, wordPattern.MatchString, "give one word of letters, digits, dots and dashes")
}

// Version reads an exact version of an npm package, or the newest one.
func (in Input) Version(s string) (version, want string) {
	version, want = in.lineOf(s, versionPattern.MatchString, "give an exact version such as 2.1.329, or latest")
	return strings.TrimPrefix(version, "v"), want
}

// Repository reads owner/name.
func (in Input) Repository(s string) (repository, want string) {
	_, name, _ := strings.Cut(s, "/")
	if !repositoryPattern.MatchString(s) || strings.Trim(name, ".") == "" {
		return "", "give owner/name, such as octo-org/hello"
	}
	return s, ""
}

// FirstControl names the first character of s that does not belong on a line:
// control characters, and the invisible ones that reorder or hide text.
func FirstControl(s string) string {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r':
			return "a line break"
		case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Cs):
			return fmt.Sprintf("the control character %U", r)
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return fmt.Sprintf("the invisible character %U", r)
		}
	}
	return ""
}
