package confine

import (
	"errors"
	"os"
	"strings"
)

// Seal is the first act of main in a process that holds secrets. It returns a
// copy of environ and then leaves nothing for another process of the same user
// to read: the block behind /proc/PID/environ is overwritten with zeroes
// (os.Unsetenv alone never touches it), the process environment is emptied but
// for what the standard library needs to reach the network, and the process is
// made non-dumpable, which refuses environ, mem and ptrace alike. The order
// matters: a non-dumpable process may not look up its own block. Block and memory are
// hidden on Linux only.
//
// An exec brings the block and the dumpable flag back: a process that executes
// itself anew seals anew. The copy is returned even with an error, which means
// that some of this could not be done.
func Seal(environ []string) ([]string, error) {
	kept := make([]string, len(environ))
	for i, kv := range environ {
		kept[i] = strings.Clone(kv)
	}
	err := wipeBlock()
	os.Clearenv()
	for _, kv := range kept {
		if name, value, ok := strings.Cut(kv, "="); ok && isNetwork(name) {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	return kept, errors.Join(err, Undumpable())
}
