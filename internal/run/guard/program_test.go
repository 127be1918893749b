package guard_test

import (
	"testing"

	"github.com/org/ralph-action/internal/run/guard"
)

func TestProgram(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npm test": "npm", " go test ./... 2>&1": "go", "make": "make", "./test.sh -v": "./test.sh", "cd web && npm test": "cd",
		"g++ -o x x.cc && ./x": "g++", "if true": "if", "/usr/bin/true": "/usr/bin/true",
		"npm test || true": "", "foo; bar": "", "foo | tee log": "", "foo &": "", "foo\nbar": "",
		"X=1 foo": "", "$TOOL run": "", "'my tool' x": "", "(foo)": "", "! foo": "", "foo() { true": "", "`which x`": "", "": "", "~/bin/x": "",
	} {
		if got := guard.Program(command); got != want {
			t.Errorf("Program(%q) = %q, want %q", command, got, want)
		}
	}
}
