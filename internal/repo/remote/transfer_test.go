package remote

import (
	"bufio"
	"strings"
	"testing"
)

func TestRefusedFetch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, want string }{
		{"0030ERR upload-pack: not our ref 0123456789abcdef", "not our ref 0123456789abcdef"},
		{"0008NAK\nPACK", ""},
		{"", ""},
		{"0008ERR ", "refuses the fetch"},
	} {
		err := refused(bufio.NewReader(strings.NewReader(tt.answer)))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("refused(%q) = %v, want %q", tt.answer, err, tt.want)
		}
	}
}
