package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

var agent = confine.Identity{UID: 4001, GID: 4001}

func TestIdentityFor(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		id, handOver, err := confine.IdentityFor(confine.Place{Workspace: t.TempDir(), Fallback: agent})
		if !id.IsZero() || handOver || err != nil {
			t.Errorf("IdentityFor() = %v, %v, %v, want a plain user to stay itself", id, handOver, err)
		}
		return
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	chown(t, touch(t, socket), 0, 998)
	for _, tc := range []struct {
		name     string
		uid, gid int
		fallback confine.Identity
		want     confine.Identity
		handOver bool
	}{
		{"hosted runner", 1001, 127, agent, confine.Identity{UID: 1001, GID: 127}, false},
		{"docker's group", 1001, 998, agent, confine.Identity{UID: 1001, GID: 4001}, false},
		{"docker's group everywhere", 1001, 998, confine.Identity{UID: 4001, GID: 998}, confine.Identity{UID: 1001, GID: 1001}, false},
		{"docker's group, no agent user", 1001, 998, confine.Identity{}, confine.Identity{UID: 1001, GID: 1001}, false},
		{"root's group", 1001, 0, agent, confine.Identity{UID: 1001, GID: 4001}, false},
		{"root's", 0, 0, agent, agent, true},
		{"root's, group of another", 0, 1000, agent, agent, true},
	} {
		dir := t.TempDir()
		chown(t, dir, tc.uid, tc.gid)
		id, handOver, err := confine.IdentityFor(confine.Place{Workspace: dir, DockerSocket: socket, Fallback: tc.fallback})
		if id != tc.want || handOver != tc.handOver || err != nil {
			t.Errorf("%s: IdentityFor() = %v, %v, %v, want %v, %v", tc.name, id, handOver, err, tc.want, tc.handOver)
		}
	}
	if _, _, err := confine.IdentityFor(confine.Place{Workspace: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no other user") {
		t.Errorf("IdentityFor(root's, no agent user) = %v, want an error", err)
	}
	if _, _, err := confine.IdentityFor(confine.Place{Workspace: socket, Fallback: agent}); err == nil {
		t.Error("IdentityFor(a file) = nil, want an error")
	}
	if _, _, err := confine.IdentityFor(confine.Place{Workspace: socket + "/x", Fallback: agent}); err == nil {
		t.Error("IdentityFor(missing) = nil, want an error")
	}
}

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func chown(t *testing.T, path string, uid, gid int) {
	t.Helper()
	if err := os.Lchown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}
