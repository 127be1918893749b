package confine_test

import (
	"os"
	"testing"
)

// programs are what this binary is when a test starts it anew.
var programs = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		os.Exit(programs[os.Args[1]](os.Args[2:]))
	}
	os.Exit(m.Run())
}
