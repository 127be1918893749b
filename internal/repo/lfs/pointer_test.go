package lfs

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestParsePointer(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize 12\n", true},
		{"version https://git-lfs.github.com/spec/v1\next-0-foo sha256:" + sum + "\noid sha256:" + sum + "\nsize 12", true},
		{"version https://hawser.github.com/spec/v1\noid sha256:" + sum + "\nsize 0\n", true},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.ToUpper(sum) + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha1:" + sum + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:../../../../etc/passwd\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize -1\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\n", false},
		{"version https://example.com/spec/v1\noid sha256:" + sum + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize 12\n" + strings.Repeat("x", 1024), false},
		{"", false},
	} {
		if p, ok := parsePointer([]byte(tt.in)); ok != tt.ok || ok && p.OID != sum {
			t.Errorf("parsePointer(%q) = %+v, %t, want %t", tt.in, p, ok, tt.ok)
		}
	}
}

// A pointer never leads out of the folder of the objects.
func FuzzParsePointer(f *testing.F) {
	f.Add([]byte(Probe))
	f.Add([]byte("version http://git-media.io/v/2\nsize 9\noid sha256:"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePointer(b)
		if ok && (p.Size < 0 || len(p.OID) != 64 || strings.Trim(p.OID, "0123456789abcdef") != "" || !filepath.IsLocal(objectPath(p.OID))) {
			t.Errorf("parsePointer(%q) = %+v", b, p)
		}
	})
}
