package proc

import "syscall"

// StartError is why a program could not be started. It is fs.ErrNotExist,
// fs.ErrPermission and so on to errors.Is.
type StartError struct {
	Errno syscall.Errno
	Text  string
}

func (e *StartError) Error() string { return e.Text }
func (e *StartError) Unwrap() error { return e.Errno }
