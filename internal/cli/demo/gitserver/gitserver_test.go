package gitserver_test

import (
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

func TestBranch(t *testing.T) {
	t.Parallel()
	r, err := gitserver.Init(filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	sha, err := r.Commit("a/b", "first", map[string]gitserver.File{"x/y": {Content: "z"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a/b": sha, "a": "", "main": "", "../heads/a/b": "", "": ""} {
		if got := r.Branch(name); got != want {
			t.Errorf("Branch(%q) = %q, want %q", name, got, want)
		}
	}
	if kind, _, err := r.Object(sha); kind != "commit" || err != nil {
		t.Errorf("Object(%s) = %q, %v, want a commit", sha, kind, err)
	}
	if _, _, err := r.Object("../x"); err == nil {
		t.Error("Object(../x) = nil error, want one")
	}
}
