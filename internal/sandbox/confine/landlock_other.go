//go:build !linux

package confine

// Available returns 0: restrictions on files need Linux.
func Available() (abi int, reason string) { return 0, "file restrictions need Linux" }
