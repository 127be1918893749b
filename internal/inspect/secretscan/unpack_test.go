package secretscan_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/inspect/secretscan"
	"github.com/org/ralph-action/internal/lib/secret"
)

// What is packed or encoded deeper than is searched, or in a way that is not opened, is
// named: nothing is published as searched that was not.
func TestWhatIsNotSearchedIsNamed(t *testing.T) {
	t.Parallel()
	const value = "q8W2eR4tY6uI8oP0"
	s := secretscan.New(secretscan.Options{Known: []secret.String{secret.New(value)}})
	std, hexed := base64.StdEncoding.EncodeToString, func(b []byte) string { return hex.EncodeToString(b) }
	times := func(n int, pack func(string) string, text string) string {
		for range n {
			text = pack(text)
		}
		return text
	}
	in64 := func(text string) string { return std([]byte(text)) }
	locked := func(text string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, _ := w.CreateRaw(&zip.FileHeader{Name: "a.txt", Method: zip.Store, Flags: 1, CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text))})
		_, _ = f.Write([]byte(text))
		_ = w.Close()
		return b.String()
	}
	text := "password: " + value + "\n"
	for name, tc := range map[string]struct {
		content string
		want    string
	}{
		"gzip, four deep":               {times(4, gzipped, text), secretscan.KnownRule},
		"gzip, five deep":               {times(5, gzipped, text), secretscan.UnsearchedRule},
		"gzip, six deep":                {times(6, gzipped, text), secretscan.UnsearchedRule},
		"gzip, twenty deep":             {times(20, gzipped, text), secretscan.UnsearchedRule},
		"zlib, six deep":                {times(6, zlibbed, text), secretscan.UnsearchedRule},
		"zip, six deep":                 {times(6, zipped, text), secretscan.UnsearchedRule},
		"zip and gzip in turn":          {times(3, func(s string) string { return zipped(gzipped(s)) }, text), secretscan.UnsearchedRule},
		"base64, six deep":              {times(9, in64, text), secretscan.UnsearchedRule},
		"hex, six deep":                 {times(6, func(s string) string { return hexed([]byte(s)) }, text), secretscan.UnsearchedRule},
		"gzip in base64, three of each": {times(3, func(s string) string { return in64(gzipped(s)) }, text), secretscan.UnsearchedRule},
		"base64 below four gzips":       {times(4, gzipped, in64(text)), secretscan.KnownRule + " " + secretscan.UnsearchedRule},
		"gzip below four times base64":  {times(4, in64, gzipped(text)), secretscan.UnsearchedRule},
		"tar, which is as it is":        {times(6, tarred, text), secretscan.KnownRule},
		"xz":                            {"\xfd7zXZ\x00rest of it", secretscan.UnsearchedRule},
		"zstd":                          {"\x28\xb5\x2f\xfdrest of it", secretscan.UnsearchedRule},
		"7z":                            {"7z\xbc\xaf\x27\x1crest of it", secretscan.UnsearchedRule},
		"xz in base64":                  {in64("\xfd7zXZ\x00" + strings.Repeat("rest", 8)), secretscan.UnsearchedRule},
		"zip with a password":           {locked("what nobody can read"), secretscan.UnsearchedRule},
		"text":                          {"nothing to see", ""},
		"text in four gzips":            {times(4, gzipped, "nothing to see"), ""},
		"text in four times base64":     {times(4, in64, "nothing to see, here and there"), ""},
		"begins like gzip, four deep":   {times(4, gzipped, "\x1f\x8b\x08 and nothing"), ""},
		"begins like zlib, four deep":   {times(4, gzipped, "x^2 + y^2 = z^2"), ""},
		"a word like base64, four deep": {times(3, gzipped, "the name of it is getUserNameAndPasswordOfTheAccount"), ""},
	} {
		var rules []string
		for _, h := range s.File("a", nil, []byte(tc.content)) {
			rules = append(rules, h.Rule)
		}
		if got := strings.Join(rules, " "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
