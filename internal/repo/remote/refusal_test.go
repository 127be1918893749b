package remote

import (
	"errors"
	"strings"
	"testing"
)

func TestRejection(t *testing.T) {
	t.Parallel()
	var protected *RejectedError
	if err := rejection("b", "protected branch hook declined", "remote: error: GH006\x1b[31m"); !errors.As(err, &protected) || !protected.Protected || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("rejection(GH006) = %v, want a protected branch in printable text", err)
	}
	for _, s := range []string{"non-fast-forward", "fetch first", "failed to update ref", "cannot lock ref 'refs/heads/x': is at a but expected b"} {
		if err := rejection("b", s, ""); !errors.Is(err, ErrNotFastForward) {
			t.Errorf("rejection(%q) = %v, want ErrNotFastForward", s, err)
		}
	}
}
