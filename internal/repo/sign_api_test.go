package repo_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/signing"
)

// gitData is the git database of GitHub's API over the bare repository of a
// forge: real git stores the objects.
type gitData struct {
	dir  string
	temp string
	url  string

	mu       sync.Mutex
	now      int             // blobs under way
	most     int             // blobs under way at once
	calls    map[string]int  // by "METHOD last-parts"
	entries  int             // of the largest tree request
	bytes    int             // of the largest tree request
	personal bool            // the token is a person's: nothing is signed
	silent   bool            // answers do not tell how a commit is stored
	before   func(op string) // called before each request is carried out
	tamper   func(op string, answer map[string]any)
	lose     func(op string) bool // carries it out and answers nothing
}

func newGitData(t testing.TB, f *forge) *gitData {
	t.Helper()
	d := &gitData{dir: f.dir, temp: t.TempDir(), calls: map[string]int{}}
	mux := http.NewServeMux()
	for pattern, do := range map[string]func(*http.Request) (int, map[string]any){
		"POST /repos/owner/name/git/blobs": d.blob, "POST /repos/owner/name/git/trees": d.tree, "POST /repos/owner/name/git/commits": d.commit,
		"POST /repos/owner/name/git/refs": d.createRef, "PATCH /repos/owner/name/git/refs/heads/{branch...}": d.updateRef, "GET /repos/owner/name/git/ref/heads/{branch...}": d.readRef,
	} {
		op := strings.Fields(pattern)[0] + " " + strings.Split(strings.TrimPrefix(strings.Fields(pattern)[1], "/repos/owner/name/git/"), "/")[0]
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			d.mu.Lock()
			d.calls[op]++
			before, lose := d.before, d.lose
			d.mu.Unlock()
			if before != nil {
				before(op)
			}
			status, answer := do(r)
			if lose != nil && lose(op) {
				panic(http.ErrAbortHandler)
			}
			if d.tamper != nil {
				d.tamper(op, answer)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(answer)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

// signer is the API's client, as the program wires it.
func (d *gitData) signer(t testing.TB) signing.Signer {
	t.Helper()
	client, err := api.New(api.Options{APIURL: d.url, ServerURL: d.url, Repository: "owner/name", Token: secret.New(token), Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (d *gitData) option(t testing.TB) optionFunc {
	s := d.signer(t)
	return func(o *repo.Options) { o.Signer = s }
}

func (d *gitData) count(op string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[op]
}

func (d *gitData) git(stdin io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin, cmd.Env = d.dir, stdin, append(gitEnv(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

func invalid(message string) (int, map[string]any) { return 422, map[string]any{"message": message} }

func (d *gitData) blob(r *http.Request) (int, map[string]any) {
	d.mu.Lock()
	d.now++
	d.most = max(d.most, d.now)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.now--
		d.mu.Unlock()
	}()
	// Streamed, as the client does it.
	const head, tail = `{"encoding":"base64","content":"`, `"}`
	body := io.LimitReader(r.Body, r.ContentLength-int64(len(tail)))
	if got, err := io.ReadAll(io.LimitReader(body, int64(len(head)))); err != nil || string(got) != head {
		return invalid("Problems parsing JSON")
	}
	f, err := os.CreateTemp(d.temp, "blob")
	if err != nil {
		return 500, nil
	}
	defer os.Remove(f.Name())
	defer f.Close()
	size, err := io.Copy(f, base64.NewDecoder(base64.StdEncoding, body))
	if rest, _ := io.ReadAll(r.Body); err != nil || string(rest) != tail {
		return invalid("Problems parsing JSON")
	}
	if size >= 40<<20 {
		return invalid("Sorry, your input was too large to process.")
	}
	id, err := d.git(nil, nil, "hash-object", "-w", f.Name())
	if err != nil {
		return 500, map[string]any{"message": err.Error()}
	}
	return 201, map[string]any{"sha": id, "url": "x"}
}

func (d *gitData) tree(r *http.Request) (int, map[string]any) {
	raw, _ := io.ReadAll(r.Body)
	var in struct {
		Base string `json:"base_tree"`
		Tree []struct {
			Path, Mode, Type string
			SHA, Content     *string
		}
	}
	if json.Unmarshal(raw, &in) != nil || len(in.Tree) == 0 {
		return invalid("Invalid tree info")
	}
	d.mu.Lock()
	d.entries, d.bytes = max(d.entries, len(in.Tree)), max(d.bytes, len(raw))
	d.mu.Unlock()
	index, err := os.MkdirTemp(d.temp, "index")
	if err != nil {
		return 500, nil
	}
	defer os.RemoveAll(index)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(index, "index")}
	if in.Base != "" {
		if _, err := d.git(nil, env, "read-tree", in.Base); err != nil {
			return invalid("base_tree is not a valid tree oid")
		}
	}
	var info strings.Builder
	for _, e := range in.Tree {
		id := ""
		switch {
		case e.Content != nil:
			if id, err = d.git(strings.NewReader(*e.Content), nil, "hash-object", "-w", "--stdin"); err != nil {
				return 500, map[string]any{"message": err.Error()}
			}
		case e.SHA == nil:
			fmt.Fprintf(&info, "0 %040d\t%s\x00", 0, e.Path)
			continue
		default:
			id = *e.SHA
			if _, err := d.git(nil, nil, "cat-file", "-e", id); err != nil && e.Type != "commit" {
				return invalid("tree.sha " + id + " is not a valid blob")
			}
		}
		fmt.Fprintf(&info, "%s %s\t%s\x00", e.Mode, id, e.Path)
	}
	// Without --replace: a folder in the place of a file is refused.
	if _, err := d.git(strings.NewReader(info.String()), env, "update-index", "--add", "-z", "--index-info"); err != nil {
		return invalid("GitRPC::BadObjectState")
	}
	id, err := d.git(nil, env, "write-tree")
	if err != nil {
		return invalid("GitRPC::BadObjectState " + err.Error())
	}
	return 201, map[string]any{"sha": id}
}

func (d *gitData) commit(r *http.Request) (int, map[string]any) {
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *json.RawMessage
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Author != nil || in.Committer != nil {
		return invalid("no author and no committer, please")
	}
	head := "tree " + in.Tree + "\n"
	parents := []map[string]any{}
	for _, p := range append([]string{in.Tree}, in.Parents...) {
		if _, err := d.git(nil, nil, "cat-file", "-e", p); err != nil && p != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
			return invalid("Tree SHA does not exist")
		}
	}
	for _, p := range in.Parents {
		head += "parent " + p + "\n"
		parents = append(parents, map[string]any{"sha": p})
	}
	d.mu.Lock()
	at := time.Date(2026, 11, 22, 1, 0, d.calls["POST commits"], 0, time.UTC)
	d.mu.Unlock()
	head += fmt.Sprintf("author github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com> %d +0000\n", at.Unix())
	head += fmt.Sprintf("committer GitHub <noreply@github.com> %d +0000\n", at.Unix())
	verification := map[string]any{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil}
	object := head + "\n" + in.Message
	if !d.personal {
		signature := "-----BEGIN PGP SIGNATURE-----\n\nwsFcBAABCAAQ\n-----END PGP SIGNATURE-----\n"
		verification = map[string]any{"verified": true, "reason": "valid", "signature": signature, "payload": object}
		object = head + "gpgsig " + strings.ReplaceAll(signature, "\n", "\n ") + "\n\n" + in.Message
	}
	if d.silent {
		verification["signature"], verification["payload"] = nil, nil
	}
	id, err := d.git(strings.NewReader(object), nil, "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return invalid(err.Error())
	}
	who := func(name, email string) map[string]any {
		return map[string]any{"name": name, "email": email, "date": at.Format(time.RFC3339)}
	}
	return 201, map[string]any{
		"sha": id, "tree": map[string]any{"sha": in.Tree}, "parents": parents, "message": in.Message, "verification": verification,
		"author": who("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"), "committer": who("GitHub", "noreply@github.com"),
	}
}

func (d *gitData) reference(branch string) (int, map[string]any) {
	id, err := d.git(nil, nil, "rev-parse", "-q", "--verify", "refs/heads/"+branch)
	if err != nil {
		return 404, map[string]any{"message": "Not Found"}
	}
	return 200, map[string]any{"ref": "refs/heads/" + branch, "object": map[string]any{"sha": id, "type": "commit"}}
}

func (d *gitData) readRef(r *http.Request) (int, map[string]any) {
	return d.reference(r.PathValue("branch"))
}

func (d *gitData) createRef(r *http.Request) (int, map[string]any) {
	var in struct{ Ref, SHA string }
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		return invalid("Problems parsing JSON")
	}
	if _, err := d.git(nil, nil, "update-ref", in.Ref, in.SHA, strings.Repeat("0", 40)); err != nil {
		return invalid("Reference already exists")
	}
	_, answer := d.reference(strings.TrimPrefix(in.Ref, "refs/heads/"))
	return 201, answer
}

func (d *gitData) updateRef(r *http.Request) (int, map[string]any) {
	var in struct {
		SHA   string
		Force bool
	}
	branch := r.PathValue("branch")
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Force {
		return invalid("never by force")
	}
	old, err := d.git(nil, nil, "rev-parse", "-q", "--verify", "refs/heads/"+branch)
	if err != nil {
		return invalid("Reference does not exist")
	}
	if _, err := d.git(nil, nil, "merge-base", "--is-ancestor", old, in.SHA); err != nil {
		return invalid("Update is not a fast forward")
	}
	if _, err := d.git(nil, nil, "update-ref", "refs/heads/"+branch, in.SHA, old); err != nil {
		return invalid("Update is not a fast forward")
	}
	return d.reference(branch)
}
