package confine_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

const token = "TOKEN=hunter2"

func init() {
	// sealed seals itself, says what it kept, and waits for the end of stdin.
	programs["sealed"] = func([]string) int {
		kept, err := confine.Seal(os.Environ())
		fmt.Println(slices.Contains(kept, token), err, strings.Join(os.Environ(), " "))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// resealed seals itself, becomes "open" with the same environment.
	programs["re-executed"] = func([]string) int {
		kept, _ := confine.Seal(os.Environ())
		fmt.Fprintln(os.Stderr, syscall.Exec("/proc/self/exe", []string{"test", "open"}, kept))
		return 1
	}
	programs["open"] = func([]string) int {
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// peeks looks at another process of its own user.
	programs["peeks"] = func(args []string) int {
		environ, err := os.ReadFile("/proc/" + args[0] + "/environ")
		fmt.Printf("environ %q %v\n", environ, err)
		_, err = os.OpenFile("/proc/"+args[0]+"/mem", os.O_RDWR, 0)
		fmt.Println("mem", err)
		_, err = os.ReadDir("/proc/" + args[0] + "/fd")
		fmt.Println("fd", err)
		runtime.LockOSThread()
		pid, _ := strconv.Atoi(args[0])
		fmt.Println("ptrace", syscall.PtraceAttach(pid))
		return 0
	}
}

// asUser makes a command run as a plain user, which root's own test must be too
// for the kernel to refuse anything.
func asUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4002, Gid: 4002}}
	}
}

// begin starts a program that waits, and returns its first line.
func begin(t *testing.T, name string) (cmd *exec.Cmd, line string) {
	t.Helper()
	cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{"test", name},
		Env: []string{token, "HTTPS_PROXY=http://p:1", "GORACE=atexit_sleep_ms=0"}, Stderr: os.Stderr}
	asUser(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill() // the attempt to trace it may have stopped it
		_ = cmd.Wait()
	})
	line, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cmd, line
}

func peek(t *testing.T, pid int) string {
	t.Helper()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"test", "peeks", strconv.Itoa(pid)}, Env: []string{"GORACE=atexit_sleep_ms=0"}}
	asUser(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("peeks: %v", err)
	}
	return string(out)
}

func TestSeal(t *testing.T) {
	t.Parallel()
	cmd, line := begin(t, "sealed")
	if want := "true <nil> HTTPS_PROXY=http://p:1\n"; line != want {
		t.Errorf("Seal() said %q, want %q", line, want)
	}
	seen := peek(t, cmd.Process.Pid)
	if n := strings.Count(seen, "permission denied") + strings.Count(seen, "operation not permitted"); n != 4 {
		t.Errorf("another process of the user sees %s, want four refusals", seen)
	}
	if strings.Contains(seen, "hunter2") {
		t.Errorf("another process of the user sees the token: %s", seen)
	}
	if os.Geteuid() != 0 {
		return // only root can see that the block is wiped as well
	}
	block, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if err != nil || len(bytes.Trim(block, "\x00")) != 0 {
		t.Errorf("environment block = %q, %v, want zeroes", block, err)
	}
}

// TestSealEndsWithAnExec is why whoever executes itself anew seals anew.
func TestSealEndsWithAnExec(t *testing.T) {
	t.Parallel()
	cmd, _ := begin(t, "re-executed")
	if seen := peek(t, cmd.Process.Pid); !strings.Contains(seen, "hunter2") {
		t.Errorf("another process of the user sees %s, want the environment to be back", seen)
	}
}
