package actions

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/secret"
)

const token1 = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// connect makes a Runner that writes its log to the buffer.
func connect(t testing.TB, log io.Writer, env ...string) *Runner {
	t.Helper()
	r, err := New(Options{Getenv: environment(env...), Stdout: log, Redactor: secret.NewRedactor(secret.New(token1))})
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// untrusted shows text as the agent's, written in the given pieces, without the
// stop-commands around it.
func untrusted(t testing.TB, pieces ...string) string {
	t.Helper()
	var log bytes.Buffer
	r := connect(t, &log)
	w := r.Untrusted()
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", p, n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	if log.Len() == 0 {
		return ""
	}
	first, rest, _ := strings.Cut(log.String(), "\n")
	if !strings.HasPrefix(first, "::stop-commands::") || len(first) != len("::stop-commands::")+32 {
		t.Errorf("log of %q begins with %q, want stop-commands with 128 bits", pieces, first)
	}
	return rest
}

func TestUntrusted(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a line", "hello\n", "│ hello\n"},
		{"unfinished", "hello", "│ hello\n"},
		{"empty line", "\n", "│ \n"},
		{"three line ends", "a\nb\r\nc\rd", "│ a\n│ b\n│ c\n│ d\n"},
		{"CR CR LF", "a\r\r\nb", "│ a\n│ \n│ b\n"},
		{"command", "::set-env name=A::b\n", "│ ::set-env name=A::b\n"},
		{"indented command", " \t\u00a0::error::x\n", "│  \t\u00a0::error::x\n"},
		{"command after CR", "x\r::error::x\n", "│ x\n│ ::error::x\n"},
		{"old command", "a ##[add-mask]e ###[x]\n", "│ a ## [add-mask]e ### [x]\n"},
		{"old command around a colour", "#\x1b[1m#\x1b[0m[add-mask]e\n", "│ ## [add-mask]e\n"},
		{"colours", "\x1b[31;1mred\x1b[0m \x1b[2Kx\n", "│ red x\n"},
		{"other escapes stay visible", "\x1b]8;;http://x\x07t\n", "│ \ufffd]8;;http://x\ufffdt\n"},
		{"broken colour", "\x1b[31", "│ \ufffd[31\n"},
		{"controls", "a\x00b\x08c\x7fd\u0085e\n", "│ a\ufffdb\ufffdc\ufffdd\ufffde\n"},
		{"bidi", "a\u202eb\u2066c\n", "│ a\ufffdb\ufffdc\n"},
		{"zero width", "a\u200bb\ufeffc\u00add\n", "│ a\ufffdb\ufffdc\ufffdd\n"},
		{"tags", "a\U000e0041\U000e0000b\n", "│ a\ufffd\ufffdb\n"},
		{"smuggled in variation selectors", "a\U000e0101\ufe01b\n", "│ a\ufffd\ufffdb\n"},
		{"line separators", "a\u2028b\u2029c\n", "│ a\ufffdb\ufffdc\n"},
		{"invalid UTF-8", "a\xffb\xc3", "│ a\ufffdb\ufffd\n"},
		{"people's text", "日本語 ünïcode ✔️ 🎉\tx\n", "│ 日本語 ünïcode ✔ 🎉\tx\n"},
		{"secret", "key=" + token1 + ".\n", "│ key=***.\n"},
		{"secret around a colour", token1[:9] + "\x1b[0m" + token1[9:] + "\n", "│ ***\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := untrusted(t, tt.text); got != tt.want {
				t.Errorf("Untrusted(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if got := untrusted(t, strings.Split(tt.text, "")...); utf8.ValidString(tt.text) && got != tt.want {
				t.Errorf("Untrusted(%q, by character) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestUntrustedIsLive(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := connect(t, &log).Untrusted()
	for i := range 3 {
		fmt.Fprintf(w, "line %d\n", i)
		if want := fmt.Sprintf("│ line %d\n", i); !strings.HasSuffix(log.String(), want) {
			t.Errorf("after line %d the log is %q, want it shown", i, log.String())
		}
	}
}

func TestUntrustedCutsLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", MaxLine) // two bytes each
	got := untrusted(t, "a", long, long, "\nnext\n")
	head, rest, _ := strings.Cut(got, "\n")
	if want := "│ a" + strings.Repeat("ü", MaxLine/2-1) + cut; head != want {
		t.Errorf("a line of %d bytes is shown with %d bytes ending in %q, want %d", 4*MaxLine+1, len(head), head[len(head)-30:], len(want))
	}
	if rest != "│ next\n" {
		t.Errorf("after it: %q, want the next line", rest)
	}
	// Half a secret at the cut is more than none.
	text := strings.Repeat("x", MaxLine-5) + token1 + "\n"
	if got := untrusted(t, text); strings.Contains(got, "ghs_") {
		t.Errorf("a secret at the cut is shown: %q", got[len(got)-60:])
	}
	exact := strings.Repeat("x", MaxLine)
	if got, want := untrusted(t, exact+"\n"), "│ "+exact+"\n"; got != want {
		t.Errorf("a line of exactly %d bytes is shown with %d, want it whole", MaxLine, len(got))
	}
}

// hostile is random text made of what the parser looks for.
func hostile(rnd *rand.Rand) string {
	parts := []string{
		"::", ":", "##[", "#", "[", "]", "]x", "set-env", "add-mask", "error", "stop-commands", " ", "\t", "\n", "\r", "\r\n",
		"\u00a0", "\u2028", "\u0085", "\u200b", "\ufeff", "\u3000", "\v", "\x1b[0m", "\x1b[", "\x1b", "\xff", "\xc2", "\x00", "name=a", "│", token1, token1[:7], token1[7:], "***", "%0A",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(14) {
		b.WriteString(parts[rnd.IntN(len(parts))])
	}
	return b.String()
}

func TestHostileTextIsNeverACommand(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	raw := 0
	var log bytes.Buffer
	r := connect(t, &log)
	for range 6_000 {
		text := hostile(rnd)
		if len(commands(text)) > 0 {
			raw++
		}
		log.Reset()
		w := r.Untrusted()
		_, _ = io.WriteString(w, text[:len(text)/2])
		_, _ = io.WriteString(w, text[len(text)/2:])
		_ = w.Close()
		r.Line(text)
		shown := log.String()
		if rest, ok := strings.CutPrefix(shown, "::stop-commands::"+r.stop+"\n"); ok {
			shown = rest
		}
		if got := commands(shown); len(got) > 0 {
			t.Fatalf("%q is shown as %q, which has the commands %q", text, shown, got)
		}
		if strings.Contains(shown, token1) {
			t.Fatalf("%q is shown as %q, with the secret", text, shown)
		}
	}
	if raw < 100 {
		t.Errorf("%d of the raw texts were commands, too few for a proof", raw)
	}
}

func FuzzUntrusted(f *testing.F) {
	f.Add("::set-env name=A::b\r##[add-mask]e", uint8(3))
	f.Add("\u00a0 ::stop-commands::x\n", uint8(1))
	f.Fuzz(func(t *testing.T, text string, split uint8) {
		at := min(int(split), len(text))
		shown := untrusted(t, text[:at], text[at:])
		if got := commands(shown); len(got) > 0 {
			t.Errorf("%q is shown as %q, which has the commands %q", text, shown, got)
		}
		if strings.Contains(shown, token1) || !utf8.ValidString(shown) {
			t.Errorf("%q is shown as %q, want it redacted and valid", text, shown)
		}
		if whole := untrusted(t, text); whole != shown {
			t.Errorf("Untrusted(%q) = %q in one piece and %q split at %d", text, whole, shown, at)
		}
	})
}

// The agent's text is inside stop-commands, ours is outside.
func TestOwnCommandsWorkBetweenUntrustedText(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := connect(t, &log)
	w := r.Untrusted()
	r.Group("one")
	fmt.Fprintln(w, "::group::forged")
	r.Line("our words")
	fmt.Fprintln(w, "more")
	r.Mask(token1)
	fmt.Fprintln(w, "and more")
	r.EndGroup()
	r.Error("outcome", "it failed")
	fmt.Fprintln(w, "the end")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&log, "::after::x")

	var names []string
	p := &parser{}
	for _, c := range p.obeyed(log.String()) {
		names = append(names, c.name)
	}
	if got, want := slices.Compact(names), []string{"group", "add-mask", "endgroup", "error", "after"}; !slices.Equal(got, want) {
		t.Errorf("the runner obeys %q, want %q; log:\n%s", got, want, log.String())
	}
	tokens := make(map[string]bool)
	for line := range strings.Lines(log.String()) {
		if word, ok := strings.CutPrefix(line, "::stop-commands::"); ok {
			tokens[word] = true
		}
	}
	if len(tokens) != 3 {
		t.Errorf("%d different tokens for three stretches, want 3", len(tokens))
	}
}

// Two untrusted streams and ralph write at once: lines stay whole, commands obeyed.
func TestManyTalkAtOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := connect(t, &log)
	const each = 200
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			w := r.Untrusted()
			for range each {
				_, _ = io.WriteString(w, "::error::for")
				_, _ = io.WriteString(w, "ged\n")
			}
		})
	}
	wg.Go(func() {
		for range each {
			r.Group("title")
			r.Line("words")
			r.EndGroup()
		}
	})
	wg.Wait()
	count := make(map[string]int)
	for line := range strings.Lines(log.String()) {
		count[line]++
	}
	if count["│ ::error::forged\n"] != 2*each || count["words\n"] != each {
		t.Errorf("the log has %d and %d whole lines, want %d and %d", count["│ ::error::forged\n"], count["words\n"], 2*each, each)
	}
	if got := len((&parser{}).obeyed(log.String())); got != 2*each {
		t.Errorf("the runner obeys %d commands, want %d", got, 2*each)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := Terminal(&out, secret.NewRedactor(secret.New(token1)))
	fmt.Fprintf(w, "\x1b[31m::error::x\x1b[0m %s\r\nrest\x07", token1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "::error::x ***\nrest\ufffd\n"; got != want {
		t.Errorf("Terminal = %q, want %q", got, want)
	}
}

func TestSanitizeSharesCleanText(t *testing.T) {
	t.Parallel()
	line := []byte("plain\ttext")
	if got := Sanitize(line); &got[0] != &line[0] {
		t.Error("Sanitize(plain) copies, want the same memory")
	}
}

func BenchmarkUntrusted(b *testing.B) {
	text := []byte(strings.Repeat("I changed the parser so that it reads the file once and keeps offsets — ünïcode too.\n", 10_000))
	w := connect(b, io.Discard).Untrusted()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}
