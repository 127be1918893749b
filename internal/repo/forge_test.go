package repo_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// noUpkeep keeps git from starting children that tidy up.
const noUpkeep = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"

// forge is a bare repository behind an HTTP server that runs git.
type forge struct {
	dir string // of the bare repository
	url string

	serve func(w http.ResponseWriter, r *http.Request) // git itself

	mu     sync.Mutex
	fault  func(w http.ResponseWriter, r *http.Request) bool // true: answered
	posts  int
	tokens []string
}

func newForge(t testing.TB) *forge {
	t.Helper()
	top := t.TempDir()
	f := &forge{dir: filepath.Join(top, "owner", "name.git")}
	initRepository(t, f.dir, "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[http]\n\treceivepack = true\n[receive]\n\tfsckObjects = true\n")
	f.serve = smart(top)
	if long {
		f.serve = backend(t, top)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		fault := f.fault
		_, pass, _ := r.BasicAuth()
		f.tokens = append(f.tokens, pass)
		if r.Method == http.MethodPost {
			f.posts++
		}
		f.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		if pass != token {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		f.serve(w, r)
	}))
	t.Cleanup(srv.Close)
	f.url = srv.URL + "/owner/name.git"
	return f
}

// backend is git's own HTTP server.
func backend(t testing.TB, top string) http.HandlerFunc {
	t.Helper()
	h := &cgi.Handler{
		Path: strings.TrimSpace(git(t, top, "--exec-path")) + "/git-http-backend",
		Env: []string{
			"GIT_PROJECT_ROOT=" + top, "GIT_TEST_FSYNC=0", "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "REMOTE_USER=someone",
		},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		// CGI knows no chunked bodies.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		h.ServeHTTP(w, r)
	}
}

// smart does what git's own HTTP server does (gitprotocol-http) with one process
// less for each request.
func smart(top string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at, _, offer := strings.Cut(r.URL.Path, "/info/refs")
		service := r.URL.Query().Get("service")
		if !offer {
			slash := strings.LastIndexByte(at, '/')
			at, service = at[:slash], at[slash+1:]
		}
		dir := filepath.Join(top, filepath.FromSlash(at))
		if _, err := os.Stat(dir); err != nil || service != "git-upload-pack" && service != "git-receive-pack" {
			http.NotFound(w, r)
			return
		}
		cmd := exec.CommandContext(r.Context(), "git", strings.TrimPrefix(service, "git-"), "--stateless-rpc", dir)
		cmd.Env = append(gitEnv(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
		version := r.Header.Get("Git-Protocol")
		if version != "" {
			cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+version)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		cmd.Stdin, cmd.Stdout = bytes.NewReader(body), w
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			cmd.Stdin = z
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", "application/x-"+service+"-result")
		if offer {
			w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
			cmd.Args = append(cmd.Args[:3:3], "--advertise-refs", dir)
			if service != "git-upload-pack" || !strings.Contains(version, "version=2") {
				line := "# service=" + service + "\n"
				_, _ = fmt.Fprintf(w, "%04x%s0000", len(line)+4, line)
			}
		}
		_ = cmd.Run() // what git refuses stands in its answer
	}
}

// config sets an option of the bare repository, one test at a time: git waits for no lock of it.
func (f *forge) config(t testing.TB, name, value string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	git(t, f.dir, "config", name, value)
}

func (f *forge) setFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// initRepository is git init, without its processes.
func initRepository(t testing.TB, dir, config string) {
	t.Helper()
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, "config"), config+noUpkeep)
	write(t, filepath.Join(dir, "info/exclude"), "")
}

// initWork is git init and git remote add.
func initWork(t testing.TB, dir, origin string) {
	t.Helper()
	initRepository(t, filepath.Join(dir, ".git"), "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"+
		"[remote \"origin\"]\n\turl = "+origin+"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
}

// snapshot is what a directory holds, for copies of it. The configuration is left
// out: it names other directories.
func snapshot(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "config" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		files[name] = &fstest.MapFile{Data: data, Mode: info.Mode()}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// restore writes what a snapshot holds.
func restore(t testing.TB, dir string, files fstest.MapFS) {
	t.Helper()
	for name, file := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, file.Data, file.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// template is a forge and a clone of it, made once and copied for each test.
type template struct {
	forge, clone fstest.MapFS
	head         string // of the branch
}

// templates holds a func() template by name, and a func() fstest.MapFS by the files
// of a seed.
var templates sync.Map

// fromTemplate is a forge and a clone of it as they are made the first time that
// the name is asked for.
func fromTemplate(t testing.TB, name string, create func() (f *forge, clone, head string)) (f *forge, clone, head string) {
	t.Helper()
	once, _ := templates.LoadOrStore(name, sync.OnceValue(func() template {
		f, clone, head := create()
		return template{snapshot(t, f.dir), snapshot(t, clone), head}
	}))
	made := once.(func() template)()
	f, clone = newForge(t), t.TempDir()
	restore(t, f.dir, made.forge)
	initWork(t, clone, f.dir)
	restore(t, clone, made.clone)
	return f, clone, made.head
}

// seed fills the forge with a first commit and returns a clone to push more
// from.
func (f *forge) seed(t testing.TB, files map[string]string) string {
	t.Helper()
	once, _ := templates.LoadOrStore(fmt.Sprintf("seed %q", files), sync.OnceValue(func() fstest.MapFS {
		dir := t.TempDir()
		initWork(t, dir, f.dir)
		for name, content := range files {
			write(t, filepath.Join(dir, name), content)
		}
		git(t, dir, "add", "-A", "-f")
		git(t, dir, "commit", "-q", "-m", "first")
		write(t, filepath.Join(dir, "second.txt"), "second\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", "second")
		return snapshot(t, dir)
	}))
	dir := t.TempDir()
	initWork(t, dir, f.dir)
	restore(t, dir, once.(func() fstest.MapFS)())
	// git push
	tip := read(t, filepath.Join(dir, ".git/refs/heads/main"))
	err := filepath.WalkDir(filepath.Join(dir, ".git/objects"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to := filepath.Join(f.dir, strings.TrimPrefix(path, filepath.Join(dir, ".git")))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Link(path, to))
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.dir, "refs/heads/main"), tip)
	write(t, filepath.Join(dir, ".git/refs/remotes/origin/main"), tip)
	return dir
}

// checkout is what actions/checkout leaves: shallow, detached or on a branch.
func (f *forge) checkout(t testing.TB, detached bool) string {
	t.Helper()
	dir := t.TempDir()
	initWork(t, dir, f.url)
	f.fetchTip(t, dir)
	if detached {
		git(t, dir, "checkout", "-q", "--detach", "refs/remotes/origin/main")
	} else {
		git(t, dir, "checkout", "-q", "-B", "main", "refs/remotes/origin/main")
	}
	return dir
}

// fetchTip is git fetch --depth=1 of main.
func (f *forge) fetchTip(t testing.TB, dir string) {
	t.Helper()
	if long {
		git(t, dir, "fetch", "-q", "--depth=1", "--no-tags", "file://"+f.dir, "+main:refs/remotes/origin/main")
		return
	}
	from := filesystem.NewStorage(osfs.New(f.dir), cache.NewObjectLRUDefault())
	to := filesystem.NewStorage(osfs.New(filepath.Join(dir, ".git")), cache.NewObjectLRUDefault())
	take := func(h plumbing.Hash) {
		o, err := from.EncodedObject(plumbing.AnyObject, h)
		if err == nil {
			_, err = to.SetEncodedObject(o)
		}
		if err != nil {
			t.Fatalf("fetch %s: %v", h, err)
		}
	}
	tip, err := from.Reference("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	c, err := object.GetCommit(from, tip.Hash())
	if err != nil {
		t.Fatal(err)
	}
	take(c.Hash)
	if len(c.ParentHashes) > 0 {
		write(t, filepath.Join(dir, ".git/shallow"), c.Hash.String()+"\n")
	}
	var tree func(h plumbing.Hash)
	tree = func(h plumbing.Hash) {
		take(h)
		entries, err := object.GetTree(from, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries.Entries {
			switch e.Mode {
			case filemode.Dir:
				tree(e.Hash)
			case filemode.Submodule:
			default:
				take(e.Hash)
			}
		}
	}
	tree(c.TreeHash)
	write(t, filepath.Join(dir, ".git/refs/remotes/origin/main"), c.Hash.String()+"\n")
}
