package worktree

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func deflated(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What an agent can put in the place of an object is not taken for one, and keeps nobody
// waiting.
func TestLoose(t *testing.T) {
	t.Parallel()
	const limit = 1000
	content := "content\n"
	blob := plumbing.ComputeHash(plumbing.BlobObject, []byte(content))
	zeros := strings.Repeat("0", limit+1)
	file := func(text string) func(at string) error {
		return func(at string) error { return os.WriteFile(at, deflated(t, text), 0o444) }
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := file("blob 8\x00" + content)(elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		id   plumbing.Hash
		put  func(at string) error
		want bool
	}{
		{"there", blob, file("blob 8\x00" + content), true},
		{"the largest", plumbing.ComputeHash(plumbing.BlobObject, []byte(zeros[:limit])), file(fmt.Sprintf("blob %d\x00%s", limit, zeros[:limit])), true},
		{"not there", blob, func(string) error { return nil }, false},
		{"another content", blob, file("blob 8\x00CONTENT\n"), false},
		{"another kind", blob, file("tree 8\x00" + content), false},
		{"no kind", blob, file("blub 8\x00" + content), false},
		{"another length", blob, file("blob 9\x00" + content), false},
		{"a length that git does not write", blob, file("blob 08\x00" + content), false},
		{"no content", blob, file("blob 8"), false},
		{"empty", blob, func(at string) error { return os.WriteFile(at, nil, 0o444) }, false},
		{"cut short", blob, func(at string) error { return os.WriteFile(at, deflated(t, "blob 8\x00"+content)[:12], 0o444) }, false},
		{"too large", plumbing.ComputeHash(plumbing.BlobObject, []byte(zeros)), file(fmt.Sprintf("blob %d\x00%s", len(zeros), zeros)), false},
		{"a head without an end", blob, file(strings.Repeat("b", 1<<20)), false},
		{"a pipe", blob, func(at string) error { return syscall.Mkfifo(at, 0o600) }, false},
		{"a directory", blob, func(at string) error { return os.Mkdir(at, 0o755) }, false},
		{"a link", blob, func(at string) error { return os.Symlink(elsewhere, at) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			at := filepath.Join(root.Name(), "objects", tt.id.String()[:2], tt.id.String()[2:])
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), tt.put(at)); err != nil {
				t.Fatal(err)
			}
			tree := &Tree{Common: root}
			kind, b, ok := tree.Loose(tt.id, limit)
			if ok != tt.want || ok && (kind != plumbing.BlobObject || plumbing.ComputeHash(kind, b) != tt.id) {
				t.Errorf("Loose() = %v, %q, %t, want %t", kind, b, ok, tt.want)
			}
		})
	}
}
