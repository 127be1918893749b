//go:build long

package leak_test

import "testing"

func TestHardMegabytes(t *testing.T) {
	t.Parallel()
	inTime(t, 1<<20)
}
