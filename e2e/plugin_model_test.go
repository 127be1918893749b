//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// witness stands in front of a model and keeps each request as it was sent: what
// hooks tell the agent is in no user message.
type witness struct {
	URL string

	mu   sync.Mutex
	seen []string
}

func newWitness(t *testing.T, m *model) *witness {
	t.Helper()
	w := &witness{}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/messages") && bytes.Contains(body, []byte(`"tools":[{`)) {
			w.mu.Lock()
			w.seen = append(w.seen, string(body))
			w.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.ServeHTTP(rw, r)
	}))
	w.URL = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return w
}

// requests are what was sent so far, but for questions on the side.
func (w *witness) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.seen...)
}
