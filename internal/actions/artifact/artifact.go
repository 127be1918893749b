// Package artifact uploads artifacts of a workflow run by the runner's results service, as
// actions/upload-artifact does since its version 4 (github.com/actions/toolkit, packages/artifact):
// a signed address, blocks of a zip, a list of the blocks, and a digest.
package artifact

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/lib/secret"
)

// ErrExists is an artifact of a name that the run has already: names are given once.
var ErrExists = errors.New("the run has an artifact of this name already")

// Service is the runner's results service.
type Service struct {
	HTTP  *http.Client
	Delay time.Duration // the first wait before a request is sent again; it doubles. 0: a second

	url      string // scheme and host
	token    secret.String
	run, job string // as the service calls them
}

// Find finds the service in the environment of a step; nil: the runner has none.
func Find(getenv func(string) string) (*Service, error) {
	address, token := getenv("ACTIONS_RESULTS_URL"), getenv("ACTIONS_RUNTIME_TOKEN")
	if address == "" || token == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("ACTIONS_RESULTS_URL is no address of a results service")
	}
	s := &Service{HTTP: &http.Client{Timeout: oneRequest}, url: u.Scheme + "://" + u.Host, token: secret.New(token)}
	if s.run, s.job, err = backend(token); err != nil {
		return nil, fmt.Errorf("ACTIONS_RUNTIME_TOKEN: %w", err)
	}
	return s, nil
}

// backend reads from the token, a JWT, how the service calls the run and the job: its scopes
// hold Actions.Results:RUN:JOB. Who it is from is the service's to check.
func backend(token string) (run, job string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("it is no JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return "", "", errors.New("its payload is no base64")
	}
	var claims struct {
		Scopes string `json:"scp"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return "", "", errors.New("its payload is no JSON")
	}
	for scope := range strings.FieldsSeq(claims.Scopes) {
		if words := strings.Split(scope, ":"); len(words) == 3 && words[0] == "Actions.Results" && words[1] != "" && words[2] != "" {
			return words[1], words[2], nil
		}
	}
	return "", "", errors.New("it has no scope Actions.Results, with which artifacts are uploaded")
}

const (
	blockBytes = 8 << 20
	attempts   = 5
	maxAnswer  = 1 << 20
	oneRequest = time.Minute // of at most blockBytes
)

// Upload makes an artifact of the files of a directory, which has no directories. The error is
// ErrExists if the name is taken, which may be by an attempt of this Upload whose answer was lost.
func (s *Service) Upload(ctx context.Context, name, dir string) error {
	f, err := zipped(dir)
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	if err := s.upload(ctx, name, f); err != nil {
		return fmt.Errorf("upload the artifact %s: %w", name, err)
	}
	return nil
}

// zipped is a zip of a directory's files, beside it.
func zipped(dir string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(dir), "artifact-*.zip")
	if err != nil {
		return nil, err
	}
	w := zip.NewWriter(f)
	err = w.AddFS(os.DirFS(dir))
	if err = errors.Join(err, w.Close()); err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

func (s *Service) upload(ctx context.Context, name string, f *os.File) error {
	var made struct {
		OK  bool   `json:"ok"`
		URL string `json:"signed_upload_url"`
		// Camel is the other name that the JSON of Protocol Buffers allows: Gitea, Forgejo
		// and act write it.
		Camel string `json:"signedUploadUrl"`
	}
	if err := s.call(ctx, "CreateArtifact", map[string]any{"name": name, "version": 4}, &made); err != nil {
		return err
	}
	target, err := url.Parse(cmp.Or(made.URL, made.Camel))
	if err != nil || !made.OK || target.Host == "" {
		return errors.New("the service made it, and said no address to send it to")
	}
	size, sum, err := s.send(ctx, target, f)
	if err != nil {
		return err
	}
	var done struct {
		OK bool `json:"ok"`
	}
	// An int64 is a string in the JSON of Protocol Buffers.
	if err := s.call(ctx, "FinalizeArtifact", map[string]any{"name": name, "size": strconv.FormatInt(size, 10), "hash": "sha256:" + sum}, &done); err != nil {
		return err
	}
	if !done.OK {
		return errors.New("the service did not take it")
	}
	return nil
}

// send sends a file in blocks, and then their list, which is what all stores of artifacts take.
func (s *Service) send(ctx context.Context, target *url.URL, f *os.File) (size int64, sum string, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, "", err
	}
	digest, block := sha256.New(), make([]byte, blockBytes)
	var list bytes.Buffer
	list.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for n := 0; ; n++ {
		read, err := io.ReadFull(f, block)
		if read == 0 && errors.Is(err, io.EOF) {
			break
		} else if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, "", err
		}
		id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d", n))
		if err := s.put(ctx, target, url.Values{"comp": {"block"}, "blockid": {id}}, block[:read]); err != nil {
			return 0, "", err
		}
		fmt.Fprintf(&list, "<Latest>%s</Latest>", id)
		digest.Write(block[:read])
		size += int64(read)
	}
	list.WriteString("</BlockList>")
	return size, hex.EncodeToString(digest.Sum(nil)), s.put(ctx, target, url.Values{"comp": {"blocklist"}}, list.Bytes())
}

func (s *Service) put(ctx context.Context, target *url.URL, more url.Values, body []byte) error {
	u := *target
	query := u.Query()
	for key, values := range more {
		query[key] = values
	}
	u.RawQuery = query.Encode()
	return s.again(ctx, func() (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, u.String(), bytes.NewReader(body))
		if err == nil {
			r.Header.Set("Content-Type", "application/octet-stream")
			r.Header.Set("x-ms-blob-content-type", "zip")
			r.Header.Set("x-ms-blob-type", "BlockBlob")
			r.Header.Set("x-ms-version", "2025-01-05")
		}
		return r, err
	}, nil)
}

// call calls a method of the service by Twirp.
func (s *Service) call(ctx context.Context, method string, in map[string]any, out any) error {
	in["workflow_run_backend_id"], in["workflow_job_run_backend_id"] = s.run, s.job
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	err = s.again(ctx, func() (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/twirp/github.actions.results.api.v1.ArtifactService/"+method, bytes.NewReader(body))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+s.token.Reveal())
		}
		return r, err
	}, out)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// again sends a request until it is answered for good.
func (s *Service) again(ctx context.Context, request func() (*http.Request, error), out any) error {
	delay := max(s.Delay, 0)
	if delay == 0 {
		delay = time.Second
	}
	for n := 1; ; n++ {
		wait, err := s.once(request, out)
		if wait < 0 || err == nil {
			return err
		}
		if n == attempts {
			return fmt.Errorf("%w (tried %d times)", err, n)
		}
		wait = max(wait, delay/2+rand.N(delay))
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return fmt.Errorf("%w (no time left to try again)", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-timer.C:
		}
		delay *= 2
	}
}

// once sends a request; wait is how long to wait at least before it is sent again, below 0:
// that would not help. Addresses have a signature in them: no error shows one.
func (s *Service) once(request func() (*http.Request, error), out any) (wait time.Duration, err error) {
	r, err := request()
	if err != nil {
		return -1, err
	}
	answer, err := s.HTTP.Do(r)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if r.Context().Err() != nil {
			return -1, err
		}
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch code := answer.StatusCode; {
	case code == http.StatusConflict:
		return -1, ErrExists
	case code == http.StatusTooManyRequests, code >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return time.Duration(min(max(seconds, 0), 60)) * time.Second, refusal(answer, body)
	case code < 200 || code > 299:
		return -1, refusal(answer, body)
	case err != nil:
		return 0, err
	case out == nil:
		return 0, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return -1, fmt.Errorf("the answer is no JSON: %w", err)
	}
	return 0, nil
}

// refusal is what the service said, in its own words where it has some.
func refusal(answer *http.Response, body []byte) error {
	var said struct {
		Msg string `json:"msg"`
	}
	if json.Unmarshal(body, &said); said.Msg != "" { //nolint:errcheck // then it said nothing
		return fmt.Errorf("%s: %s", answer.Status, printable.Clean(said.Msg, 300))
	}
	return errors.New(answer.Status)
}
