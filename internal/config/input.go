package config

import "github.com/org/ralph-action/internal/config/input"

// Input is a row of the table.
type Input = input.Input

// The kinds of inputs, as the table names them.
const (
	Text          = input.Text
	Line          = input.Line
	Path          = input.Path
	Bool          = input.Bool
	Count         = input.Count
	Dollars       = input.Dollars
	Duration      = input.Duration
	Size          = input.Size
	Choice        = input.Choice
	Words         = input.Words
	Lines         = input.Lines
	Names         = input.Names
	GuardrailList = input.GuardrailList
	Identity      = input.Identity
	Secret        = input.Secret
)

// Inputs are all inputs, in the order in which they are documented.
func Inputs() []Input { return inputsOf(table()) }

func inputsOf(rows []row) []Input {
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
