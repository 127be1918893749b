package taskdir

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzLastWait(f *testing.F) {
	for _, seed := range []string{
		`{"ts":"2026-02-05T10:00:00Z","type":"wait_without_restart","body":"Waiting for user input"}` + "\n",
		`{"Type":"wait_without_restart","Body":null}`,
		"half a line\n" + `{"type":"wait_without_restart","body":{"a":[1]}}` + "\r\n",
		`{"type":"wait_without_restart","body":"\u202e\ud800\u001b[2J` + "\xff\"}\n{",
		`{"type":"INFO","body":"wait_without_restart"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		why, ok := lastWait(data)
		if !ok && why != "" {
			t.Errorf("lastWait(%q) = %q, false", data, why)
		}
		if utf8.RuneCountInString(why) > maxWhy || !utf8.ValidString(why) || strings.ContainsFunc(why, unicode.IsControl) {
			t.Errorf("lastWait(%q) = %q, want one short line", data, why)
		}
		if again, still := lastWait(append(append([]byte("{\n"), data...), "\n}"...)); again != why || still != ok {
			t.Errorf("lastWait(%q) with nonsense around it = %q, %v, want %q, %v", data, again, still, why, ok)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("two\nlines", 5)
	f.Add(strings.Repeat("\x80", 20), 7)
	f.Add("é", 1)
	f.Add("é😀\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 1 || most > 1000 {
			return
		}
		got := cut(text, most)
		if len(got) > most || !strings.HasPrefix(text, got) || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("cut(%q, %d) = %q", text, most, got)
		}
		got = oneLine(text, most)
		if utf8.RuneCountInString(got) > most || strings.ContainsFunc(got, unicode.IsControl) || strings.TrimSpace(got) != got {
			t.Errorf("oneLine(%q, %d) = %q", text, most, got)
		}
	})
}
