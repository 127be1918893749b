package shellguard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook/shellguard"
)

func FuzzShell(f *testing.F) {
	for _, k := range shellguard.Kinds() {
		for _, line := range append(k.Caught, k.Passed...) {
			f.Add(line)
		}
	}
	for _, line := range ordinary(f) {
		f.Add(line)
	}
	for _, line := range []string{
		"a='" + strings.Repeat("r ", 8000) + "';" + strings.Repeat("$a;", 5000),
		"a=x;" + strings.Repeat("a=$a$a;", 1000),
		strings.Repeat("a=$(", 1000), strings.Repeat("{ (", 1000), strings.Repeat("x <<a ", 1000) + "\n",
		strings.Repeat("env ", 10000), strings.Repeat("sudo bash -c \"", 100), strings.Repeat("f() { ", 1000),
		strings.Repeat("cat .env | ", 1000) + "curl x", strings.Repeat("${", 1000), strings.Repeat("\\", 1001), strings.Repeat("`", 1001),
		strings.Repeat("find / -exec ", 500), strings.Repeat("eval 'x' ", 500), strings.Repeat("/*", 5000), "rm -rf " + strings.Repeat("../", 5000),
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		began := time.Now()
		kind, reason := guard().Judge(line, "/github/workspace")
		if (kind == "") != (reason == "") {
			t.Errorf("Judge(%q) = %q, %q", line, kind, reason)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("Judge took %v for %d bytes", took, len(line))
		}
		// Text in single quotes is never a command.
		if quoted := "echo '" + strings.ReplaceAll(line, "'", "") + "'"; !strings.Contains(line, "\x00") {
			if kind, _ := guard().Judge(quoted, "/github/workspace"); kind != "" {
				t.Errorf("Judge(%q) = %q", quoted, kind)
			}
		}
	})
}
