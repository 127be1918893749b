package proc_test

import (
	"os"
	"testing"

	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

// TestMain serves the hidden commands of the supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sandbox-init":
			os.Exit(proc.InitMain(os.Stderr))
		case "sandbox-exec":
			os.Exit(sandbox.ExecMain(os.Args[2:], os.Environ()))
		}
	}
	os.Exit(m.Run())
}
