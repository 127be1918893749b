package lfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
)

const (
	media = "application/vnd.git-lfs+json"
	// batchSize is how many objects git-lfs itself puts into one request.
	batchSize = 100
	// atOnce is how many objects are sent at the same time.
	atOnce = 4
	// maxBatchBytes bounds the server's answer to one request.
	maxBatchBytes = 8 << 20
)

// chunks parts files into those of one request each.
func chunks(files []File) iter.Seq[[]File] { return slices.Chunk(files, batchSize) }

// Server speaks the Git LFS batch API and its basic transfers with the server
// of the push (git-lfs docs/api/batch.md, basic-transfers.md).
type Server struct {
	remote *remote.Server
	ref    string // the branch that is to hold the objects
}

// NewServer returns the server that keeps the objects of a branch.
func NewServer(at *remote.Server, branch string) *Server {
	return &Server{remote: at, ref: "refs/heads/" + branch}
}

// Address is the server's address for LFS (docs/api/server-discovery.md).
func (s *Server) Address() string {
	u := *s.remote.URL
	if !strings.HasSuffix(u.Path, ".git") {
		u.Path += ".git"
	}
	return u.String() + "/info/lfs"
}

// Answer is what the server says of one object.
type Answer struct {
	OID           string `json:"oid"`
	Authenticated bool   `json:"authenticated"`
	Actions       struct {
		Upload *Action `json:"upload"`
		Verify *Action `json:"verify"`
	} `json:"actions"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// Action is a request that the server asks for.
type Action struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// StatusError is an answer of an LFS server that another try does not change.
type StatusError struct {
	Status int
	Text   string // foreign, cleaned
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the LFS server answers %d", e.Status)
	if t := http.StatusText(e.Status); t != "" {
		s += " " + t
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// batch asks to upload objects. An object of which the answer says neither
// actions nor an error is on the server already.
func (s *Server) batch(ctx context.Context, files []File) (map[string]Answer, error) {
	type object struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	}
	ask := struct {
		Operation string            `json:"operation"`
		Transfers []string          `json:"transfers"`
		Ref       map[string]string `json:"ref"`
		Objects   []object          `json:"objects"`
	}{Operation: "upload", Transfers: []string{"basic"}, Ref: map[string]string{"name": s.ref}}
	for _, f := range files {
		ask.Objects = append(ask.Objects, object{f.OID, f.Size})
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Transfer string   `json:"transfer"`
		Objects  []Answer `json:"objects"`
	}
	err = s.remote.Retry(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Address()+"/objects/batch", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Accept", media)
		req.Header.Set("Content-Type", media)
		s.sign(req)
		return s.do(req, func(rd io.Reader) error {
			if err := json.NewDecoder(io.LimitReader(rd, maxBatchBytes)).Decode(&answer); err != nil {
				return &StatusError{Status: http.StatusOK, Text: "not the answer of a Git LFS server"}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if answer.Transfer != "" && answer.Transfer != "basic" {
		return nil, fmt.Errorf("the LFS server wants the transfer %q, and only basic was offered", printable.Line(answer.Transfer, 60))
	}
	byOID := map[string]Answer{}
	for _, a := range answer.Objects {
		byOID[a.OID] = a
	}
	return byOID, nil
}

// Upload sends one object, as the server's answer says.
func (s *Server) Upload(ctx context.Context, f File, a Answer, open func(Pointer) (*os.File, error)) error {
	if a.Error != nil {
		return &StatusError{Status: a.Error.Code, Text: printable.Line(a.Error.Message, 300)}
	}
	if a.Actions.Upload == nil {
		return nil
	}
	err := s.remote.Retry(ctx, func() error {
		file, err := open(f.Pointer)
		if err != nil {
			return err
		}
		defer file.Close()
		content := NewVerified(file, f.Pointer)
		req, err := s.request(ctx, http.MethodPut, *a.Actions.Upload, a.Authenticated, content)
		if err != nil {
			return err
		}
		if req.ContentLength = f.Size; f.Size == 0 {
			req.Body = http.NoBody
		}
		if header(a.Actions.Upload.Header, "Transfer-Encoding") == "chunked" {
			req.ContentLength = -1
		}
		if req.Header.Get("Content-Type") == "" {
			req.Header.Set("Content-Type", "application/octet-stream")
		}
		err = s.do(req, nil)
		if fault := content.fault(); fault != nil {
			return fault // the network's error is that the body ended early
		}
		return err
	})
	if err != nil || a.Actions.Verify == nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"oid": f.OID, "size": f.Size})
	if err != nil {
		return err
	}
	return s.remote.Retry(ctx, func() error {
		req, err := s.request(ctx, http.MethodPost, *a.Actions.Verify, a.Authenticated, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Accept", media)
		req.Header.Set("Content-Type", media)
		return s.do(req, nil)
	})
}

// request carries out an action: with the headers the server gave for it, and
// with our token only to the git server itself.
func (s *Server) request(ctx context.Context, method string, a Action, authenticated bool, body io.Reader) (*http.Request, error) {
	u, err := url.Parse(a.Href)
	home := s.remote.URL
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the LFS server names %q, which is no address to send a file to", printable.Line(a.Href, 100))
	case home.Scheme == "https" && u.Scheme != "https":
		return nil, fmt.Errorf("the LFS server asks to send files to %s unencrypted", printable.Line(u.Host, 100))
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	for k, v := range a.Header {
		switch http.CanonicalHeaderKey(k) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect":
		default:
			req.Header.Set(k, v)
		}
	}
	if !authenticated && req.Header.Get("Authorization") == "" && u.Scheme == home.Scheme && u.Host == home.Host {
		s.sign(req)
	}
	return req, nil
}

func header(h map[string]string, name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return strings.ToLower(v)
		}
	}
	return ""
}

// sign adds the token of the push.
func (s *Server) sign(req *http.Request) {
	t := s.remote.Token
	if s.remote.Push.IsSet() {
		t = s.remote.Push
	}
	if t.IsSet() {
		req.SetBasicAuth("x-access-token", t.Reveal())
	}
}

// do sends a request and reads a good answer. Errors are transient, or final.
func (s *Server) do(req *http.Request, read func(io.Reader) error) error {
	req.Header.Set("User-Agent", "git-lfs/3 ("+remote.AgentName+")")
	res, err := s.remote.Exchange(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		if read == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, remote.MaxErrorBytes))
			return nil
		}
		return read(res.Body)
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, remote.MaxErrorBytes))
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &said) != nil {
		said.Message = ""
	}
	final := &StatusError{Status: res.StatusCode, Text: printable.Line(said.Message, 300)}
	wait, limited := remote.RetryAfter(res.Header)
	switch code := res.StatusCode; {
	case code == http.StatusNotImplemented, code == http.StatusInsufficientStorage, code == 509: // bandwidth
		return final
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusForbidden && limited, code == http.StatusRequestTimeout:
		return &remote.TransientError{Err: final, Wait: wait}
	}
	return final
}

// final reports whether another try with the same object cannot end better.
func final(err error) bool {
	var s *StatusError
	var t *remote.TransientError
	return errors.As(err, &s) && !errors.As(err, &t) && s.Status < 500 &&
		s.Status != http.StatusTooManyRequests && s.Status != http.StatusRequestTimeout
}
