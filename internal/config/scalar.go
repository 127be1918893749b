package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// refuse notes that v's value is wrong; format says what would be right.
func (l *loader) refuse(v value, format string, args ...any) {
	l.Report(v.where, "%s is not allowed: %s", l.Quote(strings.TrimSpace(v.text)), fmt.Sprintf(format, args...))
}

// tooLong checks what holds for every text: its length, and that it is text.
func (l *loader) tooLong(v value) bool {
	size, unit, limit := len(v.text), "bytes", int64(64<<10)
	switch v.in.Kind {
	case Text:
		limit = v.in.Max
	case Line, Identity:
		size, unit, limit = utf8.RuneCountInString(v.text), "characters", v.in.Max
	case Words:
		limit = 1 << 20 // an argument may be a prompt
	case Secret:
		return false // it has a check of its own
	}
	if int64(size) > limit {
		l.Report(v.where, "%d %s are too many: at most %d", size, unit, limit)
		return true
	}
	if !utf8.ValidString(v.text) || strings.ContainsRune(v.text, 0) {
		l.Report(v.where, "is binary: give UTF-8 text without NUL bytes")
		return true
	}
	return false
}

func (l *loader) text(v value) string { return v.text }

// line is text on one line without control characters.
func (l *loader) line(v value) string {
	s := strings.TrimSpace(v.text)
	if bad := firstControl(s); bad != "" {
		l.refuse(v, "give one line without %s", bad)
		return ""
	}
	return s
}

func (l *loader) boolean(v value) bool {
	switch strings.TrimSpace(v.text) {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	l.refuse(v, "give true or false")
	return false
}

// choice is one of the input's values, in the table's spelling.
func (l *loader) choice(v value) string {
	s := strings.TrimSpace(v.text)
	for _, e := range v.in.Enum {
		if strings.EqualFold(s, e) {
			return e
		}
	}
	if len(v.in.Enum) == 1 {
		l.refuse(v, "give %s, the only one there is", v.in.Enum[0])
		return ""
	}
	last := len(v.in.Enum) - 1
	l.refuse(v, "give %s or %s%s", strings.Join(v.in.Enum[:last], ", "), v.in.Enum[last], l.DidYouMean(s, v.in.Enum))
	return ""
}

func (l *loader) count(v value) int64 {
	s := strings.TrimSpace(v.text)
	n, err := strconv.ParseInt(s, 10, 64)
	if n == 0 && err == nil && v.in.Min > 0 && v.in.Default == "" {
		l.refuse(v, "leave it empty for no limit")
		return 0
	}
	if err != nil || n < v.in.Min || n > v.in.Max {
		l.refuse(v, "give a whole number from %d to %d%s", v.in.Min, v.in.Max, zeroMeans(v.in))
		return 0
	}
	return n
}

func zeroMeans(in Input) string {
	if in.Zero == "" {
		return ""
	}
	return " (0: " + in.Zero + ")"
}

// dollars reads an amount without going through floating point.
func (l *loader) dollars(v value) ralph.MicroUSD {
	s := strings.TrimSpace(v.text)
	n, ok := micro(s)
	switch {
	case ok && n == 0:
		l.refuse(v, "leave it empty for no limit")
	case !ok || n < v.in.Min || n > v.in.Max:
		l.refuse(v, "give dollars as a plain number such as 5 or 2.50, above 0 and at most %d", v.in.Max/dollar)
	default:
		return ralph.MicroUSD(n)
	}
	return 0
}

// micro reads a decimal number with at most six decimals, in millionths.
func micro(s string) (int64, bool) {
	whole, part, point := strings.Cut(s, ".")
	if len(whole) > 10 || len(part) > 6 || whole == "" && part == "" || point && part == "" {
		return 0, false
	}
	digits := whole + part + strings.Repeat("0", 6-len(part))
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

func (l *loader) duration(v value) time.Duration {
	d, want := span(strings.TrimSpace(v.text), v.in)
	if want != "" {
		l.refuse(v, "%s", want)
	}
	return d
}

// span reads a duration within the bounds of in, or says what would be right.
// A number without a unit is refused rather than guessed: workflows count
// timeouts in minutes, agents in seconds or milliseconds.
func span(s string, in Input) (time.Duration, string) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && isNumber(s):
		return 0, fmt.Sprintf("say the unit: %ss, %sm or %sh", s, s, s)
	case err != nil:
		return 0, "give a duration such as 90s, 15m or 1h30m" + zeroMeans(in)
	case d == 0 && in.Zero != "":
		return 0, ""
	case d < time.Duration(in.Min) || d > time.Duration(in.Max):
		return 0, fmt.Sprintf("give a duration from %s to %s%s", short(in.Min), short(in.Max), zeroMeans(in))
	}
	return d, ""
}

func isNumber(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f > 0 && !math.IsInf(f, 0) && len(s) <= 12
}

// short prints whole hours and seconds the way people type them.
func short(ns int64) string {
	if ns%hour == 0 && ns > 0 {
		return strconv.FormatInt(ns/hour, 10) + "h"
	}
	return time.Duration(ns).String()
}

// secret wraps a token. Its value is never shown, not even when it is wrong.
func (l *loader) secret(v value) secret.String {
	s := strings.TrimSpace(v.text)
	for _, r := range s {
		if r <= ' ' || r > '~' {
			l.Report(v.where, "the token holds white space or characters no token has: was it pasted with something else?")
			return secret.String{}
		}
	}
	if len(s) > 4096 {
		l.Report(v.where, "%d bytes are too long for a token: at most 4096", len(s))
		return secret.String{}
	}
	return secret.New(s)
}
