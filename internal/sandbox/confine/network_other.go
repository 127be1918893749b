//go:build !linux

package confine

// NetworkAvailable returns false: network restrictions need Linux.
func NetworkAvailable() (ok bool, reason string) { return false, "network restrictions need Linux" }
