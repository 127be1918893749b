//go:build !linux

package sandbox

// ExecMain is the hidden command sandbox-exec, which only Linux uses.
func ExecMain(args, environ []string) int { return 126 }
