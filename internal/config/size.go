package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size reads a number of bytes such as 500MB or 2GiB.
func (l *loader) size(v value) int64 {
	n, want := bytesOf(strings.TrimSpace(v.text), v.in)
	if want != "" {
		l.refuse(v, "%s", want)
	}
	return n
}

// bytesOf reads a size within the bounds of in, or says what would be right. A
// number without a unit is refused rather than guessed: people mean megabytes as
// often as bytes.
func bytesOf(s string, in Input) (int64, string) {
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
			return 0, fmt.Sprintf("give a size from %s to %s%s", bytesText(in.Min), bytesText(in.Max), zeroMeans(in))
		}
		return int64(n), ""
	}
	if isNumber(s) {
		return 0, fmt.Sprintf("say the unit: %sMB or %sGB", s, s)
	}
	return 0, "give a size such as 500MB or 2GB" + zeroMeans(in)
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n > 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}
