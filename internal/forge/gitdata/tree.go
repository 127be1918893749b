package gitdata

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

// Bounds of one request for a tree. GitHub ends a request after some ten
// seconds with 502, or 422 "your input was too large to process": people met
// that from 2.5 MB or some 200 files of text (codesandbox-client 8614,
// ir-engine 647), and 500 entries passed.
const (
	maxTreeBytes   = 2 << 20
	maxTreeTexts   = 150
	maxTreeEntries = 500
)

// gitEntry is an entry of a request for a tree (REST API, "Create a tree").
type gitEntry struct {
	Path    string          `json:"path"`
	Mode    string          `json:"mode"`
	Type    string          `json:"type"`
	SHA     json.RawMessage `json:"sha,omitempty"` // null removes the path
	Content *string         `json:"content,omitempty"`

	file   GitFile
	inline bool // the content is read when it is its turn
}

func newEntry(f GitFile) gitEntry {
	e := gitEntry{Path: f.Path, Mode: f.Mode, Type: "blob", SHA: json.RawMessage("null"), file: f}
	if f.ID != "" {
		e.SHA = json.RawMessage(`"` + f.ID + `"`)
	}
	if f.Mode == "160000" {
		e.Type = "commit"
	}
	return e
}

// storeEntries builds the tree in as many requests as it takes, each on top of
// the one before. What is removed goes first when a directory takes the place of a
// file, or the other way round.
func (s *Signer) storeEntries(ctx context.Context, want GitCommit, entries []gitEntry) (string, error) {
	base := want.Base
	if collide(entries) {
		var gone, rest []gitEntry
		for _, e := range entries {
			if e.file.ID == "" {
				gone = append(gone, e)
			} else {
				rest = append(rest, e)
			}
		}
		var err error
		if base, err = s.storeChunks(ctx, want, base, gone); err != nil {
			return "", err
		}
		entries = rest
	}
	return s.storeChunks(ctx, want, base, entries)
}

// collide reports whether a path is removed below or above one that is set.
func collide(entries []gitEntry) bool {
	set := make(map[string]bool, len(entries)) // path: it stays
	for _, e := range entries {
		set[e.Path] = e.file.ID != ""
	}
	for _, e := range entries {
		for i, b := range []byte(e.Path) {
			if b != '/' {
				continue
			}
			if stays, ok := set[e.Path[:i]]; ok && stays != (e.file.ID != "") {
				return true
			}
		}
	}
	return false
}

func (s *Signer) storeChunks(ctx context.Context, want GitCommit, base string, entries []gitEntry) (string, error) {
	var err error
	for len(entries) > 0 && err == nil {
		n, texts, size := 0, 0, int64(0)
		for n < len(entries) && n < maxTreeEntries {
			if e := entries[n]; e.inline {
				if n > 0 && (texts == maxTreeTexts || size+e.file.Size > maxTreeBytes) {
					break
				}
				texts, size = texts+1, size+e.file.Size
			}
			n++
		}
		base, err = s.storeChunk(ctx, want, base, entries[:n])
		entries = entries[n:]
	}
	return base, err
}

// storeChunk sends one request, or two halves of it when the forge finds it too
// large.
func (s *Signer) storeChunk(ctx context.Context, want GitCommit, base string, entries []gitEntry) (string, error) {
	request := struct {
		Base string     `json:"base_tree,omitempty"`
		Tree []gitEntry `json:"tree"`
	}{base, make([]gitEntry, len(entries))}
	if base == emptyTree {
		request.Base = ""
	}
	for i, e := range entries {
		if e.inline {
			text, err := content(e.file)
			if err != nil {
				return "", err
			}
			s := string(text)
			e.SHA, e.Content = nil, &s
		}
		request.Tree[i] = e
	}
	var answer github.Tree
	err := s.api.Call(ctx, http.MethodPost, s.api.Path("/git/trees"), request, &answer)
	switch {
	case err == nil && objectID(answer.GetSHA()):
		return answer.GetSHA(), nil
	case err == nil:
		err = errors.New("the answer names no tree")
	case len(entries) > 1 && s.tooLarge(err):
		if base, err = s.storeChunk(ctx, want, base, entries[:len(entries)/2]); err != nil {
			return "", err
		}
		return s.storeChunk(ctx, want, base, entries[len(entries)/2:])
	}
	return "", s.explainGit("create a tree", want.Files, err)
}

// tooLarge recognises a request that the forge could not finish in its time.
func (s *Signer) tooLarge(err error) bool {
	var gaveUp *api.GaveUpError
	if errors.As(err, &gaveUp) {
		return strings.HasPrefix(gaveUp.Last, "answered 50") || strings.HasPrefix(gaveUp.Last, "no answer within")
	}
	said := s.api.Said(err)
	return api.Status(err) == http.StatusRequestEntityTooLarge ||
		api.Status(err) == http.StatusUnprocessableEntity && (strings.Contains(said, "too large") || strings.Contains(said, "timed out"))
}
