package actions

import (
	"slices"
	"strings"
	"testing"
)

func TestParseEnv(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		want  []string
		wrong string
	}{
		{"", nil, ""},
		{"A=b\nC=d=e\n\nF=\n", []string{"A=b", "C=d=e", "F="}, ""},
		{"A<<EOF\none\n\ntwo=<<\nEOF\nB=c", []string{"A=one\n\ntwo=<<", "B=c"}, ""},
		{"A<<EOF\nEOF\n", []string{"A="}, ""},
		{"A=x<<EOF\n", []string{"A=x<<EOF"}, ""},
		{"A=b\r\n", []string{"A=b\r"}, ""},
		{"A<<EOF\nx\n", nil, `line 1 begins a value that has no end: a line with nothing but "EOF"`},
		{"A=b\nA<<\nx\n", nil, "line 2 is neither"},
		{"A=b\njust words\n", nil, "line 2 is neither"},
		{"=b\n", nil, "line 1: before = or <<"},
		{"A B=c\n", nil, "line 1: before = or <<"},
		{"1A=c\n", nil, "line 1: before = or <<"},
		{"A-B<<EOF\nx\nEOF", nil, "line 1: before = or <<"},
		{"A=b\x00c", nil, "line 1: the value of A contains a NUL"},
	} {
		got, err := ParseEnv(tc.text)
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("ParseEnv(%q) = %q, %v, want %q, %q", tc.text, got, err, tc.want, tc.wrong)
		}
	}
}

func FuzzParseEnv(f *testing.F) {
	for _, seed := range []string{"A=b\n", "A<<EOF\none\ntwo\nEOF\nB=c\n", "A<<EOF\n", "<<\n", "=\n", "A=b\x00", "A<<B<<C\nB<<C\n", "PATH=/x:$PATH\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseEnv(text)
		if err != nil {
			if len(all) > 0 || strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("ParseEnv(%q) = %q, %q", text, all, err)
			}
			return
		}
		var want []string
		read, ok := entries(text)
		for _, e := range read {
			want = append(want, e.name+"="+e.value)
		}
		if !ok || !slices.Equal(all, want) {
			t.Errorf("ParseEnv(%q) = %q, and the runner reads %q", text, all, want)
		}
	})
}
