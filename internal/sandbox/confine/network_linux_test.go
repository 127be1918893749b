package confine_test

import (
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func init() {
	programs["sandbox-init"] = func(args []string) int { return confine.Probe(args[1]) }
}

func TestNetworkAvailable(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	ok, reason := confine.NetworkAvailable()
	took := time.Since(begin)
	if ok != (reason == "") {
		t.Errorf("NetworkAvailable() = %v, %q, want a reason exactly when it is not", ok, reason)
	}
	var wg sync.WaitGroup
	for range 20 { // it says the same each time, at once, too
		wg.Go(func() {
			if again, why := confine.NetworkAvailable(); again != ok {
				t.Errorf("NetworkAvailable() = %v, %q, and before %v, %q", again, why, ok, reason)
			}
		})
	}
	wg.Wait()
	t.Logf("NetworkAvailable() = %v, %q after %v", ok, reason, took)
}
