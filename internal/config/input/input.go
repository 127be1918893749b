// Package input is what an input is: its names, its kind and its bounds, and how a value is
// read within them. Pure.
package input

import (
	"slices"
	"strings"
)

// Kind is the type of an input's value.
type Kind string

// The kinds of inputs.
const (
	Text          Kind = "text"
	Line          Kind = "line" // text without line breaks
	Path          Kind = "path"
	Bool          Kind = "true|false"
	Count         Kind = "number"     // a whole number
	Dollars       Kind = "dollars"    // up to six decimals
	Duration      Kind = "duration"   // Go syntax; everything but 0 has a unit
	Size          Kind = "size"       // of bytes; everything but 0 has a unit
	Choice        Kind = "choice"     // one of Enum
	Words         Kind = "words"      // split as a shell would
	Lines         Kind = "lines"      // one each; blank lines and # comments are skipped
	Names         Kind = "names"      // separated by commas or line ends
	GuardrailList Kind = "guardrails" // lines, or a YAML list
	Identity      Kind = "person"     // Name <email>
	Secret        Kind = "secret"     // never shown
)

// Input describes one setting. It is an input of the action, a flag of the local
// commands and a key of the configuration files, unless it says otherwise.
type Input struct {
	Name        string
	Aliases     []string // other names of the flag and the key; of the input, see ActionNames
	Group       string   // what it is about, a heading of --help
	Short       rune     // of the flag; 0: none
	Default     string   // of the action in mode run, as a user would type it; empty: none; see Defaults
	DefaultDoc  string   // what an empty Default stands for; empty: nothing
	Help        string   // for a table cell and a line of --help
	Kind        Kind
	Enum        []string // Choice only
	Min, Max    int64    // Count: number; Dollars: micro-dollars; Duration: nanoseconds; Size: bytes; Line, Identity: characters; Text: bytes; lists: entries
	Zero        string   // what 0 means, for Count, Duration and Size; empty: nothing special
	Placeholder string   // of the flag's value in --help
	NoAction    bool     // not an input of the action
	NoFlag      bool     // not a flag: anybody on the machine can read argv
	NoFile      bool     // not a key of the configuration files
	Guarded     bool     // a file of the repository cannot set it where the agent is sandboxed
	Core        bool     // most users need it: it stands in the README and in the short --help
}

// ActionNames are the names by which the action takes the input. Aliases are among
// them only where it can be given in no other way.
func (in Input) ActionNames() []string {
	switch {
	case in.NoAction:
		return nil
	case in.NoFlag && in.NoFile:
		return in.Names()
	}
	return []string{in.Name}
}

// Names are all names of the input.
func (in Input) Names() []string { return append([]string{in.Name}, in.Aliases...) }

// Called reports whether name is one of the input's.
func (in Input) Called(name string) bool { return slices.Contains(in.Names(), name) }

// Blank reports whether a text stands for nothing given. White space counts as
// nothing except for the task, where it is more likely a mistake.
func (in Input) Blank(text string) bool {
	if in.Name == "prompt" {
		return text == ""
	}
	return strings.TrimSpace(text) == ""
}

// IsList reports whether the value has entries.
func (in Input) IsList() bool {
	switch in.Kind {
	case Words, Lines, Names, GuardrailList:
		return true
	}
	return false
}
