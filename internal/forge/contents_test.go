package forge_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/testing/openapi"
)

func TestFile(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	text := strings.Repeat("guardrails: make test\n", 10)
	answer := openapi.Example(t, "GET /repos/{owner}/{repo}/contents/{path}", 200)
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	answer["type"], answer["encoding"], answer["size"], answer["content"] = "file", "base64", len(text), encoded[:60]+"\n"+encoded[60:]+"\n"
	send := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("ref") != "release/1#2" {
			t.Errorf("ref = %q", r.URL.Query().Get("ref"))
		}
		(&ci{}).send(w, r, answer)
	}
	f.answers["GET /repos/octo/greet/contents/.github/ralph.yml"] = send
	data, ok, err := client.File(t.Context(), ".github/ralph.yml", "release/1#2")
	if err != nil || !ok || string(data) != text {
		t.Errorf("File = %q, %t, %v", data, ok, err)
	}
	if _, ok, err := client.File(t.Context(), "no such", "main"); ok || err != nil {
		t.Errorf("File(no such) = %t, %v; want none", ok, err)
	}
	answer["size"], answer["encoding"], answer["content"] = 2<<20, "none", ""
	if _, _, err := client.File(t.Context(), ".github/ralph.yml", "release/1#2"); err == nil || !strings.Contains(err.Error(), "2097152 bytes") {
		t.Errorf("File of 2 MiB: %v, want an error with its size", err)
	}
}
