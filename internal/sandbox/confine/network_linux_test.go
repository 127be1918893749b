package confine_test

import (
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestNetworkAvailable(t *testing.T) {
	t.Parallel()
	ok, reason := confine.NetworkAvailable()
	if ok != (reason == "") {
		t.Errorf("NetworkAvailable() = %v, %q, want a reason exactly when it is not", ok, reason)
	}
	var all sync.WaitGroup
	for range 20 { // what it can do it says each time, at once, too
		all.Go(func() {
			if again, why := confine.NetworkAvailable(); again != (why == "") || ok && !again {
				t.Errorf("NetworkAvailable() = %v, %q, and before %v, %q", again, why, ok, reason)
			}
		})
	}
	all.Wait()
}
