package secretscan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	minValue = 8  // bytes; shorter known values are not looked for
	maxWhole = 96 // characters, normalized; longer values are looked for in parts
	part     = 48 // characters of such a part
)

// form is one shape of a known value, as the view shows it.
type form struct {
	text  string
	value int    // index of the value
	how   string // "in base64"; "" for the value itself
	// need is how many characters of the text have to be found, in pieces of
	// gram or more; 0: only the whole counts.
	need int
}

// guessable are values that ordinary files hold by accident: words, words with
// a short number, numbers. A password of that kind protects nothing, and a run
// must not be blocked by each "postgres".
func guessable(value string) bool {
	word := strings.TrimRight(value, "0123456789")
	number := len(value) - len(word)
	for _, r := range word {
		if (r < 'a' || r > 'z') && (r != '-' && r != '_' && r != '.' && r != ' ') {
			return false
		}
	}
	switch {
	case word == "":
		return number < 12 || strings.Contains("01234567890123456789", value)
	case number > 3:
		return false
	}
	return len(value) < 16
}

// formsOf lists what a normalized content is searched for. index is the value's number.
func formsOf(value string, index int) []form {
	var all []form
	for _, p := range parts(value) {
		all = append(all, formsOfPart(p, index)...)
	}
	return slices.DeleteFunc(all, func(f form) bool { return len(f.text) < gram })
}

// parts are what of a value is enough to give it away: all of a short one, of
// others the random lines, cut where they are long. The first part of a long
// line is left out, because the head of a token is often public.
func parts(value string) []string {
	value = strings.TrimSpace(value)
	if !strings.ContainsAny(value, "\r\n") && len(normalized(value)) <= maxWhole {
		if text := normalized(value); !tellsEnough(text) {
			return nil
		}
		return []string{value}
	}
	var all []string
	for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		text := strings.TrimSpace(line)
		if len(text) > maxWhole {
			text = text[part:]
		}
		for text != "" {
			p := text[:min(len(text), part)]
			text = text[len(p):]
			if random(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// tellsEnough says that a text without its punctuation is still the value's
// own.
func tellsEnough(text string) bool {
	digits, upper, lower := count(text)
	switch {
	case len(text) < gram:
		return false
	case digits == len(text):
		return len(text) >= 16
	case digits > 0:
		return upper+lower > 0
	}
	return len(text) >= 16 && upper >= 4 && lower >= 4 // no two words in capitals
}

// random says that a text is no prose and no code: so that it can be looked for
// by itself.
func random(line string) bool {
	text := normalized(line)
	digits, upper, lower := count(text)
	if len(text) < 16 || digits < 2 || upper+lower < 2 || entropy(text) < 3 {
		return false
	}
	run, longest := 0, 0
	for _, r := range line {
		if r < 'a' || r > 'z' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest <= 7
}

func count(text string) (digits, upper, lower int) {
	for i := range len(text) {
		switch b := text[i]; {
		case b <= '9':
			digits++
		case b <= 'Z':
			upper++
		default:
			lower++
		}
	}
	return digits, upper, lower
}

// entropy is Shannon's, in bits for each character.
func entropy(text string) float64 {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	bits := 0.0
	for _, n := range counts {
		f := float64(n) / float64(len(text))
		bits -= f * math.Log2(f)
	}
	return bits
}

func formsOfPart(value string, index int) []form {
	var all []form
	add := func(text, how string) form {
		f := form{text: normalized(text), value: index, how: how}
		all = append(all, f)
		return f
	}
	inPieces := func() { // of the form that was added last
		f := &all[len(all)-1]
		if len(f.text) >= 2*gram {
			f.need = max(2*gram, len(f.text)/2)
		}
	}
	plain := normalized(value)
	pieces := len(plain) >= 20 && entropy(plain) >= 3 && !sequence(plain)
	add(value, "")
	if pieces {
		inPieces()
	}
	add(reversed(value), "reversed")
	add(rot13(value), "in ROT13")
	for _, core := range cores(value) {
		add(core, "in base64")
		if pieces {
			inPieces()
		}
	}
	digits := hex.EncodeToString([]byte(value))
	for _, d := range []string{digits, strings.ToUpper(digits)} {
		add(d, "in hex")
		if pieces {
			inPieces()
		}
		add(separated(d), "in hex")
	}
	b32 := strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(value)), "=")
	b32 = b32[:len(value)*8/5]
	add(b32, "in base32")
	add(strings.ToLower(b32), "in base32")
	var decimal strings.Builder
	for i := range len(value) {
		fmt.Fprintf(&decimal, "%d ", value[i])
	}
	add(decimal.String(), "as numbers")
	return all
}

// sequence says that a part of a text is one of the alphabet's or of the digits':
// tables of characters in ordinary files hold such a piece.
func sequence(text string) bool {
	run := 1
	for i := 1; i < len(text) && run < gram; i++ {
		run++
		if text[i] != text[i-1]+1 {
			run = 1
		}
	}
	return run >= gram
}

// cores are the characters of a value's base64 that stay the same wherever the
// value stands in a longer text.
func cores(value string) []string {
	var all []string
	for offset, first := range []int{0, 2, 3} {
		text := base64.StdEncoding.EncodeToString(append(make([]byte, offset), value...))
		if last := (offset + len(value)) * 8 / 6; first < last {
			all = append(all, text[first:last])
		}
	}
	return all
}

// separated is hex as a list of numbers, without the first 0x.
func separated(digits string) string {
	var b strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			b.WriteString("0x")
		}
		b.WriteString(digits[i : i+2])
	}
	return b.String()
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
