package proc_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const gigabyte = 1 << 30

// TestFloodWithAStalledWriter: the child writes a gigabyte although nobody
// takes a byte until it has, nothing is lost, and the host process stays small.
func TestFloodWithAStalledWriter(t *testing.T) {
	t.Parallel()
	mark := newMark()
	file := filepath.Join(place(t, "flood"), "done")
	cmd, said := hostCommand(t, mark, hostSpec{
		Identity: childUser(),
		Argv:     program("floods", mark, strconv.Itoa(gigabyte), file).Argv,
		BlockOn:  file,
	})
	got := said(cmd.Run())
	if got.Err != "" || got.Exit.Code != 0 || got.Exit.OutputBytes != gigabyte || got.Bytes != gigabyte {
		t.Errorf("Run(flood) = %+v, want code 0 and all %d bytes", got, gigabyte)
	}
	wantSmall(t, got)
	wantNoSurvivor(t, mark)
}

// TestFloodWithASlowWriter: the same with a writer that limps along.
func TestFloodWithASlowWriter(t *testing.T) {
	t.Parallel()
	mark := newMark()
	cmd, said := hostCommand(t, mark, hostSpec{
		Identity: childUser(),
		Argv:     program("floods", mark, strconv.Itoa(gigabyte/4)).Argv,
		Slow:     500 * time.Microsecond,
	})
	got := said(cmd.Run())
	if got.Err != "" || got.Exit.Code != 0 || got.Bytes != gigabyte/4 {
		t.Errorf("Run(flood) = %+v, want code 0 and all %d bytes", got, gigabyte/4)
	}
	wantSmall(t, got)
}

func wantSmall(t *testing.T, got hostSaid) {
	t.Helper()
	t.Logf("peak memory of the host process: %d MiB", got.PeakRSS>>20)
	limit := int64(32 << 20)
	if raceEnabled {
		limit *= 3 // the detector's own shadow
	}
	if got.PeakRSS > limit {
		t.Errorf("peak memory = %d MiB, want at most %d", got.PeakRSS>>20, limit>>20)
	}
}
