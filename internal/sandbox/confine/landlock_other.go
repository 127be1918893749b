//go:build !linux

package confine

// Available says that there are no file walls outside Linux.
func Available() (abi int, reason string) { return 0, "file walls need Linux" }
