package driver

import "testing"

func TestSaid(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{"": "the agent exited with code 3", "oops": "the agent exited with code 3: oops"} {
		if got := WithWords("the agent "+ExitText(3), words); got != want {
			t.Errorf("said(…, %q) = %q, want %q", words, got, want)
		}
	}
}
