package proc_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

// TestLastWordsAreTakenLate: what a child has left in its pipe when it ends is
// delivered, however long the writer, or the disk, keeps ralph from taking it.
func TestLastWordsAreTakenLate(t *testing.T) {
	t.Parallel()
	const size = 1_400_000 // more than waits in memory, less than that and the pipe
	var got int64
	c := program("floods", newMark(), strconv.Itoa(size))
	c.Stdout = funcWriter(func(p []byte) (int, error) {
		if got == 0 {
			time.Sleep(3 * time.Second) // longer than a pipe is read after the end
		}
		got += int64(len(p))
		return len(p), nil
	})
	exit, err := start(t, proc.Options{SpillDir: "/no/such/folder"}).Run(t.Context(), c)
	if err != nil || exit.Code != 0 || exit.OutputBytes != size || got != size {
		t.Errorf("Run() = %+v, %v, delivered %d bytes, want all %d", exit, err, got, size)
	}
}
