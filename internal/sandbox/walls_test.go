package sandbox_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/sandbox"
)

func TestSpecRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []sandbox.Spec{
		{},
		{MaxProcs: 1 << 60},
		{Walls: sandbox.Walls{ReadOnly: []string{"/usr", "/a b\n\xff"}, ReadWrite: []string{""}, Devices: []string{"/dev/null"}, Strict: true}, MaxProcs: 7},
		{Walls: sandbox.DefaultWalls([]string{"/work"}, []string{"/opt/agent"})},
	} {
		got, err := sandbox.ParseSpec(s.Encode())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("ParseSpec(Encode(%+v)) = %+v, %v", s, got, err)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"r/usr", "\x00", "x/usr\x00", "n-1\x00", "nmany\x00", "r/usr\x00w"} {
		if got, err := sandbox.ParseSpec([]byte(text)); err == nil {
			t.Errorf("ParseSpec(%q) = %+v, want an error", text, got)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add(sandbox.Spec{Walls: sandbox.DefaultWalls([]string{"/w"}, nil), MaxProcs: 5}.Encode())
	f.Add([]byte("s\x00n1\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := sandbox.ParseSpec(data)
		if err != nil {
			return
		}
		if again, err := sandbox.ParseSpec(s.Encode()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("ParseSpec(Encode(%+v)) = %+v, %v", s, again, err)
		}
	})
}

func TestDefaultWallsKeepTheRunnersFilesOut(t *testing.T) {
	t.Parallel()
	w := sandbox.DefaultWalls([]string{"/github/workspace", "/home/agent", "/tmp/ralph"}, []string{"/opt/claude"})
	for _, path := range []string{"/github", "/github/runner_temp", "/github/file_commands", "/github/workflow", "/github/home", "/var/run", "/tmp", "/", "/dev", "/root", "/home"} {
		if slices.Contains(w.ReadOnly, path) || slices.Contains(w.ReadWrite, path) || slices.Contains(w.Devices, path) {
			t.Errorf("DefaultWalls() opens %s", path)
		}
	}
	for _, path := range []string{"/usr", "/etc", "/proc", "/opt/claude"} {
		if !slices.Contains(w.ReadOnly, path) {
			t.Errorf("DefaultWalls() does not let %s be read", path)
		}
	}
	if !slices.Contains(w.ReadWrite, "/github/workspace") || slices.Contains(w.ReadWrite, "/usr") {
		t.Errorf("DefaultWalls() lets %q be written", w.ReadWrite)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	id := sandbox.Identity{UID: 1001, GID: 1001}
	if got, want := sandbox.Describe(id, nil, 0), "no file walls, uid 1001"; got != want {
		t.Errorf("Describe(no walls) = %q, want %q", got, want)
	}
	if got, want := sandbox.Describe(sandbox.Identity{}, nil, 1000), "no file walls, uid 1000 (our own)"; got != want {
		t.Errorf("Describe(own user) = %q, want %q", got, want)
	}
	if got := sandbox.Describe(id, &sandbox.Walls{}, 0); len(got) < len("no file walls, uid 1001") {
		t.Errorf("Describe(walls) = %q, want what is in force", got)
	}
}
