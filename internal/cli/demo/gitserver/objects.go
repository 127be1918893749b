package gitserver

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // git names its objects by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// maxObject bounds what is read of one object: a blob of 100 MB.
const maxObject = 160 << 20

var objectID = lazyregexp.New(`^[0-9a-f]{40}$`)

func (r Repository) objectPath(sha string) string {
	return filepath.Join(r.Dir, "objects", sha[:2], sha[2:])
}

// Object reads a loose object. The error wraps os.ErrNotExist for one that is
// in a pack or missing.
func (r Repository) Object(sha string) (kind string, data []byte, err error) {
	if !objectID.MatchString(sha) {
		return "", nil, fmt.Errorf("%q is no object id", sha)
	}
	file, err := os.Open(r.objectPath(sha))
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	inflated, err := zlib.NewReader(file)
	if err != nil {
		return "", nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(inflated, maxObject))
	if err != nil {
		return "", nil, err
	}
	header, data, ok := bytes.Cut(raw, []byte{0})
	if !ok {
		return "", nil, errors.New("object without a header")
	}
	kind, _, _ = strings.Cut(string(header), " ")
	return kind, data, nil
}

// deflaters are kept: a new one clears a megabyte, for objects of some bytes.
var deflaters = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // a level that there is
	return w
}}

// Write stores a loose object and returns its id.
func (r Repository) Write(kind string, data []byte) (string, error) {
	header := fmt.Appendf(nil, "%s %d\x00", kind, len(data))
	sum := sha1.New() //nolint:gosec // git names its objects by SHA-1
	sum.Write(header)
	sum.Write(data)
	sha := hex.EncodeToString(sum.Sum(nil))
	path := r.objectPath(sha)
	if _, err := os.Stat(path); err == nil {
		return sha, nil
	}
	var deflated bytes.Buffer
	writer := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(writer)
	writer.Reset(&deflated)
	_, headerErr := writer.Write(header)
	_, dataErr := writer.Write(data)
	if err := errors.Join(headerErr, dataErr, writer.Close(), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
		return "", err
	}
	temp := path + "." + rand.Text()
	if err := os.WriteFile(temp, deflated.Bytes(), 0o444); err != nil {
		return "", err
	}
	return sha, os.Rename(temp, path)
}

// Entry is an entry of a tree; its mode is git's, 40000 for a tree.
type Entry struct{ Mode, Name, ID string }

// IsTree reports whether the entry is a directory.
func (e Entry) IsTree() bool { return e.Mode == "40000" }

// ParseTree reads the entries of a tree.
func ParseTree(data []byte) ([]Entry, error) {
	var entries []Entry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, found := strings.Cut(string(head), " ")
		if !ok || !found || len(rest) < sha1.Size {
			return nil, errors.New("the tree is broken")
		}
		entries = append(entries, Entry{mode, name, hex.EncodeToString(rest[:sha1.Size])})
		data = rest[sha1.Size:]
	}
	return entries, nil
}

// WriteTree stores a tree. It sorts the entries.
func (r Repository) WriteTree(entries []Entry) (string, error) {
	// Git sorts a directory as if its name ended in a slash.
	sortName := func(e Entry) string {
		if e.IsTree() {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(sortName(a), sortName(b)) })
	var data []byte
	for _, e := range entries {
		id, err := hex.DecodeString(e.ID)
		if err != nil {
			return "", err
		}
		data = fmt.Appendf(data, "%s %s\x00", e.Mode, e.Name)
		data = append(data, id...)
	}
	return r.Write("tree", data)
}
