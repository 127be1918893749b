package config

import "fmt"

// Bounds says in a sentence what a number, a duration or a size may be; empty: anything.
func (in Input) Bounds() string {
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
