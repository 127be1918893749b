package openapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/testing/openapi"
)

// A handler answers and streams as it does alone, whether it is checked or not.
func TestHandlerPassesThrough(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/broken") {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = fmt.Fprint(w, "<html>")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
	})
	for name, handler := range map[string]http.Handler{"Handler": openapi.Handler(t, next), "Requests": openapi.Requests(t, next)} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		for _, path := range []string{"/repos/octo/greet", "/api/v3/repos/octo/greet/pulls/1", "/octo/greet.git/info/refs", "/api/graphql"} {
			resp, err := server.Client().Get(server.URL + path)
			if err != nil {
				t.Fatalf("%s: GET %s: %v", name, path, err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadGateway {
				t.Errorf("%s: GET %s = %d, want 502", name, path, resp.StatusCode)
			}
		}
		if resp, err := server.Client().Get(server.URL + "/repos/octo/broken"); err == nil {
			resp.Body.Close()
			t.Errorf("%s: a broken connection answered %d", name, resp.StatusCode)
		}
	}
}
