package confine

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A child does not become the judge of its own connects.
func TestNoListeners(t *testing.T) {
	t.Parallel()
	const operation, flags = offArgs / 4, offArgs/4 + 2
	for _, tc := range []struct {
		name  string
		flags uint32
		want  uint32
	}{
		{"a filter", 0, resultAllow},
		{"a filter for all threads", unix.SECCOMP_FILTER_FLAG_TSYNC, resultAllow},
		{"with a listener", unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY)},
		{"with a listener, and more", unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH, unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var data [16]uint32
			data[operation], data[flags] = unix.SECCOMP_SET_MODE_FILTER, tc.flags
			if got := run(t, noListeners(), data); got != tc.want {
				t.Errorf("%#x, want %#x", got, tc.want)
			}
		})
	}
}
