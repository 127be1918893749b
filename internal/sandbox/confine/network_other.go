//go:build !linux

package confine

// NetworkAvailable says that there is no network wall outside Linux.
func NetworkAvailable() (ok bool, reason string) { return false, "network walls need Linux" }
