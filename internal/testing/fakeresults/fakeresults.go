// Package fakeresults is the runner's results service for tests: it takes artifacts as
// GitHub does, each name once, and only what is whole.
package fakeresults

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Token is a token of a job, as the runner gives one.
var Token = "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(`{"scp":"Actions.GenericRead:0000 Actions.Results:run-1:job-1 Actions.UploadArtifacts:0000"}`)) + ".c2lnbmF0dXJlLW9mLXRoZS1ydW5uZXI"

// Server is the service.
type Server struct {
	*httptest.Server
	// Fault, unless it is nil, answers a request in the service's place if it returns a
	// status; below 0, the request takes effect and its answer is lost. A step is
	// CreateArtifact, block, blocklist or FinalizeArtifact. It counts from 1.
	Fault func(step string, count int) (status int)
	// Camel says names of fields as Gitea's service does.
	Camel bool
	// After, unless it is nil, is called when a request has taken effect, before its answer.
	After func(step string, count int)

	dir string
	mu  sync.Mutex
	all map[string]*artifact
	n   map[string]int
	got []string
}

type artifact struct {
	blocks map[string][]byte
	whole  []byte
	done   bool
}

// New starts a service that keeps the files of its artifacts below dir, a directory of its
// name for each, as actions/download-artifact makes them.
func New(t testing.TB, dir string) *Server {
	s := &Server{dir: dir, all: map[string]*artifact{}, n: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve)) // so that it is there when the first request comes
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Faults sets Fault once the service runs, Afters After.
func (s *Server) Faults(f func(step string, count int) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = f
}

// Afters is like Faults.
func (s *Server) Afters(f func(step string, count int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.After = f
}

// Finished are the names of the artifacts that are whole, in the order in which they came.
func (s *Server) Finished() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := filepath.Base(r.URL.Path)
	if comp := r.URL.Query().Get("comp"); comp != "" {
		step = comp
	}
	s.n[step]++
	if s.Fault != nil {
		status := s.Fault(step, s.n[step])
		if status > 0 {
			w.WriteHeader(status)
			return
		}
		if status < 0 {
			defer panic(http.ErrAbortHandler)
			w = httptest.NewRecorder()
		}
	}
	if s.After != nil {
		defer s.After(step, s.n[step])
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		if r.Method == http.MethodPut {
			err = s.put(r, step, body)
			if err == nil {
				w.WriteHeader(http.StatusCreated)
				return
			}
		} else {
			var answer any
			if answer, err = s.call(r, step, body); err == nil {
				_ = json.NewEncoder(w).Encode(answer) // the client is gone
				return
			}
		}
	}
	status, taken := http.StatusBadRequest, refused("")
	if as, ok := err.(refused); ok { //nolint:errorlint // it is not wrapped
		status, taken = http.StatusConflict, as
		err = taken
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "invalid_argument", "msg": err.Error()}) // as above
}

// refused is a conflict.
type refused string

func (r refused) Error() string { return string(r) }

func (s *Server) call(r *http.Request, method string, body []byte) (any, error) {
	var in struct {
		Run     string `json:"workflow_run_backend_id"`
		Job     string `json:"workflow_job_run_backend_id"`
		Name    string `json:"name"`
		Version int    `json:"version"`
		Size    string `json:"size"`
		Hash    string `json:"hash"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	a := s.all[in.Name]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		return nil, fmt.Errorf("it is not the job's token")
	case in.Run != "run-1" || in.Job != "job-1" || in.Name == "":
		return nil, fmt.Errorf("run %q, job %q, name %q", in.Run, in.Job, in.Name)
	case method == "CreateArtifact" && a != nil:
		return nil, refused("an artifact with this name already exists on the workflow run")
	case method == "CreateArtifact" && in.Version != 4:
		return nil, fmt.Errorf("version %d", in.Version)
	case method == "CreateArtifact":
		s.all[in.Name] = &artifact{blocks: map[string][]byte{}}
		return map[string]any{"ok": true, map[bool]string{false: "signed_upload_url", true: "signedUploadUrl"}[s.Camel]: s.URL + "/store/" + url.PathEscape(in.Name) + "?sig=secret%2Bsignature"}, nil
	case method != "FinalizeArtifact" || a == nil || a.done:
		return nil, fmt.Errorf("%s of %q", method, in.Name)
	}
	sum := sha256.Sum256(a.whole)
	if in.Hash != "sha256:"+hex.EncodeToString(sum[:]) || in.Size != strconv.Itoa(len(a.whole)) {
		return nil, fmt.Errorf("%s bytes of %s, and %d bytes of %x came", in.Size, in.Hash, len(a.whole), sum)
	}
	if err := s.unpack(in.Name, a.whole); err != nil {
		return nil, err
	}
	a.done, s.got = true, append(s.got, in.Name)
	return map[string]any{"ok": true, "artifact_id": strconv.Itoa(len(s.got))}, nil
}

func (s *Server) put(r *http.Request, step string, body []byte) error {
	a, query := s.all[filepath.Base(r.URL.Path)], r.URL.Query()
	switch {
	case a == nil || a.done || query.Get("sig") != "secret+signature" || r.Header.Get("Authorization") != "":
		return fmt.Errorf("%s is no address of mine", r.URL.Path)
	case step == "block" && query.Get("blockid") != "":
		a.blocks[query.Get("blockid")] = body
		return nil
	case step != "blocklist":
		return fmt.Errorf("%s of a block", step)
	}
	var list struct {
		Latest []string `xml:"Latest"`
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		return err
	}
	a.whole = nil
	for _, id := range list.Latest {
		block, ok := a.blocks[id]
		if !ok {
			return fmt.Errorf("block %q never came", id)
		}
		a.whole = append(a.whole, block...)
	}
	return nil
}

func (s *Server) unpack(name string, whole []byte) error {
	r, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a script reads it
		return err
	}
	return os.CopyFS(dir, r)
}
