package repo_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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
	object  string        // error of each object
	atHome  bool          // objects are sent to the git server
	hold    chan struct{} // a transfer waits for it; nil: none does
	pusher  string        // the token batch requests need; empty: the usual
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
	case user != "x-access-token" || pass != cmp.Or(l.pusher, token):
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
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-r.Context().Done():
		}
		return
	}
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
