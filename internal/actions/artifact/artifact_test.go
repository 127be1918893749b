package artifact_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/actions/artifact"
	"github.com/org/ralph-action/internal/testing/fakeresults"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		if i := slices.Index(pairs, name); i >= 0 {
			return pairs[i+1]
		}
		return ""
	}
}

func open(t *testing.T, url string) *artifact.Service {
	t.Helper()
	s, err := artifact.Find(env("ACTIONS_RESULTS_URL", url, "ACTIONS_RUNTIME_TOKEN", fakeresults.Token))
	if err != nil {
		t.Fatal(err)
	}
	s.Delay = time.Millisecond
	return s
}

// Files of many blocks arrive as they are, under a name that is given once.
func TestUpload(t *testing.T) {
	t.Parallel()
	kept, dir := t.TempDir(), filepath.Join(t.TempDir(), "lane")
	server := fakeresults.New(t, kept)
	s := open(t, server.URL+"/some/path")
	big := make([]byte, 9<<20) // more than a block
	_, _ = rand.Read(big)
	files := map[string][]byte{"lane.json": []byte("{}\n"), "lane.bundle": big, "empty": nil}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, camel := range map[string]bool{"ralph-lane-1": false, "ralph-lane-2": true} {
		server.Camel = camel
		if err := s.Upload(t.Context(), name, dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(kept, "ralph-lane-1", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes (%v), want %d", name, len(got), err, len(want))
		}
	}
	if err := s.Upload(t.Context(), "ralph-lane-1", dir); !errors.Is(err, artifact.ErrExists) {
		t.Errorf("Upload, a second time = %v, want ErrExists", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "artifact-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What fails for a while is sent again, what fails for good is said without the signed
// address, and nothing is waited for longer than the context allows.
func TestFaults(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lane")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "lane.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		step          string
		status, times int
		want          string // empty: it arrives
	}{
		{"CreateArtifact", 503, 3, ""},
		{"block", 500, 2, ""},
		{"blocklist", 429, 1, ""},
		{"FinalizeArtifact", 502, 4, ""},
		{"CreateArtifact", 500, 99, "CreateArtifact: 500 Internal Server Error (tried 5 times)"},
		{"CreateArtifact", 401, 1, "CreateArtifact: 401 Unauthorized"},
		{"block", 403, 1, "403 Forbidden"},
		{"FinalizeArtifact", 500, 99, "tried 5 times"},
	} {
		server := fakeresults.New(t, t.TempDir())
		server.Faults(func(step string, n int) int {
			if step == tt.step && n <= tt.times {
				return tt.status
			}
			return 0
		})
		err := open(t, server.URL).Upload(t.Context(), "a", dir)
		switch arrived := slices.Equal(server.Finished(), []string{"a"}); {
		case tt.want == "" && (err != nil || !arrived):
			t.Errorf("%s answers %d %d times: %v, want it to arrive", tt.step, tt.status, tt.times, err)
		case tt.want != "" && (err == nil || arrived || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sig")):
			t.Errorf("%s answers %d %d times: %v, want %s", tt.step, tt.status, tt.times, err, tt.want)
		}
	}
	server := fakeresults.New(t, t.TempDir())
	server.Faults(func(string, int) int { return 500 })
	s := open(t, server.URL)
	s.Delay = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Upload(ctx, "a", dir); err == nil || !strings.Contains(err.Error(), "no time left to try again") {
		t.Errorf("Upload = %v, want that there is no time", err)
	}
}

// Whatever a token says, it is not shown.
func FuzzFind(f *testing.F) {
	f.Add(fakeresults.Token)
	f.Add("a.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6OiJ9.c")
	f.Fuzz(func(t *testing.T, token string) {
		s, err := artifact.Find(env("ACTIONS_RESULTS_URL", "https://results.example", "ACTIONS_RUNTIME_TOKEN", token))
		if token != "" && (s == nil) == (err == nil) || len(token) > 40 && err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("Find(%q) = %v, %v", token, s, err)
		}
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, token, want string }{
		{"", fakeresults.Token, ""},
		{"https://results.example/", "", ""},
		{"ftp://results.example", fakeresults.Token, "ACTIONS_RESULTS_URL is no address"},
		{"https://results.example", "opaque-token", "ACTIONS_RUNTIME_TOKEN: it is no JWT"},
		{"https://results.example", "a.!.c", "no base64"},
		{"https://results.example", "a.e30x.c", "no JSON"},
		{"https://results.example", "a.e30.c", "no scope Actions.Results"},
	} {
		s, err := artifact.Find(env("ACTIONS_RESULTS_URL", tt.url, "ACTIONS_RUNTIME_TOKEN", tt.token))
		if tt.want == "" && (s != nil || err != nil) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.token)) {
			t.Errorf("Find(%q, %q) = %v, %v, want %q", tt.url, tt.token, s, err, tt.want)
		}
	}
}
