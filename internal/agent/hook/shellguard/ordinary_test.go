package shellguard_test

import (
	"os"
	"strings"
	"testing"
)

// Issue 4: ordinary developer commands are not refused. One per line of the
// file; \n within one stands for a new line where a here-document needs it.
func TestOrdinaryCommandsPass(t *testing.T) {
	t.Parallel()
	lines := ordinary(t)
	if len(lines) < 200 {
		t.Errorf("%d commands, want at least 200", len(lines))
	}
	for _, line := range lines {
		for _, cwd := range []string{"/github/workspace", "", "/github/workspace/web"} {
			if kind, reason := guard().Judge(line, cwd); kind != "" {
				t.Errorf("Judge(%q, %q) = %q: %s", line, cwd, kind, reason)
			}
		}
		if kind, reason := (guardless).Judge(line, "/github/workspace"); kind != "" {
			t.Errorf("without a known home and workspace, Judge(%q) = %q: %s", line, kind, reason)
		}
	}
}

func ordinary(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "<<") {
			line = strings.ReplaceAll(line, `\n`, "\n")
		}
		out = append(out, line)
	}
	return out
}
