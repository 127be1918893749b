package worktree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/utils/sync"

	"github.com/org/ralph-action/internal/repo/files"
)

// maxObjectHead is more than the kind and the size in front of an object take.
const maxObjectHead = 32

// Loose reads an object of at most limit bytes that lies in a file of its own, as what git
// has just written does, and checks it by its id. Where ok is false it may be in a pack, or
// be spoiled: git is the one to ask.
func (t *Tree) Loose(h plumbing.Hash, limit int64) (kind plumbing.ObjectType, content []byte, ok bool) {
	id := h.String()
	f, info, err := files.Open(t.Common, "objects/"+id[:2]+"/"+id[2:])
	if err != nil {
		return plumbing.InvalidObject, nil, false
	}
	defer f.Close()
	if info.Size() > limit {
		return plumbing.InvalidObject, nil, false
	}
	z, err := sync.GetZlibReader(io.LimitReader(f, limit))
	if err != nil {
		return plumbing.InvalidObject, nil, false
	}
	defer sync.PutZlibReader(z)
	b, err := io.ReadAll(io.LimitReader(z.Reader, limit+maxObjectHead))
	if err != nil {
		return plumbing.InvalidObject, nil, false
	}
	head, content, _ := bytes.Cut(b[:min(len(b), maxObjectHead)], []byte{0})
	content = b[min(len(b), len(head)+1):]
	name, size, _ := bytes.Cut(head, []byte(" "))
	kind, err = plumbing.ParseObjectType(string(name))
	if err != nil || int64(len(content)) > limit || string(size) != strconv.Itoa(len(content)) || plumbing.ComputeHash(kind, content) != h {
		return plumbing.InvalidObject, nil, false
	}
	return kind, content, true
}

// LooseDeep is Loose, but not for a commit at which a shallow clone ends: git does not look
// at its parents.
func (t *Tree) LooseDeep(h plumbing.Hash, limit int64) (kind plumbing.ObjectType, content []byte, ok bool) {
	kind, content, ok = t.Loose(h, limit)
	if !ok || kind != plumbing.CommitObject {
		return kind, content, ok
	}
	ends, err := files.Read(t.Common, "shallow", maxShallowBytes)
	ok = errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(ends, []byte(h.String()))
	return kind, content, ok
}
