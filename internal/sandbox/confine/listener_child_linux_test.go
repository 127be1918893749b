package confine_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func init() {
	// It wants to be asked about its own connects, when its standard input ends.
	programs["listens"] = func([]string) int {
		_, _ = io.Copy(io.Discard, os.Stdin)
		allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		program := unix.SockFprog{Len: 1, Filter: &allow[0]}
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		fmt.Println(int(errno))
		return 0
	}
}

// A child whose notifier is closed, because the supervisor died before it, does not
// become the judge of its own connects.
func TestNotifierHasNoSuccessor(t *testing.T) {
	t.Parallel()
	if ok, reason := confine.NetworkAvailable(); !ok {
		t.Skip(reason)
	}
	child := exec.Command("/proc/self/exe", "listens")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	notifier, err := confine.Behind(confine.Policy{ReadWrite: []string{"/"}, Network: &confine.Network{}}, child.Start)
	if err != nil {
		t.Fatal(err)
	}
	notifier.Close()
	_ = in.Close()
	var errno int
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	} else if _, err := fmt.Sscan(line, &errno); err != nil || unix.Errno(errno) != unix.EBUSY {
		t.Errorf("a listener of the child's own: %q, want %v", line, int(unix.EBUSY))
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
