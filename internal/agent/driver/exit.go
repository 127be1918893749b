package driver

import (
	"fmt"
	"syscall"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// ExitText words an exit code as a shell counts it: 126 and 127 for a program
// that could not be started, 128 and the signal's number for one that a signal
// ended. -1 means an unknown signal.
func ExitText(code int) string {
	switch {
	case code < 0:
		return "was ended by a signal"
	case code == 126:
		return "exited with code 126 (not executable)"
	case code == 127:
		return "exited with code 127 (not found)"
	case code == 130:
		return "exited with code 130 (interrupted)"
	case code > 128 && code <= 128+31: // the signals that are alike everywhere
		return fmt.Sprintf("exited with code %d (%v)", code, syscall.Signal(code-128))
	}
	return fmt.Sprintf("exited with code %d", code)
}

// ExitCode is the exit code as a shell counts it: 128 and the signal's number
// when one ended the process.
func ExitCode(e proc.Exit) int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

// WithWords adds the last words of a program, where it had any.
func WithWords(what, words string) string {
	if words == "" {
		return what
	}
	return what + ": " + words
}

// StatusKind sorts an error of a provider by its HTTP status. What is not known may pass.
func StatusKind(status int) ralph.FailureKind {
	switch {
	case status == 401 || status == 403:
		return ralph.FailureAuth
	case status == 404:
		return ralph.FailureModel
	case status >= 400 && status < 500 && status != 408 && status != 409 && status != 429:
		return ralph.FailureRequest
	}
	return ralph.FailureAPI
}
