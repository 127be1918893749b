package secretscan_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/inspect/secretscan"
	"github.com/org/ralph-action/internal/lib/secret"
)

func TestKnownValuesAreNotSeenWhereTheyAreNot(t *testing.T) {
	t.Parallel()
	// A JSON key file, as GOOGLE_CREDENTIALS holds one: most of its lines are
	// everybody's.
	account := "{\n  \"type\": \"service_account\",\n  \"auth_uri\": \"https://accounts.google.com/o/oauth2/auth\",\n  \"token_uri\": \"https://oauth2.googleapis.com/token\",\n  \"private_key_id\": \"268f54e43a1af97cfc71731688434f45aca15c8b\"\n}\n"
	s := scanner(t, token, "Production-Database", account,
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhMWIyYzNkNGU1ZjYifQ.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk",
		"postgres", "password1", "changeme", "12345678", "short", "localhost")
	for name, text := range map[string]string{
		"the public head of a token":   token[:12] + " ghs_ and 16C7e42F",
		"the head of a JWT":            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJvdGhlciJ9.abcdefghijkl",
		"words of a value":             "the production database of Production\nDatabase",
		"lines that all accounts have": "\"type\": \"service_account\",\n\"auth_uri\": \"https://accounts.google.com/o/oauth2/auth\"\n\"token_uri\": \"https://oauth2.googleapis.com/token\"",
		"common passwords":             "POSTGRES_PASSWORD: postgres\npassword1 changeme 12345678 localhost short",
		"nothing":                      "",
		"zeros":                        strings.Repeat("\x00", 10000),
	} {
		if got := s.File("a.txt", nil, []byte(text)); len(got) != 0 {
			t.Errorf("%s: File = %v, want nothing", name, got)
		}
	}
	if got := s.Skipped(); got != 6 {
		t.Errorf("Skipped() = %d, want 6", got)
	}
	if got := s.Text("268f54e43a1af97cfc71731688434f45aca15c8b"); len(got) != 0 {
		t.Logf("the id alone is found: %v", got)
	}
	if got := s.Text(`"private_key_id": "268f54e43a1af97cfc71731688434f45aca15c8b"`); len(got) != 1 {
		t.Errorf("Text(random line of a value) = %v, want a hit", got)
	}
}

// Real code holds no secret of this run.
// A value that somebody made up is found as a whole, and no alphabet is half of it.
func TestKnownValueWithAnAlphabet(t *testing.T) {
	t.Parallel()
	const madeUp = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"
	s := with(t, secretscan.Options{}, madeUp)
	if got := s.Text("const digits = \"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\""); len(got) != 0 {
		t.Errorf("Text(an alphabet) = %v", got)
	}
	if got := s.Text("a = \"ghs_01234567\" +\n \"89abcdefghijklmnopqrstuvwxyz\""); len(got) != 1 {
		t.Errorf("Text(the value) = %v, want it found", got)
	}
}

func TestKnownValuesAreNotSeenInOurCode(t *testing.T) {
	t.Parallel()
	s := scanner(t, "sk-q8W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC", "hunter2-Zq9-hunter3", "8Kq2Lm9x", "AKIA"+"2OGYBAH6STMMNXNN", "k3Yp/9z+Qw8rT5uVbN2mX7cL1aSdF4gH6jK0pOiU")
	files, err := filepath.Glob("../../*/*.go")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "secret") || strings.Contains(file, "leak") {
			continue // their tests speak of these very values
		}
		for _, h := range s.File(file, nil, content) {
			t.Errorf("%s: %+v", file, h)
		}
	}
}

func TestKnownValueInTheBase(t *testing.T) {
	t.Parallel()
	s := scanner(t, token)
	old := []byte("a\n" + token + "\n")
	for _, tt := range []struct {
		name string
		new  string
		want int
	}{
		{"still there", "b\nc\n" + token + "\n", 0},
		{"gone", "b\n", 0},
		{"once more", token + "\n" + token + "\n", 2},
		{"once more, in base64", token + "\n" + base64.StdEncoding.EncodeToString([]byte(token)), 1},
	} {
		if got := s.File("a.txt", old, []byte(tt.new)); len(got) != tt.want && (tt.want == 0 || len(got) == 0) {
			t.Errorf("%s: File = %v, want %d hits", tt.name, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := scanner(t, token)
	got := s.File("notes/"+token+".txt", nil, []byte("nothing"))
	if len(got) != 1 || got[0].Line != 0 || got[0].Rule != secretscan.KnownRule {
		t.Errorf("File = %v, want a hit without a line", got)
	}
	for _, text := range []string{"ralph/" + token, "fix: " + base64.URLEncoding.EncodeToString([]byte(token)), "ralph/" + strings.ReplaceAll(token, "_", "/"), "title\n\nbody " + backwards(token)} {
		if got := s.Text(text); len(got) == 0 {
			t.Errorf("Text(%q) finds nothing", text)
		}
	}
}

// What is masked holds nothing any more: neither for the scanner nor for the eye.
func TestMask(t *testing.T) {
	t.Parallel()
	const pat = "ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE"
	s := with(t, secretscan.Options{Formats: true}, token)
	for name, text := range disguises(token) {
		masked := s.Mask([]byte("+before\n+" + text + "\n+behind " + pat + "\n"))
		if got := s.Text(string(masked)); len(got) != 0 {
			t.Errorf("%s: %q still has %v", name, masked, got)
		}
		if !strings.HasPrefix(text, "\xff") && !strings.HasPrefix(text, "\xfe") && (!strings.HasPrefix(string(masked), "+before\n+") || !strings.Contains(string(masked), secret.Mask)) {
			t.Errorf("%s: %q, want the rest as it was", name, masked)
		}
	}
	if got := s.Mask([]byte("nothing")); string(got) != "nothing" {
		t.Errorf("Mask(nothing) = %q", got)
	}
}

func TestNilScanner(t *testing.T) {
	t.Parallel()
	var s *secretscan.Scanner
	if s.File("a", nil, []byte(token)) != nil || s.Text(token) != nil || string(s.Mask([]byte("a"))) != "a" || s.Skipped() != 0 {
		t.Error("a nil scanner finds something")
	}
}

// hard are contents made to be slow: words without end, runs without end, and
// what begins like a match and is none.
func hard(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"one line":       repeat("a"),
		"base64":         repeat("QUJD"),
		"hex":            repeat("a1"),
		"blanks":         repeat(" "),
		"zeros":          repeat("\x00"),
		"backslashes":    repeat(`\`),
		"percent":        repeat("%25"),
		"entities":       repeat("&#1"),
		"assignments":    repeat("looker = aaaaaaaaaaa "),
		"key words":      repeat("-----BEGIN PRIVATE KEY----- "),
		"jwt":            repeat("eyJhbGciOiJSUzI1NiJ9.eyJhbGciOiJSUzI1NiJ9"),
		"slack":          repeat("xoxb-1"),
		"curl":           repeat("curl -H "),
		"addresses":      repeat("://a:b"),
		"addresses, @":   repeat("a://a:aaaaaaaa1"),
		"kubernetes":     repeat("kind: secret data: "),
		"vault":          repeat("s.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		"half a token":   repeat(token[:20] + "x"),
		"tokens":         repeat(token + "\n"),
		"tokens reverse": repeat(backwards(token) + " "),
		"pats":           repeat("ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE "),
		"gzip in base64": repeat(base64.StdEncoding.EncodeToString([]byte(gzipped("abc"))) + "\n"),
		"bomb":           gzipped(strings.Repeat("\x00", 100*size)),
	}
}

// What is made to be slow is searched in seconds at most, on a slow machine with
// the race detector; hard_long_test.go has 1 MB of each.
func TestHardContents(t *testing.T) {
	t.Parallel()
	inTime(t, 96<<10)
}

func inTime(t *testing.T, size int) {
	s := with(t, secretscan.Options{Formats: true}, token)
	for name, text := range hard(size) {
		path := "a.txt"
		if name == "kubernetes" {
			path = "a.yaml"
		}
		start := time.Now()
		s.File(path, nil, []byte(text))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v, want it bounded", name, took)
		} else if took > time.Second {
			t.Logf("%s: %v", name, took)
		}
	}
}

func FuzzScan(f *testing.F) {
	for name, text := range disguises(token) {
		f.Add(name, []byte(text))
	}
	for name, text := range hard(200) {
		f.Add(name, []byte(text))
	}
	s, n := with(f, secretscan.Options{Formats: true}, token), 0
	f.Fuzz(func(t *testing.T, path string, content []byte) {
		if n++; n%2000 == 0 { // what contents share has an end
			s = with(t, secretscan.Options{Formats: true}, token)
		}
		for _, h := range s.File(path, nil, content) {
			checkSilent(t, []secretscan.Hit{h}, token)
			if h.Line < 0 || h.Line > 1+strings.Count(string(content), "\n") {
				t.Errorf("line %d of %d", h.Line, 1+strings.Count(string(content), "\n"))
			}
		}
		masked := string(s.Mask(content))
		if strings.Contains(masked, token) {
			t.Errorf("Mask(%q) = %q", content, masked)
		}
		if got := s.File("a", nil, append(append(content[:len(content):len(content)], '\n'), token...)); len(got) == 0 {
			t.Error("a token behind the content is not found")
		}
	})
}

// The dearest contents that are known, of 8 MB each, and many that are small: what
// bounds them is maxWork for one, and what all contents share (budget.go).
func BenchmarkHard(b *testing.B) {
	contents := hard(8 << 20)
	for _, name := range []string{"kubernetes", "jwt", "curl", "key words", "gzip in base64", "tokens", "bomb"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := with(b, secretscan.Options{Formats: true}, token)
				s.File("a.yaml", nil, []byte(contents[name]))
			}
		})
	}
	for name, text := range map[string]string{"2000 files/glpat": strings.Repeat("glpat-", 8<<10), "2000 files/bomb": gzipped(strings.Repeat("\x00", 16<<20))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := with(b, secretscan.Options{Formats: true}, token)
				for n := range 2000 {
					s.File(fmt.Sprint(n), nil, []byte(text))
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	var code strings.Builder
	files, _ := filepath.Glob("../../*/*.go")
	for _, file := range files {
		content, _ := os.ReadFile(file)
		if !strings.Contains(file, "_test.go") {
			code.Write(content)
		}
	}
	text := []byte(code.String())
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	values := []string{token, "sk-ant-api03-Zm9vYmFyYmF6cXV4cXV1eGNvcmdl_Q1w-2AA"}
	for i := range 20 {
		values = append(values, fmt.Sprintf("%x-%x", rnd.Uint64(), rnd.Uint64()+uint64(i)))
	}
	for _, bench := range []struct {
		name    string
		formats bool
		known   []string
		content []byte
	}{
		{"code/known", false, values[:2], text},
		{"code/known of 22", false, values, text},
		{"code/formats", true, values[:2], text},
		{"noise/known", false, values[:2], noise},
		{"noise/formats", true, values[:2], noise},
	} {
		s := with(b, secretscan.Options{Formats: bench.formats}, bench.known...)
		s.Text("warm up the rules")
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.content)))
			b.ReportAllocs()
			for b.Loop() {
				s.File("a.go", nil, bench.content)
			}
		})
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			with(b, secretscan.Options{Formats: true}, values[:2]...).Text("a text")
		}
	})
}
