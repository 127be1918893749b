package sandbox_test

import (
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox"
)

func init() {
	programs["sandbox-init"] = func(args []string) int { return sandbox.Probe(args[1]) }
}

func TestNetworkAvailable(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	ok, reason := sandbox.NetworkAvailable()
	if ok != (reason == "") {
		t.Errorf("NetworkAvailable() = %v, %q, want a reason exactly when it is not", ok, reason)
	}
	t.Logf("NetworkAvailable() = %v, %q after %v", ok, reason, time.Since(begin))
}
