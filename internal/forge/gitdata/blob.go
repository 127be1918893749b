package gitdata

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

const (
	// maxInline is the largest text that travels in a tree's request.
	maxInline = 512 << 10
	// maxUploads is how many blobs are uploaded at once. GitHub documents 100
	// requests at a time for everything a token does.
	maxUploads = 8
)

// storeBlobs uploads what does not travel in the tree's requests and returns
// the entries of the tree.
func (s *Signer) storeBlobs(ctx context.Context, files []GitFile, inline bool) ([]gitEntry, error) {
	entries := make([]gitEntry, len(files))
	var uploads []GitFile
	seen := map[string]bool{}
	for i, f := range files {
		entries[i] = newEntry(f)
		if f.ID == "" || f.Open == nil {
			continue
		}
		if inline && f.Size <= maxInline {
			text, err := content(f)
			if err != nil {
				return nil, err
			}
			// It is read again when it is its turn: all of them at once may be much.
			entries[i].inline = utf8.Valid(text) && bytes.IndexByte(text, 0) < 0
		}
		if !entries[i].inline && !seen[f.ID] {
			seen[f.ID] = true
			uploads = append(uploads, f)
		}
	}
	return entries, s.uploadAll(ctx, uploads)
}

// content reads a small blob.
func content(f GitFile) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInline+1))
	return b, errors.Join(err, r.Close())
}

// uploadAll uploads blobs, some at a time, and stops at the first failure.
func (s *Signer) uploadAll(ctx context.Context, files []GitFile) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan GitFile)
	var workers sync.WaitGroup
	for range min(maxUploads, len(files)) {
		workers.Go(func() {
			for f := range next {
				if err := s.upload(ctx, f); err != nil {
					cancel(err) // the first one stays
				}
			}
		})
	}
feed:
	for _, f := range files {
		select {
		case next <- f:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// upload sends one blob, read and encoded while it is sent.
func (s *Signer) upload(ctx context.Context, f GitFile) error {
	operation := fmt.Sprintf("upload %q (%d bytes)", s.api.Clean(f.Path), f.Size)
	req, err := s.api.NewRequest(ctx, http.MethodPost, s.api.Path("/git/blobs"), nil)
	if err != nil {
		return err
	}
	const head, tail = `{"encoding":"base64","content":"`, `"}`
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = int64(len(head)) + (f.Size+2)/3*4 + int64(len(tail))
	req.Body = http.NoBody // each attempt opens its own
	req.GetBody = func() (io.ReadCloser, error) {
		r, err := f.Open()
		if err != nil {
			return nil, api.PermanentError{Err: err}
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(head), &encoder{r: r}, strings.NewReader(tail)), r}, nil
	}
	var answer github.Blob
	if _, err := s.api.Do(req, &answer); err != nil {
		if s.tooLarge(err) && api.Status(err) != 0 {
			return fmt.Errorf("%s: %w: use Git LFS, ignore it, or set sign-commits to false", operation, s.explainGit("create a blob", []GitFile{f}, err))
		}
		return s.explainGit(operation, []GitFile{f}, err)
	}
	if answer.GetSHA() != f.ID {
		return fmt.Errorf("%s in %s: the forge made %s of it, want %s", operation, s.api.Where(), s.api.Clean(answer.GetSHA()), f.ID)
	}
	return nil
}

// encoder reads r in base64.
type encoder struct {
	r    io.Reader
	raw  [24 << 10]byte // a multiple of three
	text []byte         // not yet read
	buf  [32 << 10]byte
	err  error
}

func (e *encoder) Read(p []byte) (int, error) {
	if len(e.text) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		n, err := io.ReadFull(e.r, e.raw[:])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		e.err = err
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		base64.StdEncoding.Encode(e.buf[:], e.raw[:n])
		e.text = e.buf[:base64.StdEncoding.EncodedLen(n)]
	}
	n := copy(p, e.text)
	e.text = e.text[n:]
	if n == 0 && len(p) > 0 {
		return 0, e.err
	}
	return n, nil
}
