package lines

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	t.Parallel()
	many := func(prefix string) string {
		return strings.Repeat(prefix+"\n", 3000)
	}
	for _, tt := range []struct {
		a, b     string
		ins, del int
	}{
		{"", "", 0, 0},
		{"", "a\nb\n", 2, 0},
		{"a\nb\n", "", 0, 2},
		{"a\nb\nc\n", "a\nx\nc\n", 1, 1},
		{"a\nb\nc\n", "b\nc\na\n", 1, 1},
		{"a\n", "a", 1, 1},
		{many("x"), many("y"), 3000, 3000},
	} {
		if ins, del := Count([]byte(tt.a), []byte(tt.b)); ins != tt.ins || del != tt.del {
			t.Errorf("Count(%.20q, %.20q) = %d, %d, want %d, %d", tt.a, tt.b, ins, del, tt.ins, tt.del)
		}
	}
}
