//go:build long

package secretscan_test

import "testing"

func TestHardMegabytes(t *testing.T) {
	t.Parallel()
	inTime(t, 1<<20)
}
