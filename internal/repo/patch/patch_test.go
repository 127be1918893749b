package patch

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/store"
)

// Once a patch is full nothing more is read and compared.
func TestWriteStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	var changes []store.Change
	for i := range 100 {
		e := store.Entry{Mode: filemode.Regular, Hash: plumbing.NewHash(fmt.Sprintf("%040d", i+1))}
		changes = append(changes, store.Change{Path: fmt.Sprintf("%d.txt", i), New: e})
	}
	read := 0
	content := func(store.Entry) ([]byte, error) {
		read++
		return bytes.Repeat([]byte("a line\n"), 100), nil
	}
	var b bytes.Buffer
	if err := Write(&b, "", changes, content, 2000); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("too long")); n < 50 {
		t.Errorf("%d files are called too long", n)
	}
	if err := Write(io.Discard, "", changes, content, 1); err != nil {
		t.Fatal(err)
	}
	if read > 2*len(changes) {
		t.Errorf("%d files were read", read)
	}
}
