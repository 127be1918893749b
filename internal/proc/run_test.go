package proc_test

import (
	"bytes"
	"testing"

	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

func TestQuick(t *testing.T) {
	for _, o := range []proc.Options{{}, {Identity: sandbox.Identity{UID: 1001, GID: 1001}}, {Walls: &sandbox.Walls{ReadOnly: []string{"/usr", "/bin", "/lib", "/lib64"}}}} {
		s, err := proc.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		x, err := s.Run(t.Context(), proc.Command{Argv: []string{"sh", "-c", "id; cat /etc/passwd | head -1; pwd; exit 3"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
		t.Logf("%+v %v %s", x, err, out.String())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
