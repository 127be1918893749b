package repo_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// lfsForge is a forge that keeps files of Git LFS, in the manner of the batch
// API (git-lfs docs/api). Objects go to a second server, as on GitHub.
type lfsForge struct {
	*forge
	store *httptest.Server

	mu      sync.Mutex
	objects map[string]string
	calls   []string // "batch", "put OID", "verify OID", "push"
	refs    []string
	leaked  bool // the store saw our token
	batch   int  // status of every batch request; 0: 200
	put     func(oid string) int
	verify  int
	object  string // error of each object
	atHome  bool   // objects are sent to the git server
}

func oidOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func pointerTo(content string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oidOf(content), len(content))
}

func newLFSForge(t *testing.T) *lfsForge {
	t.Helper()
	l := &lfsForge{forge: newForge(t), objects: map[string]string{}}
	l.store = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.transfer(w, r) }))
	t.Cleanup(l.store.Close)
	l.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/info/lfs/objects/batch"):
			l.answer(w, r)
		case strings.HasPrefix(r.URL.Path, "/objects/"), strings.HasPrefix(r.URL.Path, "/verify/"):
			l.transfer(w, r)
		default:
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack") {
				l.note("push")
			}
			return false
		}
		return true
	})
	return l
}

func (l *lfsForge) note(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
}

func (l *lfsForge) answer(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "batch")
	var ask struct {
		Operation string
		Transfers []string
		Ref       struct{ Name string }
		Objects   []struct {
			OID  string
			Size int64
		}
	}
	user, pass, _ := r.BasicAuth()
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	switch {
	case user != "x-access-token" || pass != token:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case l.batch != 0:
		w.WriteHeader(l.batch)
		fmt.Fprint(w, `{"message": "what the server says"}`)
		return
	case r.Header.Get("Accept") != "application/vnd.git-lfs+json" || r.Header.Get("Content-Type") != "application/vnd.git-lfs+json" ||
		json.NewDecoder(r.Body).Decode(&ask) != nil || ask.Operation != "upload" || !slices.Contains(ask.Transfers, "basic") || len(ask.Objects) == 0 || len(ask.Objects) > 100:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	l.refs = append(l.refs, ask.Ref.Name)
	var objects []map[string]any
	for _, o := range ask.Objects {
		answer := map[string]any{"oid": o.OID, "size": o.Size}
		if _, has := l.objects[o.OID]; l.object != "" {
			answer["error"] = map[string]any{"code": 422, "message": l.object}
		} else if !has {
			at := l.store.URL
			if l.atHome {
				at = strings.TrimSuffix(l.url, "/owner/name.git")
			}
			answer["actions"] = map[string]any{
				"upload": map[string]any{"href": at + "/objects/" + o.OID, "header": map[string]string{"X-Signed": "yes", "Host": "elsewhere"}},
				"verify": map[string]any{"href": at + "/verify/" + o.OID},
			}
		}
		objects = append(objects, answer)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}

func (l *lfsForge) transfer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, pass, _ := r.BasicAuth()
	if oid, ok := strings.CutPrefix(r.URL.Path, "/verify/"); ok {
		l.calls = append(l.calls, "verify "+oid)
		if l.verify != 0 {
			w.WriteHeader(l.verify)
		}
		return
	}
	oid := strings.TrimPrefix(r.URL.Path, "/objects/")
	l.calls = append(l.calls, "put "+oid)
	l.leaked = l.leaked || pass != "" && !l.atHome
	status := http.StatusOK
	if l.put != nil {
		status = l.put(oid)
	}
	switch {
	case l.atHome && pass != token, r.Header.Get("X-Signed") != "yes":
		status = http.StatusForbidden
	case err != nil || oidOf(string(body)) != oid:
		status = http.StatusUnprocessableEntity
	}
	if status == http.StatusOK {
		l.objects[oid] = string(body)
	}
	w.WriteHeader(status)
}

func (l *lfsForge) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *lfsForge) has(content string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.objects[oidOf(content)] == content
}

func (l *lfsForge) count(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

// fakeLFS does what `git-lfs clean` does.
const fakeLFS = `#!/bin/sh
[ -e .git/lfs-broken ] && exit 1
tmp=$(mktemp) && cat >"$tmp"
if [ ! -s "$tmp" ] || [ "$(head -c 19 "$tmp")" = "version https://git" ]; then cat "$tmp"; rm "$tmp"; exit; fi
oid=$(sha256sum <"$tmp" | cut -d' ' -f1) size=$(wc -c <"$tmp")
dir=.git/lfs/objects/$(printf %s "$oid" | cut -c1-2)/$(printf %s "$oid" | cut -c3-4)
mkdir -p "$dir" && mv "$tmp" "$dir/$oid"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' "$oid" "$size"
`

// lfsWorkspace is a checkout of a repository whose *.bin are kept by Git LFS,
// with old.bin in it.
func lfsWorkspace(t *testing.T, configured bool) (*lfsForge, string) {
	t.Helper()
	l := newLFSForge(t)
	l.objects[oidOf("old")] = "old"
	l.seed(t, map[string]string{"a.txt": "a\n", "old.bin": pointerTo("old"), ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"})
	dir := l.checkout(t, true)
	if configured {
		script := filepath.Join(t.TempDir(), "git-lfs")
		write(t, script, fakeLFS)
		git(t, dir, "config", "filter.lfs.clean", "sh "+script+" clean")
	}
	return l, dir
}

func TestLFSObjectsArriveFirst(t *testing.T) {
	t.Parallel()
	for _, home := range []bool{false, true} {
		t.Run(fmt.Sprintf("sent to the git server %t", home), func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			l.atHome = home
			r := begin(t, dir, l.url)
			if err := r.CheckLFS(t.Context()); err != nil {
				t.Fatalf("CheckLFS() = %v", err)
			}
			l.set(func() { l.calls = nil })
			write(t, filepath.Join(dir, "new.bin"), "new content")
			write(t, filepath.Join(dir, "sub/copy.bin"), "new content")
			write(t, filepath.Join(dir, "empty.bin"), "")
			if err := os.Rename(filepath.Join(dir, "old.bin"), filepath.Join(dir, "moved.bin")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, "new.bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			change, c := r.pushed(t, l.forge)
			if len(change.Notes) != 0 {
				t.Errorf("notes = %q, want none", change.Notes)
			}
			equal(t, "files", files(t, l.dir, c.SHA), []string{
				"100644 .gitattributes", "100644 a.txt", "100644 empty.bin", "100644 moved.bin", "100644 second.txt", "100644 sub/copy.bin", "100755 new.bin",
			})
			equal(t, "new.bin", git(t, l.dir, "show", c.SHA+":new.bin")+"\n", pointerTo("new content"))
			oid := oidOf("new content")
			equal(t, "calls", l.calls, []string{"batch", "put " + oid, "verify " + oid, "push"})
			equal(t, "refs", l.refs[len(l.refs)-1:], []string{"refs/heads/ralph/work"})
			if !l.has("new content") || l.leaked {
				t.Errorf("the server has the object: %t; the store saw the token: %t", l.has("new content"), l.leaked)
			}
			equal(t, "work tree", read(t, filepath.Join(dir, "new.bin")), "new content")
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")

			// Once is enough, also for the agent's own commits.
			write(t, filepath.Join(dir, "third.bin"), "new content")
			write(t, filepath.Join(dir, "own.bin"), "own")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: own")
			_, c = r.pushed(t, l.forge)
			if c.Own != 1 || !l.has("own") || l.count("put "+oid) != 1 {
				t.Errorf("Checkpoint() = %+v, object sent: %t, the first one %d times; want the agent's commit with its object", c, l.has("own"), l.count("put "+oid))
			}
		})
	}
}

// What an LFS server refuses stays in the work tree; everything else arrives.
func TestLFSRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, note string
		act        func(l *lfsForge)
		tries      int // of sending the object, over two checkpoints
	}{
		{"object refused", "over quota", func(l *lfsForge) { l.object = "over quota" }, 0},
		{"batch refused", "422 Unprocessable Entity: what the server says", func(l *lfsForge) { l.batch = 422 }, 0},
		{"no permission", "403 Forbidden", func(l *lfsForge) { l.batch = 403 }, 0},
		{"transfer refused", "413 Request Entity Too Large", func(l *lfsForge) { l.put = func(string) int { return 413 } }, 1},
		{"verify refused", "404 Not Found", func(l *lfsForge) { l.verify = 404 }, 1},
		{"storage full", "507 Insufficient Storage", func(l *lfsForge) { l.put = func(string) int { return 507 } }, 2},
		{"down", "503 Service Unavailable (tried 6 times)", func(l *lfsForge) { l.put = func(string) int { return 503 } }, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			r := begin(t, dir, l.url)
			tt.act(l)
			write(t, filepath.Join(dir, "new.bin"), "new")
			write(t, filepath.Join(dir, "b.txt"), "b\n")
			_, c := r.pushed(t, l.forge)
			want := []string{"100644 .gitattributes", "100644 a.txt", "100644 b.txt", "100644 old.bin", "100644 second.txt"}
			equal(t, "files", files(t, l.dir, c.SHA), want)
			if notes := r.State().Notes; !hasNote(notes, `not published: "new.bin": Git LFS did not take it: `) || !hasNote(notes, tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			equal(t, "status", git(t, dir, "status", "--porcelain"), "?? new.bin")
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			_, c = r.pushed(t, l.forge)
			equal(t, "files", files(t, l.dir, c.SHA), slices.Insert(want, 3, "100644 c.txt"))
			if got := l.count("put "); got != tt.tries {
				t.Errorf("the object was sent %d times, want %d", got, tt.tries)
			}

			// The agent's own commits keep author and message.
			write(t, filepath.Join(dir, "d.txt"), "d\n")
			write(t, filepath.Join(dir, "own.bin"), "own")
			git(t, dir, "add", "d.txt", "own.bin")
			git(t, dir, "commit", "-qm", "agent: own")
			r.pushed(t, l.forge)
			equal(t, "log", git(t, l.dir, "log", "-1", "--format=%an: %s", "ralph/work"), "Agent: agent: own")
			if got := git(t, l.dir, "ls-tree", "-r", "--name-only", "ralph/work"); strings.Contains(got, "own.bin") || !strings.Contains(got, "d.txt") {
				t.Errorf("files = %q, want d.txt and no own.bin", got)
			}
		})
	}
}

// A server that is back takes what it had not taken.
func TestLFSRetried(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	r := begin(t, dir, l.url)
	n := 0
	l.put = func(string) int { n++; return map[bool]int{true: 503, false: 200}[n == 1 || n > 2 && n < 9] }
	write(t, filepath.Join(dir, "one.bin"), "one")
	_, c := r.pushed(t, l.forge)
	equal(t, "one.bin", git(t, l.dir, "show", c.SHA+":one.bin")+"\n", pointerTo("one"))

	write(t, filepath.Join(dir, "two.bin"), "two")
	if _, c := r.checkpoint(t); c.SHA != "" || c.PushError != "" {
		t.Errorf("Checkpoint() = %+v, want nothing: the only file could not be sent", c)
	}
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	_, c = r.pushed(t, l.forge)
	equal(t, "two.bin", git(t, l.dir, "show", c.SHA+":two.bin")+"\n", pointerTo("two"))
	if !l.has("two") {
		t.Error("the server lacks the object of two.bin")
	}
}

func TestLFSDangling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(t *testing.T, l *lfsForge, dir string)
		want bool // x.bin is published
		note string
	}{
		{"written by hand", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, "x.bin"), pointerTo("nobody has this"))
		}, false, `"x.bin": a Git LFS pointer without its file`},
		{"on the server", func(t *testing.T, l *lfsForge, dir string) {
			l.set(func() { l.objects[oidOf("there")] = "there" })
			write(t, filepath.Join(dir, "x.bin"), pointerTo("there"))
		}, true, ""},
		{"a pointer of the base", func(t *testing.T, l *lfsForge, dir string) {
			l.set(func() { l.batch = 500 })
			write(t, filepath.Join(dir, "x.bin"), pointerTo("old"))
		}, true, ""},
		{"other content", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, "x.bin"), "right")
			oid := oidOf("right")
			write(t, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], oid), "wrong")
			write(t, filepath.Join(dir, "x.bin"), pointerTo("right"))
		}, false, "not the content it is named by"},
		{"a link to somewhere else", func(t *testing.T, _ *lfsForge, dir string) {
			secret := filepath.Join(t.TempDir(), "secret")
			write(t, secret, "secret")
			oid := oidOf("secret")
			write(t, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], "x"), "")
			if err := os.Symlink(secret, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], oid)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "x.bin"), pointerTo("secret"))
		}, false, "without its file"},
		{"the filter fails", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".git/lfs-broken"), "")
			write(t, filepath.Join(dir, "x.bin"), "raw")
		}, false, "git-lfs made no pointer of it"},
		{"tracked from now on", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.dat filter=lfs -text\n")
			write(t, filepath.Join(dir, "x.bin"), "plain now")
			write(t, filepath.Join(dir, "x.dat"), pointerTo("nobody has this"))
		}, true, `"x.dat": a Git LFS pointer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			r := begin(t, dir, l.url)
			tt.act(t, l, dir)
			write(t, filepath.Join(dir, "b.txt"), "b\n")
			change, c := r.pushed(t, l.forge)
			notes := append(change.Notes, r.State().Notes...)
			if got := slices.Contains(files(t, l.dir, c.SHA), "100644 x.bin"); got != tt.want {
				t.Errorf("x.bin is published: %t, want %t; notes %q", got, tt.want, notes)
			}
			if tt.note == "" && len(notes) != 0 || !hasNote(append(notes, ""), tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			for _, content := range []string{"secret", "wrong"} {
				if l.has(content) {
					t.Errorf("the server was sent %q", content)
				}
			}
		})
	}
}

// 001: LFS that cannot be published is refused before anything is spent.
func TestCheckLFS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		configured bool
		act        func(t *testing.T, l *lfsForge, dir string)
		options    optionFunc
		want       string // of the error; empty: none
	}{
		{"ready", true, nil, nil, ""},
		{"not configured", false, nil, nil, "the filter lfs is not configured"},
		{"git-lfs is missing", false, func(t *testing.T, _ *lfsForge, dir string) {
			git(t, dir, "config", "filter.lfs.process", "no-such-git-lfs filter-process")
		}, nil, "git-lfs does not run"},
		{"git-lfs fails", true, func(t *testing.T, _ *lfsForge, dir string) { write(t, filepath.Join(dir, ".git/lfs-broken"), "") }, nil, "git-lfs does not run"},
		{"no LFS on the server", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 404 }, nil, "the server takes none"},
		{"no right to", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 403 }, nil, "the token may not send files"},
		{"another server", true, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".lfsconfig"), "[lfs]\n\turl = https://lfs.example.com/x\n")
		}, nil, "another server (.lfsconfig: https://lfs.example.com/x)"},
		{"nothing is pushed", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 404 }, func(o *repo.Options) { o.Push = false }, ""},
		{"add-paths without them", false, nil, func(o *repo.Options) { o.AddPaths = []string{".", ":(exclude,attr:filter=lfs)"} }, ""},
		{"add-paths of other files", false, nil, func(o *repo.Options) { o.AddPaths = []string{"*.txt"} }, ""},
		{"add-paths with one", false, nil, func(o *repo.Options) { o.AddPaths = []string{"old.*"} }, "not configured"},
		{"attributes in a folder", false, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.bin -text\n")
			write(t, filepath.Join(dir, "deep/er/.gitattributes"), "*.png filter=lfs\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "moved")
		}, nil, "not configured"},
		{"no LFS here", false, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.txt text\n")
			git(t, dir, "commit", "-qam", "none")
		}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, tt.configured)
			if tt.act != nil {
				tt.act(t, l, dir)
			}
			if tt.options == nil {
				tt.options = func(*repo.Options) {}
			}
			r, err := open(t, dir, l.url, tt.options)
			if err == nil {
				if _, err = r.Begin(t.Context()); err == nil {
					err = r.CheckLFS(t.Context())
				}
			}
			if tt.want == "" {
				if err != nil {
					t.Errorf("CheckLFS() = %v, want nil", err)
				}
				return
			}
			if _, ok := errors.AsType[*repo.LFSError](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckLFS() = %v, want *LFSError with %q", err, tt.want)
			}
			if l.count("put ") != 0 {
				t.Error("CheckLFS sent an object")
			}
		})
	}
}

// A repository without LFS is not asked about it.
func TestCheckLFSCostsNothing(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	before := len(r.guest.commands)
	if err := r.CheckLFS(t.Context()); err != nil || len(r.guest.commands) != before {
		t.Errorf("CheckLFS() = %v with %d commands, want none", err, len(r.guest.commands)-before)
	}
}
