package install_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/install"
)

var tested = install.Package{Name: "@openai/codex", Program: "codex", Version: "0.169.0"}

// The tested version is installed by a lock of ours: npm compares every checksum with
// it, and nobody asks the registry what it has.
func TestPinned(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("install", "cp package-lock.json package.json $FAKE/log\n")
	in := l.mustInstall(tested)
	lock := l.read("log/package-lock.json")
	if !strings.HasPrefix(in.Integrity, "sha512-") || !strings.Contains(lock, in.Integrity) || !strings.Contains(lock, "codex-linux-arm64") || !strings.Contains(l.read("log/package.json"), `"@openai/codex": "0.169.0"`) {
		t.Errorf("Install() = %+v, npm saw the lock\n%s", in, lock)
	}
	if l.calls("npm view") != 0 || strings.Contains(l.read("log/calls"), "@openai") {
		t.Errorf("npm was called:\n%s", l.read("log/calls"))
	}
	again := tested
	again.Version = "0.168.0"
	if _, err := l.install(again); err == nil || l.calls("npm view @openai/codex@0.168.0") != 1 {
		t.Errorf("Install(0.168.0) = %v, want another version to be asked for:\n%s", err, l.read("log/calls"))
	}
}

// A package of the lock in another guise is refused, whatever npm says.
func TestPinnedChecksum(t *testing.T) {
	t.Parallel()
	for _, sed := range []string{"/codex-0.169.0.tgz/{n;s/sha512-./sha512-_/}", "/linux-x64.tgz/{n;s/sha512-./sha512-_/}"} {
		l := newLab(t)
		l.write("after", "sed -i '"+sed+"' package-lock.json\n")
		_, err := l.install(tested)
		wantError(t, err, `@openai/codex@0.169.0: "node_modules/@openai/codex`, "that was installed has the checksum sha512-_", "and the one that was tested has sha512-")
		if got := l.entries(); got != ".lock" {
			t.Errorf("the root holds %s, want nothing", got)
		}
	}
}

// A registry that says `latest` is the tested version is held to what was tested.
func TestPinnedLatest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	latest := tested
	latest.Version = "latest"
	l.write("view", "version=0.169.0\n")
	_, err := l.install(latest)
	wantError(t, err, "the registry names the checksum sha512-0.169.0==, and what was installed has sha512-")
}
