package fanout_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/fanout"
)

// What is wrong with a file is said in few words, however much of it is foreign.
func TestDecodeSaysLittle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 1<<20)
	for _, text := range []string{
		`{"version": ` + long + `}`, `{"` + long + `": 1}`, `{"started": "` + long + `"}`, `{"lane": "` + long + `"}`, `{"outcome": "` + long + `", "base": "` + long + `"}`,
		`{"version": 1, "` + "\u202e::error::\u001b[31m" + `": 2}`, strings.Repeat("[", 1<<20), `{"stories": ` + strings.Repeat(`[`, 20_000),
	} {
		_, err := fanout.DecodeResult([]byte(text))
		if err == nil || len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\u202e\u001b\n") {
			t.Errorf("DecodeResult(%.40q) = %.300v, want a short error of plain text", text, err)
		}
		if _, err := fanout.DecodePlan([]byte(text)); err == nil || len(err.Error()) > 2000 {
			t.Errorf("DecodePlan(%.40q) = %.300v, want a short error", text, err)
		}
	}
}
