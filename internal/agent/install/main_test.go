package install_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// fakeNpm is an npm whose registry has @acme/tool in 1.2.3 (latest), 1.10.0 and
// 2.0.0-beta.1, and installs the project that it finds. What it does is noted in $FAKE/calls, which npm may write;
// $FAKE/view1 is shell code that the first `npm view` runs before it answers,
// $FAKE/install2 the second `npm install`, and so on; before is for all installs.
const fakeNpm = `#!/bin/sh
calls=$FAKE/log/calls
echo "$PWD npm $*" >>"$calls"
env | sort >"$FAKE/log/env"
fail() { echo "npm error code $1" >&2; echo "npm error it went wrong: $1" >&2; exit 1; }
n=$(grep -c " npm $1 " "$calls")
version=${2##*@}
case $version in latest) version=1.2.3 ;; esac
name=@acme/tool
tool=tool
[ -f package.json ] && name=@openai/codex version=0.169.0 tool=codex
engines='{"node":">=20"}' bin=bin/tool.exe
[ -f "$FAKE/$1" ] && . "$FAKE/$1"
[ -f "$FAKE/$1$n" ] && . "$FAKE/$1$n"
case $1 in
view)
	printf '{"version":"%s","engines":%s,"dist.integrity":"sha512-%s==","bin":{"tool":"%s"}}\n' "$version" "$engines" "$version" "$bin" ;;
install)
	echo "npm notice fetching $2"
	mkdir -p node_modules/$name/bin node_modules/.bin node_modules/dep
	echo '{}' >node_modules/dep/package.json
	printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s (Tool)"\n' "$version" >node_modules/$name/$bin
	chmod 775 node_modules/$name/$bin
	ln -s ../$name/$bin node_modules/.bin/tool
	printf '{"name":"%s","version":"%s","bin":{"%s":"%s"},"scripts":{"postinstall":"node install.cjs"}}\n' "$name" "$version" "$tool" "$bin" >node_modules/$name/package.json
	[ -f package-lock.json ] || printf '{"lockfileVersion":3,"packages":{"":{},"node_modules/%s":{"version":"%s","integrity":"sha512-%s=="},"node_modules/dep":{"version":"1.0.0","integrity":"sha512-dep=="}}}\n' "$name" "$version" "$version" >package-lock.json
	[ -f "$npm_config_cache/_cacache/x" ] && echo "npm notice from the cache"
	mkdir -p "$npm_config_cache/_cacache" && echo cached >"$npm_config_cache/_cacache/x"
	[ -f "$FAKE/after" ] && . "$FAKE/after" ;;
esac
exit 0
`

// fakeNode runs install scripts, which are shell scripts here.
const fakeNode = `#!/bin/sh
case $1 in
--version) cat "$FAKE/node-version" ;;
*) echo "$PWD node $*" >>"$FAKE/log/calls"; exec sh "$@" ;;
esac
`

// lab is a machine with a fake npm on PATH and a place for installations.
type lab struct {
	t    *testing.T
	dir  string // every user may enter it
	fake string
	o    install.Options

	mu   sync.Mutex
	said []string
	log  bytes.Buffer
}

var tool = install.Package{Name: "@acme/tool", Program: "tool", Version: "1.2.3"}

// npmUser is who npm runs as: another user where we may choose one.
func npmUser() confine.Identity {
	if os.Geteuid() == 0 {
		return confine.Identity{UID: 1001, GID: 1001}
	}
	return confine.Identity{}
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "install-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &lab{t: t, dir: dir, fake: filepath.Join(dir, "fake")}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fake/bin", "fake/log", "workspace"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.write("bin/npm", fakeNpm)
	l.write("bin/node", fakeNode)
	l.write("node-version", "v22.1.0\n")
	if id := npmUser(); !id.IsZero() {
		if err := os.Chown(filepath.Join(l.fake, "log"), id.UID, id.GID); err != nil {
			t.Fatal(err)
		}
	}
	l.o = install.Options{
		Start: l.start, Root: filepath.Join(dir, "agents"),
		Env:   []string{"PATH=" + filepath.Join(l.fake, "bin") + ":/usr/bin:/bin", "FAKE=" + l.fake},
		Say:   func(text string) { l.mu.Lock(); defer l.mu.Unlock(); l.said = append(l.said, text) },
		Log:   &l.log,
		Pause: time.Millisecond,
	}
	if id := npmUser(); !id.IsZero() {
		l.o.Owner = install.Owner{UID: id.UID, GID: id.GID}
	}
	return l
}

// start runs children as npmUser, restricted as by a caller.
func (l *lab) start(ctx context.Context, dir string) (install.Process, func() error, error) {
	policy := confine.DefaultPolicy([]string{dir, filepath.Join(l.fake, "log")}, []string{l.fake})
	s, err := proc.Start(ctx, proc.Options{Identity: npmUser(), Policy: &policy, Env: []string{"GORACE=atexit_sleep_ms=0"}})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	// No process of another test may be forked meanwhile: it would hold the file open
	// for writing until it is another program, and nothing starts such a file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(l.fake, name), []byte(text), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(name string) string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.fake, name))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return string(data)
}

// calls counts what npm was asked for.
func (l *lab) calls(what string) int { return strings.Count(l.read("log/calls"), " "+what+" ") }

func (l *lab) install(p install.Package) (install.Installed, error) {
	return install.Install(l.t.Context(), l.o, p)
}

func (l *lab) mustInstall(p install.Package) install.Installed {
	l.t.Helper()
	in, err := l.install(p)
	if err != nil {
		l.t.Fatalf("Install(%v) = %v\n%s", p, err, l.log.String())
	}
	return in
}

func (l *lab) heard(want string) {
	l.t.Helper()
	if all := strings.Join(l.said, "\n"); !strings.Contains(all, want) {
		l.t.Errorf("said %q, want %q in it", all, want)
	}
}

// entries are the names in the root.
func (l *lab) entries() string {
	l.t.Helper()
	entries, err := os.ReadDir(l.o.Root)
	if err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("error = %v, want %q in it", err, text)
		}
	}
}
