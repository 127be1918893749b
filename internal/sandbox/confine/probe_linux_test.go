package confine

import (
	"sync"
	"testing"
	"time"
)

func TestTryNetwork(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	ok, reason := tryNetwork()
	took := time.Since(begin)
	var wg sync.WaitGroup
	for range 20 { // it says the same each time, at once, too
		wg.Go(func() {
			if again, why := tryNetwork(); again != ok {
				t.Errorf("tryNetwork() = %v, %q, and before %v, %q", again, why, ok, reason)
			}
		})
	}
	wg.Wait()
	t.Logf("tryNetwork() = %v, %q after %v", ok, reason, took)
}
