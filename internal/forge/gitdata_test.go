package forge_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/forge/gitdata"
)

func gitID(kind, content string) string {
	sum := sha1.Sum([]byte(fmt.Sprintf("%s %d\x00%s", kind, len(content), content)))
	return hex.EncodeToString(sum[:])
}

// leaf is an entry of a tree, by path.
type leaf struct{ mode, id string }

// treeID is the id of the tree with these leaves.
func treeID(leaves map[string]leaf) string {
	below := map[string]map[string]leaf{}
	lines := map[string]string{} // by the name git sorts by
	for path, l := range leaves {
		name, rest, deep := strings.Cut(path, "/")
		if !deep {
			raw, _ := hex.DecodeString(l.id)
			lines[name] = strings.TrimLeft(l.mode, "0") + " " + name + "\x00" + string(raw)
			continue
		}
		if below[name] == nil {
			below[name] = map[string]leaf{}
		}
		below[name][rest] = l
	}
	for name, sub := range below {
		raw, _ := hex.DecodeString(treeID(sub))
		lines[name+"/"] = "40000 " + name + "\x00" + string(raw)
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		all.WriteString(lines[name])
	}
	return gitID("tree", all.String())
}

// database is the git database of an API, in memory.
type database struct {
	mu     sync.Mutex
	blobs  map[string]bool
	trees  map[string]map[string]leaf
	refs   map[string]string
	calls  []string // "POST trees", in order
	now    int
	most   int           // blobs at once
	slow   time.Duration // of a blob
	refuse func(op string, entries int) (status int, message string)
	mangle bool // text in trees loses its carriage returns
}

func newDatabase() *database {
	return &database{blobs: map[string]bool{}, trees: map[string]map[string]leaf{}, refs: map[string]string{}}
}

func (d *database) RoundTrip(req *http.Request) (*http.Response, error) {
	return script(d.answer).RoundTrip(req)
}

func (d *database) answer(req *http.Request, body []byte) (int, http.Header, string) {
	op := req.Method + " " + strings.Split(strings.TrimPrefix(req.URL.Path, "/api/v3/repos/octo/greet/git/"), "/")[0]
	var in struct {
		Content, Encoding string
		Base              string `json:"base_tree"`
		Tree              json.RawMessage
		Message           string
		Parents           []string
		Ref, SHA          string
		Force             *bool
		Author, Committer json.RawMessage
	}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil {
		return 400, nil, `{"message":"Problems parsing JSON"}`
	}
	var entries []struct {
		Path, Mode, Type string
		SHA, Content     *string
	}
	_ = json.Unmarshal(in.Tree, &entries)
	d.mu.Lock()
	d.calls = append(d.calls, op)
	refuse, slow := d.refuse, d.slow
	if op == "POST blobs" {
		d.now++
		d.most = max(d.most, d.now)
	}
	d.mu.Unlock()
	if refuse != nil {
		if status, message := refuse(op, len(entries)); status != 0 {
			return status, nil, fmt.Sprintf(`{"message":%q}`, message)
		}
	}
	if op == "POST blobs" {
		time.Sleep(slow)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch op {
	case "POST blobs":
		d.now--
		content := in.Content
		if in.Encoding == "base64" {
			raw, err := base64.StdEncoding.DecodeString(in.Content)
			if err != nil {
				return 422, nil, `{"message":"bad base64"}`
			}
			content = string(raw)
		}
		id := gitID("blob", content)
		d.blobs[id] = true
		return 201, nil, fmt.Sprintf(`{"sha":%q}`, id)
	case "POST trees":
		leaves := maps.Clone(d.trees[in.Base])
		if leaves == nil {
			leaves = map[string]leaf{}
		}
		for _, e := range entries {
			switch {
			case e.Content != nil:
				text := *e.Content
				if d.mangle {
					text = strings.ReplaceAll(text, "\r", "")
				}
				leaves[e.Path] = leaf{e.Mode, gitID("blob", text)}
			case e.SHA == nil:
				if _, ok := leaves[e.Path]; !ok {
					return 422, nil, `{"message":"GitRPC::BadObjectState"}`
				}
				delete(leaves, e.Path)
			default:
				leaves[e.Path] = leaf{e.Mode, *e.SHA}
			}
		}
		id := treeID(leaves)
		d.trees[id] = leaves
		return 201, nil, fmt.Sprintf(`{"sha":%q}`, id)
	case "POST commits":
		var tree string
		_ = json.Unmarshal(in.Tree, &tree)
		if in.Author != nil || in.Committer != nil {
			return 422, nil, `{"message":"nobody asked for an author"}`
		}
		object := "tree " + tree + "\n"
		var parents []string
		for _, p := range in.Parents {
			object += "parent " + p + "\n"
			parents = append(parents, fmt.Sprintf(`{"sha":%q}`, p))
		}
		object += "author a <a@b> 1700000000 +0000\ncommitter c <c@d> 1700000000 +0000\n\n" + in.Message
		return 201, nil, fmt.Sprintf(`{"sha":%q,"tree":{"sha":%q},"parents":[%s],"message":%q,"verification":{"verified":false,"reason":"unsigned"},
			"author":{"name":"a","email":"a@b","date":"2023-11-14T22:13:20Z"},"committer":{"name":"c","email":"c@d","date":"2023-11-14T22:13:20Z"}}`,
			gitID("commit", object), tree, strings.Join(parents, ","), in.Message)
	case "POST refs":
		if d.refs[in.Ref] != "" {
			return 422, nil, `{"message":"Reference already exists"}`
		}
		d.refs[in.Ref] = in.SHA
		return 201, nil, fmt.Sprintf(`{"object":{"sha":%q}}`, in.SHA)
	case "PATCH refs":
		ref := strings.TrimPrefix(req.URL.Path, "/api/v3/repos/octo/greet/git/")
		switch {
		case in.Force == nil || *in.Force:
			return 422, nil, `{"message":"force has to be false"}`
		case d.refs[ref] == "":
			return 422, nil, `{"message":"Reference does not exist"}`
		}
		d.refs[ref] = in.SHA
		return 200, nil, fmt.Sprintf(`{"object":{"sha":%q}}`, in.SHA)
	case "GET ref":
		ref := "refs/" + strings.TrimPrefix(req.URL.Path, "/api/v3/repos/octo/greet/git/ref/")
		return 200, nil, fmt.Sprintf(`{"object":{"sha":%q}}`, d.refs[ref])
	}
	return 404, nil, `{"message":"Not Found"}`
}

func (d *database) count(op string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, one := range d.calls {
		if one == op {
			n++
		}
	}
	return n
}

func blobOf(content string) (string, int64, func() (io.ReadCloser, error)) {
	return gitID("blob", content), int64(len(content)), func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}
}

// commitOf is a commit of new files on top of an empty tree.
func commitOf(files map[string]string) gitdata.GitCommit {
	c := gitdata.GitCommit{Message: "ralph: one\n", Parents: []string{strings.Repeat("a", 40)}, Base: treeID(nil)}
	leaves := map[string]leaf{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := gitdata.GitFile{Path: path, Mode: "100644"}
		f.ID, f.Size, f.Open = blobOf(files[path])
		c.Files = append(c.Files, f)
		leaves[path] = leaf{f.Mode, f.ID}
	}
	c.Tree = treeID(leaves)
	return c
}

func quick(o *forge.Options) { o.Backoff = time.Millisecond }

func TestSignCommit(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 1000 {
		many[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint(i)
	}
	for _, test := range []struct {
		name   string
		files  map[string]string
		change func(*database)
		blobs  int
		trees  int
	}{
		{"text", map[string]string{"a": "a\r\n", "b/c": "<&>\u2028\x01"}, nil, 0, 1},
		{"binary", map[string]string{"a": "\x00", "b": "\xff", "c": "\x00", "d": "text"}, nil, 2, 1},
		{"large text", map[string]string{"a": strings.Repeat("x", 513<<10)}, nil, 1, 1},
		{"1,000 files", many, nil, 0, 7},
		{"5 MB of text", map[string]string{"a": strings.Repeat("a", 500<<10), "b": strings.Repeat("b", 500<<10), "c": strings.Repeat("c", 500<<10), "d": strings.Repeat("d", 500<<10), "e": strings.Repeat("e", 500<<10)}, nil, 0, 2},
		{"nothing", nil, nil, 0, 0},
		{"too large for the forge", many, func(d *database) {
			d.refuse = func(op string, entries int) (int, string) {
				if op == "POST trees" && entries > 100 {
					return 422, "Sorry, your request timed out. It's likely that your input was too large to process."
				}
				return 0, ""
			}
		}, 0, 19},
		{"the forge gives up", many, func(d *database) {
			d.refuse = func(op string, entries int) (int, string) {
				if op == "POST trees" && entries > 140 {
					return 502, "Server Error"
				}
				return 0, ""
			}
		}, 0, 43},
		{"text that is mangled", map[string]string{"a": "a\r\n", "b": "b\n"}, func(d *database) { d.mangle = true }, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase()
			if test.change != nil {
				test.change(d)
			}
			want := commitOf(test.files)
			got, err := scripted(t, d, quick).SignCommit(within(t, time.Minute), want)
			if err != nil {
				t.Fatalf("SignCommit() = %v", err)
			}
			if got.Verified || got.Reason != "unsigned" || gitID("commit", string(got.Object)) != got.ID {
				t.Errorf("SignCommit() = %+v, want it unsigned, with the object", got)
			}
			if !strings.Contains(string(got.Object), "tree "+want.Tree+"\nparent "+want.Parents[0]) {
				t.Errorf("SignCommit() = %s, want tree %s", got.Object, want.Tree)
			}
			if blobs, trees := d.count("POST blobs"), d.count("POST trees"); blobs != test.blobs || trees != test.trees {
				t.Errorf("%d blobs and %d trees were sent, want %d and %d", blobs, trees, test.blobs, test.trees)
			}
		})
	}
}

// A directory takes the place of a file, and a file that of a directory.
func TestSignCommitCollisions(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	client := scripted(t, d, quick)
	first := commitOf(map[string]string{"a": "file", "b/c": "in a folder", "keep": "k"})
	if _, err := client.SignCommit(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := commitOf(map[string]string{"a/x": "in a folder", "b": "file"})
	keep, _, _ := blobOf("k")
	leaves := map[string]leaf{"keep": {"100644", keep}}
	for _, f := range second.Files {
		leaves[f.Path] = leaf{f.Mode, f.ID}
	}
	second.Base, second.Tree = first.Tree, treeID(leaves)
	second.Files = append(second.Files, gitdata.GitFile{Path: "a", Mode: "100644"}, gitdata.GitFile{Path: "b/c", Mode: "100644"})
	before := d.count("POST trees")
	if _, err := client.SignCommit(t.Context(), second); err != nil {
		t.Fatalf("SignCommit() = %v", err)
	}
	if n := d.count("POST trees") - before; n != 2 {
		t.Errorf("%d trees, want one that removes and one that sets", n)
	}
}

// 300 binary files: eight at a time, and below 80 a minute.
func TestSignCommitPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.slow = 200 * time.Millisecond
		files := map[string]string{}
		for i := range 300 {
			files[fmt.Sprintf("f%d", i)] = fmt.Sprintf("\x00%d", i)
		}
		started := time.Now()
		if _, err := scripted(t, d).SignCommit(within(t, time.Hour), commitOf(files)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); d.most != 8 || took < 3*time.Minute || took > 6*time.Minute {
			t.Errorf("300 blobs took %s, %d at once, want some 4 minutes, 8 at once", took, d.most)
		}
	})
}

// The first failure ends the uploads.
func TestSignCommitFails(t *testing.T) {
	t.Parallel()
	files := map[string]string{".github/workflows/ci.yml": "on: push\n", "b.bin": "\x00"}
	for i := range 50 {
		files[fmt.Sprintf("f%d.bin", i)] = fmt.Sprintf("\x00%d", i)
	}
	for _, test := range []struct {
		name, op, message string
		status            int
		wants             []string
		workflow          bool
	}{
		{"no git database", "POST blobs", "Not Found", 404, []string{"not found (404)", "sign-commits to false"}, false},
		{"may not", "POST blobs", "Resource not accessible by integration", 403, []string{"contents: write"}, false},
		{"may not change workflows", "POST trees", "Resource not accessible by integration", 403, []string{"workflows: write"}, true},
		{"may not, in words", "POST commits", "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission", 422, []string{"workflows: write"}, true},
		{"too large", "POST blobs", "Sorry, your input was too large to process.", 422, []string{"upload", "Git LFS"}, false},
		{"expired", "POST commits", "Bad credentials", 401, []string{"github-token must be a valid token"}, false},
		{"server", "POST commits", "Server Error", 500, []string{"create a commit", "tried 5 times"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase()
			d.refuse = func(op string, _ int) (int, string) {
				if op == test.op {
					return test.status, test.message
				}
				return 0, ""
			}
			_, err := scripted(t, d, quick).SignCommit(within(t, time.Minute), commitOf(files))
			checkError(t, "SignCommit", err, test.wants...)
			var refused interface {
				error
				WorkflowFile() string
			}
			if errors.As(err, &refused) != test.workflow || (test.workflow && refused.WorkflowFile() != ".github/workflows/ci.yml") {
				t.Errorf("SignCommit() = %#v, want a workflow file named = %t", err, test.workflow)
			}
			if n := d.count("POST blobs"); n > 51 || test.op == "POST blobs" && n > 16 {
				t.Errorf("%d blobs were sent after the first failed", n)
			}
		})
	}
}

func TestSignCommitOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	want := commitOf(map[string]string{"a.bin": "\x00"})
	want.Files[0].Size, want.Files[0].Open = 1<<20, func() (io.ReadCloser, error) { return nil, errors.New("the disk is gone") }
	_, err := scripted(t, newDatabase(), quick).SignCommit(within(t, time.Minute), want)
	checkError(t, "SignCommit", err, `upload "a.bin"`, "the disk is gone")
}

func TestMoveBranch(t *testing.T) {
	t.Parallel()
	ours, theirs := strings.Repeat("a", 40), strings.Repeat("b", 40)
	const ref = "refs/heads/ralph/x#1"
	for _, test := range []struct {
		name    string
		at      string
		create  bool
		status  int
		message string
		moved   bool
		want    string // in the error; empty: none
	}{
		{name: "created", create: true},
		{name: "moved", at: theirs},
		{name: "created by somebody else", at: theirs, create: true, moved: true},
		{name: "created by us, the answer was lost", at: ours, create: true},
		{name: "moved by somebody else", at: theirs, status: 422, message: "Update is not a fast forward", moved: true},
		{name: "deleted by somebody else", moved: true},
		{name: "protected", at: theirs, status: 422, message: "Repository rule violations found\n\nChanges must be made through a pull request.", want: "choose another branch"},
		{name: "may not", at: theirs, status: 403, message: "Resource not accessible by integration", want: "contents: write"},
		{name: "another failure", at: theirs, status: 422, message: "Sha is invalid", want: "Sha is invalid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase()
			if test.at != "" {
				d.refs[ref] = test.at
			}
			d.refuse = func(op string, _ int) (int, string) {
				if strings.HasSuffix(op, " refs") {
					return test.status, test.message
				}
				return 0, ""
			}
			moved, err := scripted(t, d, quick).MoveBranch(within(t, time.Minute), "ralph/x#1", ours, test.create)
			if moved != test.moved || (err != nil) != (test.want != "") {
				t.Errorf("MoveBranch() = %t, %v, want %t and an error with %q", moved, err, test.moved, test.want)
			}
			if err != nil {
				checkError(t, "MoveBranch", err, test.want)
			} else if !moved && d.refs[ref] != ours {
				t.Errorf("the branch is at %q, want %s", d.refs[ref], ours)
			}
		})
	}
}

func TestProbeSigning(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"fine", 201, `{"sha":"` + gitID("blob", "\n") + `"}`, ""},
		{"another forge", 404, `404 page not found`, "sign-commits to false"},
		{"another method", 405, ``, "sign-commits to false"},
		{"may not", 403, `{"message":"Resource not accessible by integration"}`, "contents: write"},
		{"nonsense", 201, `{"sha":"` + strings.Repeat("0", 40) + `"}`, "does not store"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) { return test.status, nil, test.body })).ProbeSigning(t.Context())
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("ProbeSigning() = %v, want an error with %q", err, test.want)
			}
		})
	}
}

// Whatever a forge says a commit is: it is believed by its hash alone.
func FuzzMadeCommit(f *testing.F) {
	f.Add(`{"sha":"x","verification":{"payload":"a\n\nb","signature":"s\n"}}`)
	f.Add(`{"sha":"` + strings.Repeat("a", 40) + `","tree":{"sha":"` + treeID(nil) + `"},"parents":[{"sha":"` + strings.Repeat("a", 40) + `"}],"author":null,"committer":{"date":"0001-01-01T00:00:00Z"}}`)
	f.Add(`{"parents":[null],"verification":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		client := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) { return 201, nil, body }), quick)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := client.SignCommit(ctx, commitOf(nil))
		if err == nil && (len(got.ID) != 40 || got.Object != nil && gitID("commit", string(got.Object)) != got.ID) {
			t.Errorf("SignCommit() = %+v, want an object with its id", got)
		}
		if err != nil && bytes.ContainsAny([]byte(err.Error()), "\n\x1b") {
			t.Errorf("SignCommit() = %q", err)
		}
	})
}
