package config

import (
	"fmt"
	"strings"
)

// Table is the reference of the inputs as a Markdown table.
func Table() string {
	var b strings.Builder
	b.WriteString("| Input | Default | What it does |\n| --- | --- | --- |\n")
	for _, in := range Inputs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", in.Name, cell(in.defaultCell()), cell(in.document()))
	}
	return b.String()
}

// OutputsTable is the reference of the outputs as a Markdown table.
func OutputsTable() string {
	var b strings.Builder
	b.WriteString("| Output | What it says |\n| --- | --- |\n")
	for _, out := range Outputs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", out.Name, cell(out.Help))
	}
	return b.String()
}

// cell keeps a text within one cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func (in Input) defaultCell() string {
	if in.Default != "" {
		return "`" + in.Default + "`"
	}
	return in.DefaultDoc
}

// document is the help and what the value may be.
func (in Input) document() string {
	if bounds := in.bounds(); bounds != "" {
		return in.Help + " " + bounds
	}
	return in.Help
}

// bounds says in a sentence what a number or duration may be.
func (in Input) bounds() string {
	var low, high string
	switch in.Kind {
	case Count:
		low, high = fmt.Sprint(in.Min), fmt.Sprint(in.Max)
	case Dollars:
		return fmt.Sprintf("Above 0, at most %d.", in.Max/dollar)
	case Duration:
		low, high = short(in.Min), short(in.Max)
	case Size:
		low, high = bytesText(in.Min), bytesText(in.Max)
	default:
		return ""
	}
	zero := ""
	if in.Zero != "" {
		zero = "; 0: " + in.Zero
	}
	return fmt.Sprintf("From %s to %s%s.", low, high, zero)
}
