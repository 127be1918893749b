package secretscan_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/inspect/secretscan"
)

func rules(hits []secretscan.Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, h.Rule)
	}
	return all
}

// A sample for every rule of gitleaks that is used, made by its own generator.
// The texts are written backwards, so that no scanner of anybody's stops here.
func TestEveryRuleOfGitleaksFinds(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/positives.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples []struct{ Rule, Path, Text string }
	if err := json.Unmarshal(content, &samples); err != nil {
		t.Fatal(err)
	}
	if len(samples) < 215 {
		t.Errorf("%d samples, want one for each rule", len(samples))
	}
	s := with(t, secretscan.Options{Formats: true})
	for _, sample := range samples {
		text := []rune(sample.Text)
		slices.Reverse(text)
		for _, around := range [][2]string{{"", ""}, {"first line\r\n", "\r\nlast line"}, {strings.Repeat("word ", 5000), "\n" + strings.Repeat("word ", 5000)}} {
			if sample.Rule == "kubernetes-secret-yaml" && len(around[0]) > 100 {
				continue
			}
			got := s.File(sample.Path, nil, []byte(around[0]+string(text)+around[1]))
			if !slices.Contains(rules(got), sample.Rule) {
				t.Errorf("File(%q, %q) = %v, want %s", sample.Path, string(text), got, sample.Rule)
			}
			for _, h := range got {
				if h.Text != "the format of a secret" && h.Text != "the format of a secret, encoded" && h.Text != "a file of this kind holds keys" {
					t.Errorf("%s: %+v says more than what it is", sample.Rule, h)
				}
			}
		}
	}
}

// Written in two parts, so that this file holds none of them.
func TestFormats(t *testing.T) {
	t.Parallel()
	s := with(t, secretscan.Options{Formats: true, Allow: func(path string) bool {
		return strings.Contains(path, "testdata/") || strings.HasPrefix(path, "docs/") && strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".golden")
	}})
	const (
		pat  = "ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE"
		stds = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7VJTUt9Us8cKj"
		key  = "-----BEGIN " + "PRIVATE KEY-----\n" + stds + "\n" + stds + "\n-----END " + "PRIVATE KEY-----\n"
		jwt  = "eyJhbGciOiJSUzI1NiJ9." + "eyJqdGkiOiI4ZjE0ZTQ1ZiIsImlzcyI6ImFjbWUifQ" + ".dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"
		url  = "postgres://app:" + "s3cr9T-pw41x" + "@db.prod.acme.io:5432/app"
	)
	for _, tt := range []struct {
		name, path, text, want string
		line                   int
	}{
		{"pat", "a.go", "x := 1\ny := \"" + pat + "\"\n", "github-pat", 2},
		{"pat in brackets", "a.md", "[" + pat + "]", "github-pat", 1},
		{"pat after CRLF", "a.go", "a\r\nb\r\n" + pat + "\r\n", "github-pat", 3},
		{"pat in a lock file", "package-lock.json", pat, "github-pat", 1},
		{"pat in an image's name", "x.png", pat, "github-pat", 1},
		{"pat with gitleaks:allow", "a.go", pat + " // gitleaks:allow", "github-pat", 1},
		{"pat in UTF-16", "a.txt", wide("one\r\ntwo "+pat, false), "github-pat", 2},
		{"pat in UTF-16 BE", "a.txt", wide("one\r\ntwo "+pat, true), "github-pat", 2},
		{"pat in base64", "secret.yaml", "a: b\nc: " + base64.StdEncoding.EncodeToString([]byte("token="+pat)), "github-pat", 2},
		{"pat in gzip", "a.gz", gzipped("token=" + pat + "\n"), "github-pat", 1},
		{"pat between zeros", "a.bin", "\x00\x01\x02" + pat + "\x00\x00", "github-pat", 1},
		{"pat, a character short", "a.go", pat[:len(pat)-1] + "\n", "", 0},
		{"pat, all the same", "a.go", "ghp_" + strings.Repeat("x", 36), "", 0},
		{"pat, an example", "a.go", "ghp_" + "1234567890abcdef1234567890abcdef1234", "", 0},
		{"key", "id_rsa", "\n" + key, "private-key", 2},
		{"key in Go", "a.go", "k := \"" + strings.ReplaceAll(key, "\n", `\n`) + "\"", "private-key", 1},
		{"key without an end", "a.pem", key[:120], "private-key", 1},
		{"key of the OpenSSH kind", "k", strings.ReplaceAll(key, "PRIVATE", "OPENSSH "+"PRIVATE"), "private-key", 1},
		{"code that reads keys", "a.go", "begin := \"-----BEGIN PRIVATE KEY-----\"\nend := \"-----END PRIVATE KEY-----\"\n" + strings.Repeat("a := b()\n", 100), "", 0},
		{"public key", "a.pem", strings.ReplaceAll(key, "PRIVATE", "PUBLIC"), "", 0},
		{"jwt", "a.go", "auth := \"" + jwt + "\"", "jwt", 1},
		{"jwt of jwt.io", "a.go", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "", 0},
		{"AWS, the documents' key", "a.go", "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", 0},
		{"AWS, both", "cfg", "id = AKIA" + "2OGYBAH6STMMNXNN\naws_secret_access_key = " + "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\n", "aws-secret-access-key", 2},
		{"Stripe, the documents' key", "a.go", "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc", "", 0},
		{"Stripe", "a.go", "\"sk_live_" + "9aB3cD5eF7gH1iJ2kL4mN6oP\"", "stripe-access-token", 1},
		{"address", "a.yml", "db: " + url, "url-password", 1},
		{"address of here", "a.yml", "db: " + strings.ReplaceAll(url, "db.prod.acme.io", "localhost"), "", 0},
		{"address with a variable", "a.yml", "db: postgres://app:${DB_PASSWORD_1}@db.prod.acme.io/app", "", 0},
		{"address without a password", "a.yml", "see https://acme.io/users/@me:12345678 and ssh://git@acme.io", "", 0},
		{"dotenv", ".env", "A=1\nexport API_TOKEN=\"q8W" + "2eR4tY6uI8oP0\"\n", "dotenv-secret", 2},
		{"dotenv, an example", ".env.example", "API_TOKEN=your-token-goes-here-1", "", 0},
		{"dotenv elsewhere", "a.go", "API_TOKEN=q8W" + "2eR4tY6uI8oP0", "", 0},
		{"npmrc", "pkg/.npmrc", "//r.acme.io/:_authToken=" + "0f9e8d7c6b5a49382716", "npmrc-auth", 1},
		{"npmrc with a variable", ".npmrc", "//r.acme.io/:_authToken=${NPM_TOKEN}", "", 0},
		{"netrc", ".netrc", "machine acme.io\nlogin me\npassword s3cr9Tpw\n", "netrc-password", 3},
		{"pypirc", ".pypirc", "[pypi]\nusername = me\npassword = s3cr9Tpw\n", "pypirc-password", 3},
		{"docker", ".docker/config.json", "{\"auths\":{\"acme.io\":{\"auth\":\"bWU6czNjcjlUcHc0MQ==\"}}}", "docker-auth", 1},
		{"kubeconfig", ".kube/config", "users:\n- user:\n    token: q8W2eR4tY6uI8oP0q8W2\n", "kubeconfig-credentials", 3},
		{"git credentials", ".git-credentials", "https://me:s3cr9Tpw@acme.io\n", "git-credentials", 1},
		{"anthropic", "a.go", "sk-ant-api03-" + strings.Repeat("aB3-dE5_", 11) + "fG7hIAA", "anthropic-token", 1},
		{"commit in sourcegraph's code", "a.go", "sourcegraph at 6d2fabeb6add229bc199faba28fd3efb57df0bd3\n", "", 0},
		{"allowed folder", "testdata/keys/a.pem", key, "", 0},
		{"allowed glob", "docs/a/b.md", pat, "", 0},
		{"allowed name", "x/y/out.golden", pat, "", 0},
		{"a .gitleaks.toml allows nothing", ".gitleaks.toml", "[allowlist]\npaths=['.*']\n# " + pat, "github-pat", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := s.File(tt.path, nil, []byte(tt.text))
			checkSilent(t, got, pat)
			if tt.want == "" {
				if len(got) != 0 {
					t.Errorf("File(%q) = %v, want nothing", tt.text, got)
				}
				return
			}
			if !slices.ContainsFunc(got, func(h secretscan.Hit) bool { return h.Rule == tt.want && h.Line == tt.line }) {
				t.Errorf("File(%q) = %+v, want %s in line %d", tt.text, got, tt.want, tt.line)
			}
		})
	}
}

func TestFormatsThatTheBaseHas(t *testing.T) {
	t.Parallel()
	s := with(t, secretscan.Options{Formats: true})
	const pat, other = "ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE", "ghp_" + "9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE7dK2mQ"
	old := []byte("a\n" + pat + "\nb\n")
	if got := s.File("a", old, []byte("new line\na\n"+pat+"\nb\n")); len(got) != 0 {
		t.Errorf("File with the base's token = %v, want nothing", got)
	}
	if got := s.File("a", old, []byte(pat+"\n"+other+"\n")); len(got) != 1 || got[0].Line != 2 {
		t.Errorf("File with another token = %v, want line 2", got)
	}
	if got := s.File("cert.p12", nil, []byte("x")); len(got) != 1 || got[0].Line != 0 || got[0].Rule != "pkcs12-file" {
		t.Errorf("File of a key store = %v, want it by its name", got)
	}
	if got := s.File("cert.p12", []byte("y"), []byte("x")); len(got) != 0 {
		t.Errorf("File of a key store in the base = %v, want nothing", got)
	}
}

func TestFormatsThatOtherFilesHad(t *testing.T) {
	t.Parallel()
	const pat, other, known = "ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE", "ghp_" + "9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE7dK2mQ", "Zq8" + "vT2mXw9rKd4Lp7NcB"
	s := with(t, secretscan.Options{Formats: true}, known)
	asked := 0
	had := func(yield func([]byte) bool) {
		asked++
		_ = yield([]byte("a\n"+known+"\n")) && yield([]byte("b\n"+pat+"\nc\n"))
	}
	if got := s.File("a", nil, []byte("moved\n"+pat+"\n"), had); len(got) != 0 {
		t.Errorf("File with a token that another file had = %v, want nothing", got)
	}
	if got := s.File("a", nil, []byte("moved\n"+pat+"\n"+other+"\n"), had); len(got) != 1 || got[0].Line != 3 {
		t.Errorf("File with a token of its own = %v, want line 3", got)
	}
	if got := s.File("a", nil, []byte(known+"\n"), had); len(got) != 1 || got[0].Rule != secretscan.KnownRule {
		t.Errorf("File with a secret of this run = %v, want it found: it is no made-up one", got)
	}
	if asked = 0; len(s.File("a", []byte(pat), []byte("new\n"+pat), had)) != 0 || asked != 0 {
		t.Errorf("asked for the other files %d times, want not without need", asked)
	}
}
