//go:build e2e

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packages is a host on the internet, as far as the agent can tell: registries of
// Go, npm and Python with one package each, and a git server with one library.
type packages struct {
	URL   string // http://packages.test:PORT
	Host  string // packages.test:PORT, as allowed-hosts takes it
	hosts string // file that says where packages.test and refused.test are
}

// newPackages serves on this machine's loopback.
func newPackages(t *testing.T) packages {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	p := packages{URL: "http://packages.test:" + port, Host: "packages.test:" + port}
	dir := sharedTempDir(t)
	writeFiles(t, dir, map[string]string{"hosts": "127.0.0.1 localhost packages.test refused.test\n::1 localhost\n"})
	p.hosts = filepath.Join(dir, "hosts")

	give := func(path string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	}
	const mod = "module example.com/greeting\n"
	give("/go/example.com/greeting/@v/v1.0.0.info", []byte(`{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`))
	give("/go/example.com/greeting/@v/v1.0.0.mod", []byte(mod))
	give("/go/example.com/greeting/@v/v1.0.0.zip", zipped(t, map[string]string{
		"example.com/greeting@v1.0.0/go.mod":      mod,
		"example.com/greeting@v1.0.0/greeting.go": "// Package greeting says hello.\npackage greeting\n\n// Text is it.\nconst Text = \"hello from a module\"\n",
	}))

	tarball := tarred(t, map[string]string{
		"package/package.json": `{"name":"greeting","version":"1.0.0","main":"index.js"}`,
		"package/index.js":     "module.exports = 'hello';\n",
	})
	sum := sha512.Sum512(tarball)
	give("/npm/greeting/-/greeting-1.0.0.tgz", tarball)
	give("/npm/greeting", fmt.Appendf(nil, `{"name":"greeting","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"greeting","version":"1.0.0","main":"index.js","dist":{"tarball":"%s/npm/greeting/-/greeting-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
		p.URL, base64.StdEncoding.EncodeToString(sum[:])))

	const wheel = "greeting-1.0.0-py3-none-any.whl"
	give("/pip/simple/greeting/", []byte(`<a href="/pip/`+wheel+`">`+wheel+`</a>`))
	give("/pip/"+wheel, zipped(t, map[string]string{
		"greeting.py":                       "text = 'hello'\n",
		"greeting-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0.0\n",
		"greeting-1.0.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: e2e\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greeting-1.0.0.dist-info/RECORD":   "greeting.py,,\ngreeting-1.0.0.dist-info/METADATA,,\ngreeting-1.0.0.dist-info/WHEEL,,\ngreeting-1.0.0.dist-info/RECORD,,\n",
	}))

	seed := t.TempDir()
	git(t, seed, "init", "-q", "-b", "main")
	writeFiles(t, seed, map[string]string{"README.md": "a library\n"})
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-q", "-m", "library")
	git(t, seed, "commit", "-q", "--allow-empty", "-m", "second")
	served := t.TempDir()
	git(t, seed, "clone", "-q", "--bare", seed, filepath.Join(served, "library.git"))
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/git/", &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/git", Stderr: os.Stderr,
		Env: []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
	return p
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
