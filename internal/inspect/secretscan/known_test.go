package secretscan_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime/quotedprintable"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/org/ralph-action/internal/inspect/secretscan"
	"github.com/org/ralph-action/internal/lib/secret"
)

// token is random, as tokens are.
const token = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"

func scanner(t testing.TB, known ...string) *secretscan.Scanner {
	t.Helper()
	return with(t, secretscan.Options{}, known...)
}

func with(t testing.TB, o secretscan.Options, known ...string) *secretscan.Scanner {
	t.Helper()
	for _, v := range known {
		o.Known = append(o.Known, secret.New(v))
	}
	return secretscan.New(o)
}

// each writes a value byte by byte.
func each(value, format, sep string) string {
	var all []string
	for i := range len(value) {
		all = append(all, fmt.Sprintf(format, value[i]))
	}
	return strings.Join(all, sep)
}

func wrap(s string, at int, sep string) string {
	return strings.Join(slices.Collect(func(yield func(string) bool) {
		for ; len(s) > at; s = s[at:] {
			if !yield(s[:at]) {
				return
			}
		}
		yield(s)
	}), sep)
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func zlibbed(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func zipped(s string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.Create("a.txt")
	_, _ = f.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func tarred(s string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: "a", Size: int64(len(s)), Mode: 0o600})
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func wide(s string, big bool) string {
	out := []byte{0xFF, 0xFE}
	if big {
		out = []byte{0xFE, 0xFF}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// disguises are the ways in which a value is written that have to be found.
func disguises(value string) map[string]string {
	std, padless := base64.StdEncoding, base64.RawURLEncoding
	longer := "x-access-token:" + value + "@github.com and what else stands in a file of some length"
	var qp bytes.Buffer
	w := quotedprintable.NewWriter(&qp)
	_, _ = w.Write([]byte("some text before, so that the line is broken, " + value + " and behind"))
	_ = w.Close()
	js, _ := json.Marshal(map[string]string{"a": `{"b":"` + value + `"}`})
	rot := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, value)
	half := len(value) / 2
	digits := hex.EncodeToString([]byte(value))
	return map[string]string{
		"as it is":              value,
		"assigned":              "TOKEN=" + value + "\n",
		"in JSON in JSON":       string(js),
		"base64":                std.EncodeToString([]byte(value)),
		"base64, URL, unpadded": padless.EncodeToString([]byte(value)),
		"base64, offset 1":      std.EncodeToString([]byte("x" + value + "y")),
		"base64, offset 2":      std.EncodeToString([]byte("xx" + value + "yy")),
		"base64, offset 3":      padless.EncodeToString([]byte("xxx" + value + "yyy")),
		"base64 wrapped at 76":  wrap(std.EncodeToString([]byte(longer)), 76, "\n"),
		"base64 wrapped at 64":  wrap(std.EncodeToString([]byte(longer)), 64, "\r\n"),
		"base64 wrapped at 20":  wrap(std.EncodeToString([]byte(longer)), 20, "\n    "),
		"base64 in a YAML list": wrap(std.EncodeToString([]byte(longer)), 30, "\",\n  \""),
		"base64 twice":          std.EncodeToString([]byte(std.EncodeToString([]byte(longer)))),
		"base64 wrapped, twice": wrap(std.EncodeToString([]byte(wrap(std.EncodeToString([]byte(longer)), 76, "\n"))), 76, "\n"),
		"base64 thrice":         std.EncodeToString([]byte(std.EncodeToString([]byte(std.EncodeToString([]byte(longer)))))),
		"base32":                base32.StdEncoding.EncodeToString([]byte(value)),
		"hex":                   digits,
		"hex in capitals":       strings.ToUpper(digits),
		"hex with colons":       each(value, "%02X", ":"),
		"hex with blanks":       each(value, "%02x", " "),
		"hex as C array":        "{" + each(value, "0x%02x", ", ") + "}",
		"hex as C array, caps":  "{" + each(value, "0x%02X", ",\n") + "}",
		"hex of base64":         hex.EncodeToString([]byte(std.EncodeToString([]byte(value)))),
		"base64 of hex":         std.EncodeToString([]byte(digits)),
		"decimal bytes":         "[" + each(value, "%d", ", ") + "]",
		"C escapes":             `"` + each(value, `\x%02x`, "") + `"`,
		"JSON escapes":          `"` + each(value, `\u%04x`, "") + `"`,
		"JSON escapes twice":    `"` + each(value, `\\u%04x`, "") + `"`,
		"ES6 escapes":           `"` + each(value, `\u{%x}`, "") + `"`,
		"percent":               each(value, "%%%02X", ""),
		"percent twice":         each(value, "%%25%02x", ""),
		"URL query":             "https://example.com/?q=" + url.QueryEscape("a "+value),
		"HTML decimal":          each(value, "&#%d;", ""),
		"HTML hex":              each(value, "&#x%x;", ""),
		"quoted-printable":      qp.String(),
		"quoted-printable, all": each(value, "=%02X", ""),
		"reversed":              backwards(value),
		"ROT13":                 rot,
		"two literals":          fmt.Sprintf("a := %q + %q", value[:half], value[half:]),
		"two literals of C":     fmt.Sprintf("char *a = '%s' '%s';", value[:7], value[7:]),
		"literals on lines":     `"` + wrap(value, 5, "\" +\n\t\t\"") + `"`,
		"list of characters":    "['" + each(value, "%c", "', '") + "']",
		"a character a line":    each(value, "%c", "\n"),
		"CRLF between":          wrap(value, 3, "\r\n"),
		"in a comment":          "# " + wrap(value, 10, "\n# "),
		"with dashes":           wrap(value, 4, "-"),
		"with zero width":       each(value, "%c", "\u200b"),
		"with soft hyphens":     wrap(value, 2, "\u00ad"),
		"with HTML entities":    wrap(value, 2, "&shy;"),
		"variables for pieces":  "a1=" + value[:14] + "\nb1=" + value[14:24] + "\nc1=" + value[24:],
		"half of it":            "start=" + value[:len(value)*6/10],
		"hexdump":               hex.Dump([]byte("some text before " + value + " and behind")),
		"UTF-16 LE":             wide("token: "+value, false),
		"UTF-16 BE":             wide("token: "+value, true),
		"gzip":                  gzipped(longer),
		"zlib":                  zlibbed(longer),
		"zip":                   zipped(longer),
		"tar":                   tarred(longer),
		"tar.gz":                gzipped(tarred(longer)),
		"gzip in base64":        "blob: " + std.EncodeToString([]byte(gzipped(longer))),
		"gzip below a word":     "RT-MARK-leak-gzip-base64\n" + std.EncodeToString([]byte(gzipped(longer))),
		"gzip below two words":  "RT-MARK-leak-gzip-base64\nand-one-more-of-them\n" + std.EncodeToString([]byte(gzipped(longer))) + "\n",
		"base64 twice, word":    "an-odd-word-of-26-letters-\n" + std.EncodeToString([]byte(std.EncodeToString([]byte(longer)))),
		"gzip in wrapped b64":   wrap(std.EncodeToString([]byte(gzipped(strings.Repeat("abc", 99)+longer))), 76, "\n"),
		"zip in gzip":           gzipped(zipped(longer)),
		"base64 in gzip":        gzipped(std.EncodeToString([]byte(longer))),
	}
}

func TestKnownValuesAreFoundInEveryDisguise(t *testing.T) {
	t.Parallel()
	for _, value := range []string{token, "sk-ant-api03-Zm9vYmFyYmF6cXV4cXV1eGNvcmdl_Q1w-2AA", "p4ss/W0rd+of=some~Length1"} {
		s := scanner(t, value)
		for name, text := range disguises(value) {
			if value == "p4ss/W0rd+of=some~Length1" && (name == "half of it" || name == "variables for pieces") {
				continue // too short to be known by a part
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := s.File("a.txt", nil, []byte("first line\nsecond\n"+text))
				if strings.HasPrefix(text, "\x1f") || strings.HasPrefix(text, "\x78") || strings.HasPrefix(text, "BZh") || strings.HasPrefix(text, "PK") {
					got = s.File("a.bin", nil, []byte(text))
				}
				if len(got) == 0 {
					t.Fatalf("File(%q) finds nothing", text)
				}
				checkSilent(t, got, value)
			})
		}
	}
}

// checkSilent fails when a hit tells five characters of the secret.
func checkSilent(t *testing.T, hits []secretscan.Hit, value string) {
	t.Helper()
	for _, h := range hits {
		for i := 0; i+5 <= len(value); i++ {
			if strings.Contains(h.Rule+"\n"+h.Text, value[i:i+5]) {
				t.Errorf("hit %+v tells %q", h, value[i:i+5])
			}
		}
	}
}
