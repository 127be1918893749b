package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// slow redacts by the definition: every byte of every occurrence is covered.
func slow(text string, forms []string) string {
	covered := make([]bool, len(text))
	for _, form := range forms {
		for i := 0; i+len(form) <= len(text); i++ {
			if text[i:i+len(form)] == form {
				for j := range form {
					covered[i+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			b.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(Mask)
		}
	}
	return b.String()
}

// streamed redacts text written in pieces that end at the given offsets.
func streamed(t testing.TB, r *Redactor, text string, ends ...int) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	at := 0
	for _, end := range append(ends, len(text)) {
		if n, err := w.Write([]byte(text[at:end])); n != end-at || err != nil {
			t.Fatalf("Write(%q) = %d, %v", text[at:end], n, err)
		}
		at = end
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	return out.String()
}

// every checks a text whole, one byte at a time and at every split.
func every(t *testing.T, r *Redactor, text, want string) {
	t.Helper()
	if got := r.Text(text); got != want {
		t.Errorf("Text(%q) = %q, want %q", text, got, want)
	}
	if got := string(r.Bytes([]byte(text))); got != want {
		t.Errorf("Bytes(%q) = %q, want %q", text, got, want)
	}
	bytewise := make([]int, len(text))
	for i := range bytewise {
		bytewise[i] = i
		if got := streamed(t, r, text, i); got != want {
			t.Errorf("Writer(%q, split at %d) = %q, want %q", text, i, got, want)
		}
	}
	if got := streamed(t, r, text, bytewise...); got != want {
		t.Errorf("Writer(%q, byte by byte) = %q, want %q", text, got, want)
	}
}

func redactor(values ...string) *Redactor {
	secrets := make([]String, len(values))
	for i, v := range values {
		secrets[i] = New(v)
	}
	return NewRedactor(secrets...)
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	const token = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nab\n-----END KEY-----\n"
	tests := []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"nothing known", nil, "hello", "hello"},
		{"absent secret", []string{""}, "hello", "hello"},
		{"nothing there", []string{token}, "hello world", "hello world"},
		{"empty text", []string{token}, "", ""},
		{"alone", []string{token}, token, "***"},
		{"in the middle", []string{token}, "a" + token + "b", "a***b"},
		{"twice", []string{token}, token + " " + token, "*** ***"},
		{"twice and touching", []string{token}, token + token, "***"},
		{"false start", []string{"abcabd"}, "abcabcabd!", "abc***!"},
		{"unfinished", []string{token}, "end " + token[:20], "end " + token[:20]},
		{"prefix of the other", []string{"abcd", "abcdefgh"}, "abcd abcdef abcdefgh.", "*** ***ef ***."},
		{"inside the other", []string{"cdef", "abcdefgh"}, "abcdefgh cdef abcdef", "*** *** ab***"},
		{"overlapping", []string{"abcdef", "defghi"}, "xabcdefghix", "x***x"},
		{"overlapping itself", []string{"abab"}, "xabababx", "x***x"},
		{"overlap that fails late", []string{"abcdef", "defghi"}, "xabcdefghx", "x***ghx"},
		{"three in a chain", []string{"abcd", "cdef", "efgh"}, "abcdefghi", "***i"},
		{"with a newline", []string{"one\ntwo"}, "a one\ntwo b", "a *** b"},
		{"trailing newline in the value", []string{token + "\n"}, "a " + token + " b", "a *** b"},
		{"too short", []string{"yes", " a \n"}, "yes a", "yes a"},
		{"key whole", []string{pem}, "k=" + pem + ".", "k=***\n."},
		{"key by line", []string{pem}, "+ MIIEvQIBADANBg\n+ ab\n", "+ ***\n+ ab\n"},
		{"key with CRLF", []string{pem}, "MIIEvQIBADANBg\r\nkqhkiG9w0BAQEF\r\n", "***\r\n***\r\n"},
		{"bytes that are no UTF-8", []string{"\xff\xfe\xfd\xfc"}, "a\xff\xfe\xfd\xfcb", "a***b"},
		{"unicode", []string{"pässwörd"}, "x pässwörd", "x ***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			every(t, redactor(tt.secrets...), tt.text, tt.want)
		})
	}
}

func TestRedactorFindsEncodedForms(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"ghs_16C7e42F292c6912E7710c838347Ae178B4a",
		`p@ss "w0rd" <&>/\ + ü?`,
		"\xf9\xff~~\xfb\xef\xff>>>???", // + and / in base64
		"line one is long\nline two is longer",
	} {
		r := redactor(value)
		shapes := map[string]string{
			"query":       url.QueryEscape(value),
			"path":        url.PathEscape(value),
			"lower query": lowerEscapes(url.QueryEscape(value)),
		}
		if value[0] < 0x80 {
			shapes["JSON"] = asJSON(t, value, true)
			shapes["JSON of JavaScript"] = asJSON(t, value, false)
			shapes["JSON in JSON"] = asJSON(t, asJSON(t, value, false), false)
		}
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			shapes["base64"+enc.EncodeToString([]byte("?"))] = enc.EncodeToString([]byte(value))
		}
		for name, shape := range shapes {
			got := r.Text("<" + shape + ">")
			if strings.Trim(got, `<>"\`) != Mask {
				t.Errorf("%s: Text(%q) = %q, want the whole masked", name, shape, got)
			}
		}
	}
}

// What tools of the shell, of Python and of HTML print, found whole and split
// at every byte.
func TestRedactorFindsWhatToolsPrint(t *testing.T) {
	t.Parallel()
	const value = `it's "p$ss" <w\rd> für`
	r := redactor(value)
	for _, tt := range []struct{ name, text string }{
		{"xxd -p", "697427732022702473732220" + "3c775c72643e2066c3bc72"},
		{"hex in capitals", "697427732022702473732220" + "3C775C72643E2066C3BC72"},
		{"sh -x", `it'\''s "p$ss" <w\rd> für`},
		{"shlex.quote", `it'"'"'s "p$ss" <w\rd> für`},
		{"printf %q", `it\'s\ \"p\$ss\"\ \<w\\rd\>\ für`},
		{"repr", `it\'s "p$ss" <w\\rd> für`},
		{"json.dumps", `it's \"p$ss\" <w\\rd> f\u00fcr`},
		{"html/template", `it&#39;s &#34;p$ss&#34; &lt;w\rd&gt; für`},
		{"html.escape of Python", `it&#x27;s &quot;p$ss&quot; &lt;w\rd&gt; für`},
		{"htmlspecialchars", `it&#039;s &quot;p$ss&quot; &lt;w\rd&gt; für`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			every(t, r, "< "+tt.text+" >", "< *** >")
		})
	}
}

// Those of other languages than Go escape more, or less.
func TestRedactorFindsWhatOtherEncodersWrite(t *testing.T) {
	t.Parallel()
	r := redactor("pä/ss w'or&d!(1)*+x")
	for _, tt := range []struct{ name, text string }{
		{"encodeURIComponent of JavaScript", "p%C3%A4%2Fss%20w'or%26d!(1)*%2Bx"},
		{"quote of Python", "p%C3%A4/ss%20w%27or%26d%21%281%29%2A%2Bx"},
		{"json_encode of PHP", `p\u00e4\/ss w'or&d!(1)*+x`},
		{"System.Text.Json of .NET", `p\u00E4/ss w\u0027or\u0026d!(1)*\u002Bx`},
		{"Jackson of Java, ASCII only", `p\u00E4/ss w'or&d!(1)*+x`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			every(t, r, "< "+tt.text+" >", "< *** >")
		})
	}
}

// A value that comes in three writes, with others that begin or end in it.
func TestWriterInThreeWrites(t *testing.T) {
	t.Parallel()
	r := redactor("abcdefghijkl", "abcd", "ijklmnop", "defg\r\nline-two-of-it")
	for _, tt := range []struct{ text, want string }{
		{"xabcdefghijklx", "x***x"},
		{"xabcdefghijkx", "x***efghijkx"},
		{"xabcdefghijklmnopx", "x***x"},
		{"xdefg\r\nline-two-of-itx", "x***x"},
		{"xdefg\nline-two-of-it", "xdefg\n***"},
		{"abcdabcdefghijkl", "***"},
	} {
		for i := range len(tt.text) {
			for j := i; j < len(tt.text); j++ {
				if got := streamed(t, r, tt.text, i, j); got != tt.want {
					t.Errorf("Writer(%q, split at %d and %d) = %q, want %q", tt.text, i, j, got, tt.want)
				}
			}
		}
	}
}

func TestFinderKeepsLinesTogether(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----"
	f := NewFinder(New(key))
	if got := f.Find([]byte("-----BEGIN KEY-----\nother\n")); len(got) != 0 {
		t.Errorf("Find(header) = %v, want nothing", got)
	}
	if got := f.Find([]byte("k=" + key)); len(got) != 1 || got[0] != [2]int{2, 2 + len(key)} {
		t.Errorf("Find(key) = %v, want the key", got)
	}
	if got := (*Redactor)(nil).Find([]byte("x")); got != nil {
		t.Errorf("nil: Find = %v", got)
	}
}

func asJSON(t *testing.T, v string, html bool) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func lowerEscapes(s string) string {
	return regexp.MustCompile(`%..`).ReplaceAllStringFunc(s, strings.ToLower)
}

// Whatever stands around a value, its base64 shows no more than the characters
// that share bits with the neighbours.
func TestRedactorFindsEmbeddedBase64(t *testing.T) {
	t.Parallel()
	const token = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
	r := redactor(token)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "u:", "us:", "x-access-token:"} {
			for _, after := range []string{"", "\n", "\xff\xff", "abc", "abcd"} {
				text := enc.EncodeToString([]byte(before + token + after))
				got := r.Text(text)
				shown := len(strings.ReplaceAll(got, Mask, ""))
				if most := len(before)*8/6 + len(after)*8/6 + 5; !strings.Contains(got, Mask) || shown > most {
					t.Errorf("Text(%q) = %q, shows %d characters, want at most %d and a mask", text, got, shown, most)
				}
			}
		}
	}
}

func TestWriterHoldsBackOnlyWhatMayBecomeASecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := redactor("token-1234").Writer(&out)
	for _, step := range []struct{ write, shown string }{
		{"hello\n", "hello\n"},
		{"a to", "hello\na "},
		{"mato", "hello\na toma"},
		{"ken-123", "hello\na toma"},
		{"x", "hello\na tomatoken-123x"},
		{"token-1234", "hello\na tomatoken-123x***"},
		{"token-1234", "hello\na tomatoken-123x***"},
		{"!", "hello\na tomatoken-123x***!"},
		{"tok", "hello\na tomatoken-123x***!"},
	} {
		if _, err := w.Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != step.shown {
			t.Errorf("after %q: %q is shown, want %q", step.write, got, step.shown)
		}
	}
	if err := w.Close(); err != nil || !strings.HasSuffix(out.String(), "!tok") {
		t.Errorf("Close() = %v with %q shown, want the held end", err, out.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("broken pipe") }

func TestWriterReportsErrors(t *testing.T) {
	t.Parallel()
	w := redactor("token-1234").Writer(failing{})
	if n, err := w.Write([]byte("hello tok")); n != 0 || err == nil {
		t.Errorf("Write = %d, %v, want 0 and the error below", n, err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close() = nil, want the error below")
	}
}

func TestNilRedactor(t *testing.T) {
	t.Parallel()
	var r *Redactor
	if r.Short() != 0 || r.Forms() != nil {
		t.Errorf("nil: Short() = %d, Forms() = %v", r.Short(), r.Forms())
	}
	every(t, r, "text", "text")
}

func TestShort(t *testing.T) {
	t.Parallel()
	if got := redactor("", "a", "yes", "\n\n\n\n\n", "long enough").Short(); got != 3 {
		t.Errorf("Short() = %d, want 3", got)
	}
}

func TestFormsAreNoFalseAlarms(t *testing.T) {
	t.Parallel()
	for _, form := range redactor("{\n  \"key\": \"value-of-it\"\n}\n", "abcd").Forms() {
		if len(form) < minValue {
			t.Errorf("Forms() contains %q, which is shorter than %d", form, minValue)
		}
		if strings.TrimSpace(form) != form {
			t.Errorf("Forms() contains %q with space around it", form)
		}
	}
}

// Random secrets over a small alphabet overlap in every possible way.
func TestRedactorAgainstDefinition(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab\n"[rnd.IntN(20)/9]
		}
		return string(b)
	}
	for range 1500 {
		var forms []string
		for range 1 + rnd.IntN(4) {
			forms = append(forms, word(4+rnd.IntN(5)))
		}
		r := withForms(forms)
		text := word(rnd.IntN(60))
		want := slow(text, r.forms)
		if got := r.Text(text); got != want {
			t.Fatalf("%q: Text(%q) = %q, want %q", r.forms, text, got, want)
		}
		var ends []int
		for i := range text {
			if rnd.IntN(3) == 0 {
				ends = append(ends, i)
			}
		}
		if got := streamed(t, r, text, ends...); got != want {
			t.Fatalf("%q: Writer(%q, splits %v) = %q, want %q", r.forms, text, ends, got, want)
		}
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("token-1234", "other\nsecret", "a token-1234 b", uint8(5))
	f.Add("abab", "baba", "abababab", uint8(3))
	f.Add("p%40ss", "a+b/c==", "cCU0MHNz p%2540ss", uint8(9))
	f.Fuzz(func(t *testing.T, a, b, text string, split uint8) {
		if strings.Contains(a+b, "*") {
			return // a mask may be a part of such a secret
		}
		r := redactor(a, b)
		text += a + text + b
		whole := r.Text(text)
		for _, form := range r.Forms() {
			if strings.Contains(whole, form) {
				t.Errorf("Text(%q) = %q, contains %q", text, whole, form)
			}
		}
		var ends []int
		for at := int(split); at < len(text); at += 1 + int(split) {
			ends = append(ends, at)
		}
		if got := streamed(t, r, text, ends...); got != whole {
			t.Errorf("Writer(%q, %v) = %q, want %q", text, ends, got, whole)
		}
	})
}

func BenchmarkRedactor(b *testing.B) {
	line := `{"type":"assistant","message":{"content":[{"type":"text","text":"I changed the parser so that it reads the file once and keeps offsets."}]}}` + "\n"
	text := []byte(strings.Repeat(line, 1<<20/len(line)))
	pem := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("kqhkiG9w0BAQEFAASC", 3)+"\n", 26)
	for _, bench := range []struct {
		name    string
		secrets []string
	}{
		{"tokens", []string{"ghs_16C7e42F292c6912E7710c838347Ae178B4a", "sk-ant-api03-Zm9vYmFyYmF6cXV4cXV1eGNvcmdl"}},
		{"key", []string{"ghs_16C7e42F292c6912E7710c838347Ae178B4a", pem}},
		{"short", []string{"hunter2"}},
	} {
		r := redactor(bench.secrets...)
		b.Run(bench.name+"/whole", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Bytes(text)
			}
		})
		b.Run(bench.name+"/lines", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				w := r.Writer(discard{})
				for rest := text; len(rest) > 0; rest = rest[min(len(rest), len(line)):] {
					_, _ = w.Write(rest[:min(len(rest), len(line))])
				}
				_ = w.Close()
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
