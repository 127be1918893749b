package input

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Each of these reads a value within the bounds of its input, or says what would be right, as
// the rest of a sentence.

// Count reads a whole number.
func (in Input) Count(s string) (n int64, want string) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case n == 0 && err == nil && in.Min > 0 && in.Default == "":
		return 0, "leave it empty for no limit"
	case err != nil || n < in.Min || n > in.Max:
		return 0, fmt.Sprintf("give a whole number from %d to %d%s", in.Min, in.Max, in.zeroMeans())
	}
	return n, ""
}

func (in Input) zeroMeans() string {
	if in.Zero == "" {
		return ""
	}
	return " (0: " + in.Zero + ")"
}

// Dollars reads an amount without going through floating point.
func (in Input) Dollars(s string) (n ralph.MicroUSD, want string) {
	switch n, ok := micro(s); {
	case ok && n == 0:
		return 0, "leave it empty for no limit"
	case !ok || n < in.Min || n > in.Max:
		return 0, fmt.Sprintf("give dollars as a plain number such as 5 or 2.50, above 0 and at most %d", in.Max/int64(ralph.USD))
	default:
		return ralph.MicroUSD(n), ""
	}
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

// Duration reads a duration. A number without a unit is refused rather than guessed: workflows count
// timeouts in minutes, agents in seconds or milliseconds.
func (in Input) Duration(s string) (d time.Duration, want string) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && isNumber(s):
		return 0, fmt.Sprintf("say the unit: %ss, %sm or %sh", s, s, s)
	case err != nil:
		return 0, "give a duration such as 90s, 15m or 1h30m" + in.zeroMeans()
	case d == 0 && in.Zero != "":
		return 0, ""
	case d < time.Duration(in.Min) || d > time.Duration(in.Max):
		return 0, fmt.Sprintf("give a duration from %s to %s%s", short(in.Min), short(in.Max), in.zeroMeans())
	}
	return d, ""
}

func isNumber(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f > 0 && !math.IsInf(f, 0) && len(s) <= 12
}

// short prints whole hours and seconds the way people type them.
func short(ns int64) string {
	if ns%int64(time.Hour) == 0 && ns > 0 {
		return strconv.FormatInt(ns/int64(time.Hour), 10) + "h"
	}
	return time.Duration(ns).String()
}

// Size reads a number of bytes such as 500MB or 2GiB. A
// number without a unit is refused rather than guessed: people mean megabytes as
// often as bytes.
func (in Input) Size(s string) (n int64, want string) {
	if s == "0" && in.Zero != "" {
		return 0, ""
	}
	for _, u := range units() {
		number, ok := cutSuffixFold(s, u.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(number, "eExXpP_+-") {
			break
		}
		n := f * float64(u.size)
		if n < float64(in.Min) || n > float64(in.Max) {
			return 0, fmt.Sprintf("give a size from %s to %s%s", bytesText(in.Min), bytesText(in.Max), in.zeroMeans())
		}
		return int64(n), ""
	}
	if isNumber(s) {
		return 0, fmt.Sprintf("say the unit: %sMB or %sGB", s, s)
	}
	return 0, "give a size such as 500MB or 2GB" + in.zeroMeans()
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n > 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// units are what sizes are written with, the longest first.
func units() []struct {
	name string
	size int64
} {
	return []struct {
		name string
		size int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	}
}

// bytesText prints a size as people type it.
func bytesText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
