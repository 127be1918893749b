//go:build !linux

package confine

import (
	"os"
	"runtime"
)

// Available returns 0: Landlock is Linux's.
func Available() (abi int, reason string) { return 0, "Landlock needs Linux" }

// FilesAvailable reports whether file access can be restricted; reason says why not.
func FilesAvailable() (ok bool, reason string) {
	if runtime.GOOS != "darwin" {
		return false, "file restrictions need Linux or macOS"
	}
	if _, err := os.Stat(SandboxExec); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// NetworkAvailable is FilesAvailable: one profile restricts both.
func NetworkAvailable() (ok bool, reason string) { return FilesAvailable() }
