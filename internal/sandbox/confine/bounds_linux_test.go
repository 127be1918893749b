package confine

import (
	"strings"
	"testing"
)

func TestEnvironmentBounds(t *testing.T) {
	t.Parallel()
	stat := func(name, start, end string) string {
		fields := strings.Split(strings.Repeat("0 ", 48), " ")[:48]
		return "12 (" + name + ") S " + strings.Join(fields[:46], " ") + " " + start + " " + end + " 0\n"
	}
	for _, tc := range []struct {
		stat       string
		start, end uintptr
		ok         bool
	}{
		{stat("ralph", "4096", "8192"), 4096, 8192, true},
		{stat("a) S (b c", "4096", "4096"), 4096, 4096, true},
		{stat("ralph", "8192", "4096"), 0, 0, false},
		{stat("ralph", "0", "0"), 0, 0, false},
		{stat("ralph", "x", "1"), 0, 0, false},
		{stat("ralph", "4096", "999999999999"), 0, 0, false},
		{"12 (ralph) S 1 2 3", 0, 0, false},
		{"", 0, 0, false},
	} {
		start, end, err := environmentBounds(tc.stat)
		if start != tc.start || end != tc.end || (err == nil) != tc.ok {
			t.Errorf("environmentBounds(%q) = %d, %d, %v, want %d, %d, ok %v", tc.stat, start, end, err, tc.start, tc.end, tc.ok)
		}
	}
}

func FuzzEnvironmentBounds(f *testing.F) {
	f.Add("1 (x) S 0")
	f.Fuzz(func(t *testing.T, stat string) {
		start, end, err := environmentBounds(stat)
		if err == nil && start > end {
			t.Errorf("environmentBounds(%q) = %d, %d", stat, start, end)
		}
	})
}
