// Package words says in a few words what an iteration came to, and how much of
// everything there was: the documents and the logs speak alike. What it returns is
// plain text; foreign text in it is named as such.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Count shortens a number as people read it: 999, 1.2K, 45K, 1.2M.
func Count(n int64) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	value, unit := float64(n), ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if value < 999.5 || (unit == "" && n < 1000) {
			break
		}
		value, unit = value/1000, next
	}
	if unit == "" {
		return strconv.FormatInt(n, 10)
	}
	if value < 9.95 || (unit != "K" && value < 99.95) {
		return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + unit
	}
	return strconv.FormatFloat(value, 'f', 0, 64) + unit
}

// Plural is "1 file", "2 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Span is a duration as people read it: 320ms, 4.2s, 41s, 6m7s, 1h2m.
func Span(d time.Duration) string {
	if d > time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", max(1, d.Milliseconds()))
	case d < 9950*time.Millisecond:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + "s"
	}
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
}

// Stamp is a time as the session log and the page show it.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// tokensIn and tokensOut never show an unknown count as nothing.
func tokensIn(t ralph.Tokens) string  { return knownCount(t.In(), t.Unknown) }
func tokensOut(t ralph.Tokens) string { return knownCount(t.Output, t.Unknown) }

func knownCount(n int64, unknown bool) string {
	switch {
	case !unknown:
		return Count(n)
	case n == 0:
		return "unknown"
	default:
		return "≥ " + Count(n)
	}
}

// TokenPair is "12K / 3.4K", or one word when nothing is known.
func TokenPair(t ralph.Tokens) string {
	if t.Unknown && t.Total() == 0 {
		return "unknown"
	}
	return tokensIn(t) + " / " + tokensOut(t)
}

// Tokens is "1.2M in (850K cached) / 45K out".
func Tokens(t ralph.Tokens) string {
	if t.Unknown && t.Total() == 0 {
		return "unknown"
	}
	cached := ""
	if t.CacheRead > 0 {
		cached = " (" + Count(t.CacheRead) + " cached)"
	}
	return tokensIn(t) + " in" + cached + " / " + tokensOut(t) + " out"
}

// Since stands behind what leaves out all that came before the run was resumed; empty
// unless it was.
func Since(resumed bool) string {
	if resumed {
		return " since it was resumed"
	}
	return ""
}

// Resumed is a total with the cost before the run was resumed.
func Resumed(total string, before ralph.Cost) string {
	if before.Unknown && before.Amount == 0 {
		return total + ", with an unknown cost before it was resumed"
	}
	return fmt.Sprintf("%s, with the %s before it was resumed", total, before)
}

// Cost keeps an unknown cost from reading as the name of a thing.
func Cost(c ralph.Cost) string {
	if c.Unknown && c.Amount == 0 {
		return "cost unknown"
	}
	return c.String()
}
