//go:build long && linux

package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// registry is one of npm's on loopback, with @acme/tool in 1.2.3. What it does wrong
// is said by fault.
type registry struct {
	*httptest.Server
	tarball   []byte
	integrity string
	fault     atomic.Value // string
	fetched   atomic.Int32 // tarballs
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	w := tar.NewWriter(zip)
	for name, text := range map[string]string{
		"package/package.json": `{"name":"@acme/tool","version":"1.2.3","bin":{"tool":"tool.sh"}}`,
		"package/tool.sh":      "#!/bin/sh\necho 1.2.3\n",
		"package/data":         strings.Repeat("0123456789abcdef", 1<<14), // 256 KiB
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(packed.Bytes())
	r := &registry{tarball: packed.Bytes(), integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	r.fault.Store("")
	r.Server = httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(r.Close)
	return r
}

func (r *registry) answer(w http.ResponseWriter, q *http.Request) {
	fault, _ := r.fault.Load().(string)
	switch {
	case fault == "answers 500":
		http.Error(w, "trouble", http.StatusInternalServerError)
	case !strings.HasSuffix(q.URL.Path, ".tgz"):
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "@acme/tool", "dist-tags": map[string]string{"latest": "1.2.3"},
			"versions": map[string]any{"1.2.3": map[string]any{
				"name": "@acme/tool", "version": "1.2.3", "bin": map[string]string{"tool": "tool.sh"},
				"dist": map[string]string{"tarball": r.URL + "/tool-1.2.3.tgz", "integrity": r.integrity},
			}},
		})
	case fault == "another tarball":
		_, _ = w.Write(append(bytes.Clone(r.tarball), 0))
	case fault == "a tarball cut short":
		_, _ = w.Write(r.tarball[:len(r.tarball)/2])
	case fault == "gone in the middle":
		w.Header().Set("Content-Length", fmt.Sprint(len(r.tarball)))
		_, _ = w.Write(r.tarball[:len(r.tarball)/2])
		panic(http.ErrAbortHandler)
	default:
		r.fetched.Add(1)
		_, _ = w.Write(r.tarball)
	}
}

// newRealLab has the machine's npm, which may do anything but write elsewhere.
func newRealLab(t *testing.T, r *registry) *lab {
	t.Helper()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("these tests need Node.js with npm: %v", err)
		}
	}
	l := newLab(t)
	path := "PATH=" + os.Getenv("PATH")
	l.o.Env = []string{path, "npm_config_registry=" + r.URL, "npm_config_fetch_retries=0"}
	l.o.Start = func(ctx context.Context, dir string) (install.Process, func() error, error) {
		policy := confine.DefaultPolicy([]string{dir}, append(filepath.SplitList(os.Getenv("PATH")), install.Reads([]string{path})...))
		s, err := proc.Start(ctx, proc.Options{Identity: npmUser(), Policy: &policy, Env: []string{path, "GORACE=atexit_sleep_ms=0"}})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	return l
}

// Whatever the registry or the disk does, npm's own words become a clear error,
// nothing half-installed is left, and the next run succeeds; then nothing is fetched,
// be it that the installation was damaged.
func TestRealNpm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault string
		want  []string
	}{
		{"answers 500", []string{"npm view of @acme/tool@1.2.3 failed (E500): the registry is in trouble"}},
		{"another tarball", []string{"npm install of @acme/tool@1.2.3 failed (EINTEGRITY): what arrived is not what the registry promised", "sha512-"}},
		{"a tarball cut short", []string{"npm install of @acme/tool@1.2.3 failed (EINTEGRITY): what arrived is not what the registry promised"}},
		{"gone in the middle", []string{"npm install of @acme/tool@1.2.3 failed (", "the registry cannot be reached"}},
		{"full disk", []string{"the disk is full", "make room"}},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t)
			l := newRealLab(t, r)
			r.fault.Store(test.fault)
			full := func() {}
			if test.fault == "full disk" {
				full = l.smallDisk()
			}
			_, err := l.install(tool)
			wantError(t, err, test.want...)
			if got := l.entries(); got != ".lock" {
				t.Errorf("the root holds %s, want nothing", got)
			}
			full()
			r.fault.Store("")
			in := l.mustInstall(tool)
			if !in.Fresh || in.Integrity != r.integrity || r.fetched.Load() == 0 {
				t.Errorf("Install() = %+v, want a new installation", in)
			}
			if err := os.Truncate(filepath.Join(in.Dir, "node_modules/@acme/tool/data"), 7); err != nil {
				t.Fatal(err)
			}
			before := r.fetched.Load()
			if again := l.mustInstall(tool); !again.Fresh || r.fetched.Load() != before {
				t.Errorf("Install() of what was damaged = %+v after %d downloads, want a new one without any", again, r.fetched.Load()-before)
			}
		})
	}
}

// A registry that was moved and hands out something else under the name of the version
// that was tested is refused before anything of it is unpacked.
func TestRealNpmPinned(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	l := newRealLab(t, r)
	_, err := l.install(tested)
	wantError(t, err, "npm install of @openai/codex@0.169.0 failed (EINTEGRITY): what arrived is not what the registry promised")
	if got := l.entries(); got != ".lock" || r.fetched.Load() == 0 {
		t.Errorf("after %d downloads the root holds %s, want nothing", r.fetched.Load(), got)
	}
}

// smallDisk mounts a file system at the root of installations, which is too small for
// one until it is called.
func (l *lab) smallDisk() (grow func()) {
	l.t.Helper()
	if os.Geteuid() != 0 {
		l.t.Skip("needs root to mount a small file system")
	}
	if err := os.MkdirAll(l.o.Root, 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", l.o.Root, "tmpfs", 0, "size=200k,mode=755"); err != nil {
		l.t.Fatalf("mount: %v", err) // root may, or the full disk is never tried
	}
	l.t.Cleanup(func() { _ = syscall.Unmount(l.o.Root, syscall.MNT_DETACH) })
	return func() {
		if err := syscall.Mount("tmpfs", l.o.Root, "tmpfs", syscall.MS_REMOUNT, "size=64m,mode=755"); err != nil {
			l.t.Fatal(err)
		}
	}
}
