package config

import "slices"

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

// Input describes one input of the action. It is also a flag of the desk
// commands and a key of the configuration files, unless it says otherwise.
type Input struct {
	Name        string
	Aliases     []string // other names it is accepted by, everywhere
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
	NoFlag      bool     // not a flag: anybody on the machine can read argv
	NoFile      bool     // not a key of the configuration files
}

// called says that name is the input's, or another name of it.
func (in Input) called(name string) bool {
	return in.Name == name || slices.Contains(in.Aliases, name)
}

// Inputs are all inputs, in the order in which they are documented.
func Inputs() []Input {
	rows := table()
	list := make([]Input, len(rows))
	for i, r := range rows {
		list[i] = r.Input
	}
	return list
}

// row is an input and what reads it into a Config.
type row struct {
	Input
	set func(*loader, value)
}
