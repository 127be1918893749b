package doc

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// What must not stand in Markdown outside code, whatever the text was.
var forbidden = map[string]*regexp.Regexp{
	"a tag":            regexp.MustCompile(`[<>]`),
	"a mention":        regexp.MustCompile(`@[A-Za-z0-9_\[-]`),
	"a reference":      regexp.MustCompile(`(?i)[#!]\d|\bgh-\d`),
	"an image":         regexp.MustCompile(`(^|[^\\])!\[`),
	"a link":           regexp.MustCompile(`(^|[^\\])\]\(|(^|[^\\])\]:`),
	"an address":       regexp.MustCompile(`(?i)://|www\.`),
	"a table cell":     regexp.MustCompile(`\|`),
	"a line end":       regexp.MustCompile(`[\r\n\v\f\x{85}\x{2028}\x{2029}]`),
	"a block":          regexp.MustCompile(`^([-+=:#>]|\d+[.)]|    )`),
	"a closing word":   regexp.MustCompile(`(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?)\b:?\s+(\S+/\S+)?#\d`),
	"bare backtick":    regexp.MustCompile("(^|[^\\\\])`"),
	"an invisible":     regexp.MustCompile(`[\x00-\x08\x{200b}\x{200c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2069}\x{feff}\x{e0000}-\x{e007f}]`),
	"open entity":      regexp.MustCompile(`&(#?[A-Za-z0-9]+;)`),
	"unescaped strong": regexp.MustCompile(`(^|[^\\])(\*|_|~~)`),
}

// unescaped drops pairs of backslash and punctuation, whose second half has no
// meaning, and our own entities.
func unescaped(s string) string {
	s = regexp.MustCompile(`\\[!-/:-@\[-`+"`"+`{-~]`).ReplaceAllString(s, "")
	return regexp.MustCompile(`&#(38|60|62|124);`).ReplaceAllString(s, "")
}

func checkInline(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("inline(%q) = %q, not valid UTF-8", in, out)
	}
	// With the escaped characters gone and with them in place: a reference
	// must be broken in what a reader's forge sees after unescaping, too.
	bare := unescaped(out)
	for what, re := range forbidden {
		if what == "a mention" || what == "a reference" || what == "an address" || what == "a closing word" {
			if seen := visible(out); re.MatchString(seen) {
				t.Errorf("inline(%q) shows %q, which has %s", in, seen, what)
			}
			continue
		}
		text := bare
		if what == "a block" {
			text = out
		}
		if re.MatchString(text) {
			t.Errorf("inline(%q) = %q has %s", in, out, what)
		}
	}
}

// visible is what a Markdown renderer makes of escaped text.
func visible(s string) string {
	s = regexp.MustCompile(`\\([!-/:-@\[-`+"`"+`{-~])`).ReplaceAllString(s, "$1")
	return html.UnescapeString(s)
}

func FuzzInline(f *testing.F) {
	for _, s := range []string{
		"", "plain words", "@octocat", "fixes #12", "Closes: octo/calc#3", "gh-7 GH-8", "![x](y)", "[a](b)", "[a]: b", "<b>", "</details>", "a|b", `a\|b`, `\`, `\\`,
		"`code`", "```", "**b** __i__ ~~s~~", "$x$", "https://x.example", "WWW.x.example", "a@b.example", "- item", "+ item", "1. one", "12) x", "# h", "> q", "===", ":-:",
		"\x1b[31mred\x1b[0m", "\u202eevil", "z\u200bw", "@\u200doctocat", "#\u200d12", "\xff\xfe", "&lt;b&gt;", "&#64;octocat", "a\r\nb", "a\u2028b", "!12", "x!12", "\U000e0041", "fixes\t#12", "ﬁxes #1", "@", "#", "ww.w.w", "http:/\u200b/x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkInline(t, s, inline(s, 300))
	})
}

func FuzzCode(f *testing.F) {
	for _, s := range []string{"", "go test ./...", "a|b", "`", "a `b` c", "``", "|", "a\nb", "<b>", `\`, "@x #1 |", " ` "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := code(s, 100)
		switch {
		case out == "":
			if OneLine(s, 100) != "" {
				t.Errorf("code(%q) = nothing", s)
			}
		case strings.HasPrefix(out, "`"):
			if inner := out[1 : len(out)-1]; !strings.HasSuffix(out, "`") || inner == "" || strings.ContainsAny(inner, "`|\n\r") {
				t.Errorf("code(%q) = %q, want one span", s, out)
			}
		default:
			inner := strings.TrimSuffix(strings.TrimPrefix(out, "<code>"), "</code>")
			if strings.ContainsAny(inner, "`|<>*_[]\\@\n\r") {
				t.Errorf("code(%q) = %q, want everything spelled out", s, out)
			}
			if forbidden["a mention"].MatchString(html.UnescapeString(inner)) {
				t.Errorf("code(%q) = %q has a mention", s, out)
			}
		}
	})
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<b>@octocat fixes #1 &amp; \"x\" '")
	f.Fuzz(func(t *testing.T, s string) {
		out := htmlText(s, 100)
		if strings.ContainsAny(out, "<>\"'\n") {
			t.Errorf("htmlText(%q) = %q", s, out)
		}
		for _, what := range []string{"a mention", "a reference", "an address"} {
			if seen := html.UnescapeString(out); forbidden[what].MatchString(seen) {
				t.Errorf("htmlText(%q) shows %q, which has %s", s, seen, what)
			}
		}
	})
}

func FuzzFence(f *testing.F) {
	for _, s := range []string{"", "x", "```", "````\n```", "~~~", "```text", "a\n`````\nb", "\n\n```\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = Clean(s)
		out := fence(s)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		open := strings.TrimSuffix(lines[0], "text")
		if len(open) < 3 || strings.Trim(open, "`") != "" || lines[len(lines)-1] != open {
			t.Fatalf("fence(%q) = %q, want a code block", s, out)
		}
		if body := strings.Join(lines[1:len(lines)-1], "\n"); strings.Contains(body, open) || body != strings.Trim(s, "\n") {
			t.Errorf("fence(%q) = %q, which can be closed from inside or is not the text", s, out)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[1mb\r\nc\x00\u202e\u2028\xff \x1b]8;;http://x\x07y\x1b]8;;\x1b\\ \x9b31m")
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		for _, r := range out {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("clean(%q) = %q has %U", s, out, r)
			}
		}
		if !utf8.ValidString(out) || Clean(out) != out {
			t.Errorf("clean(%q) = %q, want valid UTF-8 that stays as it is", s, out)
		}
	})
}

// What hides or disguises text can be seen, and nothing else changes.
func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":             "plain\ttext\n",
		"ünïcödé 日本語 ✔\uFE0F":       "ünïcödé 日本語 ✔\uFE0F",
		"\x1b[1;31mred\x1b[0m":      "red",
		"a\x1b[2Jb\x1b]0;t\x07\r\n": "a␛[2Jb␛]0;t␇␍\n",
		"\x00\x7f\u0085\u2028":      "␀␡⟦U+0085⟧⟦U+2028⟧",
		"if \u202etrue\u2066":       "if ⟦U+202E⟧true⟦U+2066⟧",
		"a\u200bb\ufeff\U000E0041":  "a⟦U+200B⟧b⟦U+FEFF⟧⟦U+E0041⟧",
		"\xff\xc0":                  "\uFFFD",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestInlineKeepsTheWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain words, 100% (fine)": "plain words, 100% (fine)",
		"a < b && c | d":           "a < b && c | d",
		"snake_case *x* `y` [z]":   "snake_case *x* `y` [z]",
		"1. first":                 "1. first",
		"- item":                   "- item",
		"@octocat fixes #12":       "@\u200doctocat fixes #\u200d12",
		"two\nlines":               "two lines",
		"$5.76 and $6":             "$5.76 and $6",
		"ünïcödé 日本語 🎉":            "ünïcödé 日本語 🎉",
	} {
		if got := visible(inline(in, 100)); got != want {
			t.Errorf("inline(%q) shows %q, want %q", in, got, want)
		}
	}
}

func TestWebAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://github.com/o/r/pull/12": "https://github.com/o/r/pull/12",
		"http://127.0.0.1:3000/o/r":      "http://127.0.0.1:3000/o/r",
		"javascript:alert(1)":            "",
		"data:text/html,x":               "",
		"//evil.example":                 "",
		"https://":                       "",
		"https://user:pw@evil.example/":  "",
		"https://x.example/a) <b>\"'|`":  "https://x.example/a%29%20%3Cb%3E%22%27%7C%60",
		"https://x.example/\n":           "",
		"":                               "",
	} {
		if got := WebAddress(in); got != want {
			t.Errorf("webAddress(%q) = %q, want %q", in, got, want)
		}
	}
}
