package secretscan_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/inspect/secretscan"
)

// fakeKey is a private key with 20 lines that are all different.
func fakeKey() (key string, lines []string) {
	for i := range 20 {
		b := make([]byte, 48)
		for j := range b {
			b[j] = byte(i*91 + j*j*37 + j*11)
		}
		lines = append(lines, base64.StdEncoding.EncodeToString(b))
	}
	return "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Join(lines, "\n") + "\n-----END " + "PRIVATE KEY-----\n", lines
}

func TestMaskTakesAllOfAPrivateKey(t *testing.T) {
	t.Parallel()
	s := with(t, secretscan.Options{Formats: true}, token)
	key, lines := fakeKey()
	for name, text := range map[string]string{
		"as it is":       "I made this:\n" + key + "and went on.",
		"without an end": "I made this:\n" + key[:strings.Index(key, "-----END")] + "and went on.",
		"quoted":         "I made this:\n> " + strings.ReplaceAll(key, "\n", "\n> ") + "and went on.",
		"in one line":    "I made this:\nk := \"" + strings.ReplaceAll(key, "\n", `\n`) + "\" and went on.",
	} {
		got := string(s.Mask([]byte(text)))
		for _, l := range lines {
			if strings.Contains(got, l[20:60]) {
				t.Errorf("%s: %q still has a line of the key", name, got)
				break
			}
		}
		if !strings.HasPrefix(got, "I made this:\n") || !strings.HasSuffix(got, "and went on.") {
			t.Errorf("%s: %q, want the rest as it was", name, got)
		}
	}
}

// What is masked is what File finds, and git apply reads the patch.
func TestMaskPatch(t *testing.T) {
	t.Parallel()
	key, lines := fakeKey()
	const password = "q8W" + "2eR4tY6uI8oP0"
	s := with(t, secretscan.Options{Formats: true, Allow: func(p string) bool { return p == "allowed.pem" }}, token)
	add := func(path, text string) string {
		return fmt.Sprintf("diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n+%s\n",
			path, path, path, strings.Count(text, "\n"), strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+"))
	}
	const published = "pat = ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE\n" // git apply compares it
	patch := "# not in this patch: x: not text, 3 bytes\n" + add("a.txt", "one\ntoken = "+token+" # mine\ntwo\n") + add(".env", "A=1\nAPI_TOKEN="+password+"\nB=2\n") +
		add("k.pem", key) + add("allowed.pem", key) + add("last", "good\n") +
		"diff --git a/old b/old\n--- a/old\n+++ b/old\n@@ -1,3 +1,3 @@\n one\n-" + published + "+" + strings.ReplaceAll(published, "7dK", "8eL") + " two\n"
	got := string(s.MaskPatch([]byte(patch)))
	if strings.Contains(got, token) || strings.Contains(got, password) || strings.Count(got, lines[10]) != 1 || strings.Contains(got, "8eL") {
		t.Errorf("a secret is left:\n%s", got)
	}
	for _, want := range []string{"# not in this patch: x", "+token = *** # mine\n", "+API_TOKEN=***\n+B=2\n", "+good\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(patch, "\n") {
		t.Error("lines are lost")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("one\n"+published+"two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "p")
	if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "apply", file)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "last")); err != nil || string(b) != "good\n" {
		t.Errorf("last = %q, %v", b, err)
	}
}

func FuzzMaskPatch(f *testing.F) {
	key, _ := fakeKey()
	f.Add([]byte("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+" + token + "\n"))
	f.Add([]byte("diff --git a/k b/k\n+++ \"b/\\303\"\n@@ \n+" + key))
	f.Add([]byte("\ndiff --git \n@@ \n\n\n"))
	s := with(f, secretscan.Options{Formats: true}, token)
	f.Fuzz(func(t *testing.T, patch []byte) {
		got := s.MaskPatch(patch)
		if strings.Contains(string(got), token) {
			t.Errorf("%q still has the secret", got)
		}
	})
}
