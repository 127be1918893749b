package lfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/org/ralph-action/internal/repo/files"
)

// objectPath is where git-lfs keeps an object, below the git directory.
func objectPath(oid string) string {
	return "lfs/objects/" + oid[:2] + "/" + oid[2:4] + "/" + oid
}

// hasObject reports whether a git directory holds an object, going by its size. The
// content is looked at when it is sent.
func hasObject(common *os.Root, p Pointer) bool {
	f, info, err := files.Open(common, objectPath(p.OID))
	if err != nil {
		return false
	}
	return errors.Join(f.Close()) == nil && info.Size() == p.Size
}

// OpenObject opens an object of a git directory. The agent can write there: no
// link is followed, and the content is checked while it is sent.
func OpenObject(common *os.Root, p Pointer) (*os.File, error) {
	f, info, err := files.Open(common, objectPath(p.OID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("its object is gone from .git/lfs")
	case err != nil:
		return nil, err
	case info.Size() != p.Size:
		return nil, errors.Join(fmt.Errorf("its object in .git/lfs has %d bytes and not %d", info.Size(), p.Size), f.Close())
	}
	return f, nil
}

// verified reads an object and keeps its last bytes back when they do not make
// the content it is named by, so that nobody receives all of it.
type verified struct {
	r    io.Reader
	sum  hash.Hash
	left int64
	oid  string

	mu  sync.Mutex // a request's body is read on while its answer is
	err error      // not the network's
}

// NewVerified checks the content of a file against its pointer.
func NewVerified(file io.Reader, p Pointer) *verified {
	return &verified{r: file, sum: sha256.New(), left: p.Size, oid: p.OID}
}

func (v *verified) fault() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

func (v *verified) Read(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	if v.left == 0 {
		return 0, io.EOF
	}
	n, err := v.r.Read(p[:min(int64(len(p)), v.left)])
	v.sum.Write(p[:n])
	v.left -= int64(n)
	switch {
	case v.left == 0 && hex.EncodeToString(v.sum.Sum(nil)) != v.oid:
		v.err = errors.New("its object in .git/lfs is not the content it is named by")
	case v.left > 0 && errors.Is(err, io.EOF):
		v.err = errors.New("its object in .git/lfs was cut short")
	case err != nil && !errors.Is(err, io.EOF):
		v.err = err
	}
	if v.err != nil {
		return 0, v.err
	}
	return n, nil
}
