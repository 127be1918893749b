package confine_test

import (
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestNetworkAvailable(t *testing.T) {
	t.Parallel()
	ok, reason := confine.NetworkAvailable()
	if ok != (reason == "") {
		t.Errorf("NetworkAvailable() = %v, %q, want a reason exactly when it is not", ok, reason)
	}
}
