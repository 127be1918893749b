package repo_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	api "github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// Every request is one that GitHub's own description accepts (the forge of
// these tests checks each), and a token that may not change workflow files
// loses those alone. A signed push takes three calls.
func TestSignedOnGitHub(t *testing.T) {
	t.Parallel()
	gh := fakegithub.New(t, fakegithub.Options{})
	gh.AddToken(fakegithub.Token{Value: token})
	place, err := gh.NewRepository("octo", "greet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Commit("main", "first", map[string]gitserver.File{"a.txt": {Content: "a\n"}, "gone.txt": {Content: "gone\n"}}); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(place.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("x-access-token", token)
	dir := filepath.Join(t.TempDir(), "x")
	git(t, filepath.Dir(dir), "clone", "-q", u.String(), dir)

	client, err := api.New(api.Options{APIURL: gh.APIURL(), ServerURL: gh.URL, Repository: "octo/greet", Token: secret.New(token), Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.ProbeSigning(t.Context()); err != nil {
		t.Fatalf("ProbeSigning() = %v", err)
	}
	r := begin(t, dir, place.URL(), func(o *repo.Options) { o.Signer = client })
	write(t, filepath.Join(dir, "b.bin"), "\x00\x01")
	write(t, filepath.Join(dir, "new/text.txt"), "text\n")
	write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "on: push\n")
	for _, err := range []error{os.Remove(filepath.Join(dir, "gone.txt")), os.Symlink("a.txt", filepath.Join(dir, "link")), os.Chmod(filepath.Join(dir, "a.txt"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, c := r.checkpoint(t)
	if s := r.State(); !c.Pushed || !s.Verified || !hasNote(s.Notes, ".github/workflows/ci.yml") {
		t.Fatalf("Checkpoint() = %+v, State() = %+v, want it pushed and verified, without the workflow", c, s)
	}
	equal(t, "files", files(t, place.Dir, c.SHA), []string{"100644 b.bin", "100644 new/text.txt", "100755 a.txt", "120000 link"})

	before := len(gh.APICalls())
	write(t, filepath.Join(dir, "a.txt"), "again\n")
	_, c = r.checkpoint(t)
	equal(t, "branch", place.Branch("ralph/work"), c.SHA)
	if calls := gh.APICalls()[before:]; len(calls) != 3 {
		t.Errorf("calls = %q, want a tree, a commit and a reference", fmt.Sprint(calls))
	}
}
