package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors sandbox-exec is started with, beside the child's own three.
const (
	SpecFD   = 3 // the Spec, at offset 0; may be shared by many children
	StatusFD = 4 // what ParseFailure reads
)

// Failure is why a child was not started.
type Failure struct {
	Errno syscall.Errno // 0 when it was not the exec that failed
	Text  string
}

// ExecMain is the hidden command sandbox-exec: it puts the walls on itself and
// becomes the program whose path is its first argument and whose argv, program
// name included, are the others. It returns only when it could not, with the
// exit code for the process.
func ExecMain(args, environ []string) int {
	runtime.LockOSThread() // walls belong to a thread; the exec must come from the same
	unix.CloseOnExec(SpecFD)
	unix.CloseOnExec(StatusFD)
	status := os.NewFile(StatusFD, "status")
	err := become(args, environ, status)
	var errno syscall.Errno
	errors.As(err, &errno)
	_, _ = status.WriteString(Failure{errno, err.Error()}.encode())
	return 126
}

func become(args, environ []string, status io.StringWriter) error {
	if len(args) < 2 {
		return errors.New("sandbox-exec is started by ralph only")
	}
	data, err := io.ReadAll(io.NewSectionReader(os.NewFile(SpecFD, "spec"), 0, 1<<20))
	if err != nil {
		return fmt.Errorf("sandbox spec: %s", err) // its errno is not the child's
	}
	spec, err := ParseSpec(data)
	if err != nil {
		return err
	}
	if err := limitProcs(spec.MaxProcs); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %s", err)
	}
	abi, reason := Available()
	switch {
	case abi > 0:
		if err := confine(spec.Walls, abi); err != nil {
			return fmt.Errorf("file walls: %s", err)
		}
	case spec.Walls.Strict:
		return fmt.Errorf("isolation is strict, but there are no file walls: %s", reason)
	}
	if _, err := status.WriteString(reached); err != nil {
		return fmt.Errorf("tell the supervisor: %s", err)
	}
	return os.NewSyscallError("exec "+args[0], syscall.Exec(args[0], args[1:], environ))
}

// limitProcs bounds how many processes the user may have, below what it already
// was limited to.
func limitProcs(n uint64) error {
	if n == 0 {
		return nil
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &old); err != nil {
		return fmt.Errorf("process limit: %s", err)
	}
	n = min(n, old.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("process limit: %s", err)
	}
	return nil
}
