package scm_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
)

// 001-29
func TestMessage(t *testing.T) {
	t.Parallel()
	redact := secret.NewRedactor(secret.New("hunter2hunter2"))
	for _, tc := range []struct{ name, answer, want string }{
		{"one line", "Fix the sum", "Fix the sum"},
		{"first line that is not empty", "\n \t\n  Fix the sum \nand more", "Fix the sum"},
		{"response", "Sure.\n<response> Fix the sum\n</response> Bye", "Fix the sum"},
		{"first response", "<response>a</response><response>b</response>", "a"},
		{"response in capitals", "<Response>a</RESPONSE>", "a"},
		{"several lines", "<response>a\n\nb</response>", "a\n\nb"},
		{"done out of habit", "Fix the sum <response>DONE</response>", "Fix the sum"},
		{"a response beside the claim", "<response>DONE</response> <response>Fix the sum</response>", "Fix the sum"},
		{"nothing but the claim", "<response>DONE</response>", "DONE"},
		{"empty response", "x <response>\n</response>", ""},
		{"response that never ends", "<response>a", "<response>a"},
		{"code block", "```text\nFix the sum\n```", "Fix the sum"},
		{"code span", "`Fix the sum`", "Fix the sum"},
		{"two code spans", "`a` and `b`", "`a` and `b`"},
		{"only a fence", "```", ""},
		{"nothing", "", ""},
		{"control characters", "\x1b[31mFix\x1b[0m\x00 \x07the\u202e su\u200bm\r\nrest", "Fix the sum"},
		{"no UTF-8", "Fix \xff", "Fix \uFFFD"},
		{"secret", "Use hunter2hunter2", "Use ***"},
		{"split secret", "Use hunter2\u200bhunter2", "Use ***"},
		{"too long", strings.Repeat("ü", 5000), strings.Repeat("ü", 2048)},
		{"too long by half a character", "x" + strings.Repeat("ü", 5000), "x" + strings.Repeat("ü", 2047)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := scm.Message(tc.answer, ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}, redact); got != tc.want {
				t.Errorf("Message(%q) = %q, want %q", tc.answer, got, tc.want)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{"Fix", "<response>a\nb</response>", "```\nx\n```", "`x`", "\x1b]0;t\x07a", "<response></response>", "hunter2\x00hunter2", "\r\n", "<response>" + strings.Repeat("x", 5000) + "</response>"} {
		f.Add(s)
	}
	redact := secret.NewRedactor(secret.New("hunter2hunter2"))
	f.Fuzz(func(t *testing.T, answer string) {
		got := scm.Message(answer, ralph.Completion{}, redact)
		bad := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\u202e' }
		if len(got) > 4<<10 || !utf8.ValidString(got) || got != strings.TrimSpace(got) || strings.IndexFunc(got, bad) >= 0 || strings.Contains(got, "hunter2hunter2") {
			t.Errorf("Message(%q) = %q", answer, got)
		}
	})
}
