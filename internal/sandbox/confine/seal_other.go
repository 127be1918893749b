//go:build !linux

package confine

import (
	"os"
	"slices"
	"strings"
)

// Seal returns a copy of environ and empties the process environment but for
// what the standard library needs to reach the network. Hiding the memory from
// the same user is only done on Linux.
func Seal(environ []string) ([]string, error) {
	kept := slices.Clone(environ)
	os.Clearenv()
	for _, kv := range kept {
		if name, value, ok := strings.Cut(kv, "="); ok && isNetwork(name) {
			if err := os.Setenv(name, value); err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}
