package proc_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// programs are the misbehaving children. The first argument is the mark.
var programs = map[string]func(args []string) int{}

func init() {
	programs["sleeps"] = func([]string) int { return sleep() }
	programs["ignores-term"] = func([]string) int {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		return sleep()
	}
	programs["ends-on-term"] = func([]string) int {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		fmt.Println("bye")
		return 7
	}
	programs["double-forks"] = func(args []string) int {
		spawn(args[0], "forks-once", &syscall.SysProcAttr{Setsid: true}, true)
		return 0
	}
	programs["forks-once"] = func(args []string) int {
		spawn(args[0], "sleeps", &syscall.SysProcAttr{Setsid: true}, false)
		return 0
	}
	programs["holds-stdout"] = func(args []string) int {
		spawn(args[0], "sleeps", nil, false)
		fmt.Println("done")
		return 0
	}
	programs["floods"] = floods
	programs["dies-midline"] = func([]string) int {
		fmt.Print("whole\nhalf")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return sleep()
	}
	programs["finishes-and-hangs"] = func([]string) int {
		fmt.Println("result")
		return sleep()
	}
	programs["ignores-stdin"] = func([]string) int { return 0 }
	programs["echoes"] = func([]string) int {
		_, err := io.Copy(os.Stdout, os.Stdin)
		if err != nil {
			return 1
		}
		return 0
	}
	programs["talks-then-silent"] = func([]string) int {
		for range 5 {
			fmt.Println("still here")
			time.Sleep(30 * time.Millisecond)
		}
		return sleep()
	}
	programs["escapes"] = escapes
}

func sleep() int {
	time.Sleep(2 * time.Minute)
	return 0
}

// spawn starts another program of this binary with our standard descriptors.
func spawn(mark, name string, attr *syscall.SysProcAttr, wait bool) {
	spawnArgs(attr, wait, name, mark)
}

// spawnArgs is spawn for a program with more than the mark for arguments.
func spawnArgs(attr *syscall.SysProcAttr, wait bool, args ...string) {
	cmd := exec.Command(os.Args[0], append([]string{"program"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		fmt.Println("spawn:", err)
		os.Exit(99)
	}
	if wait {
		_ = cmd.Wait()
	}
}

// floods writes args[1] bytes and then makes the file args[2], if any.
func floods(args []string) int {
	left, _ := strconv.Atoi(args[1])
	line := []byte(strings.Repeat(strings.Repeat("x", 1023)+"\n", 64))
	for left > 0 {
		n, err := os.Stdout.Write(line[:min(left, len(line))])
		if err != nil {
			return 1
		}
		left -= n
	}
	if len(args) > 2 {
		if err := os.WriteFile(args[2], nil, 0o644); err != nil {
			return 2
		}
	}
	return 0
}

// escapes starts nine that each leave in their own way, and exits or, when
// asked to, stays.
func escapes(args []string) int {
	mark := args[0]
	session, group := &syscall.SysProcAttr{Setsid: true}, &syscall.SysProcAttr{Setpgid: true}
	spawn(mark, "sleeps", nil, false)
	spawn(mark, "sleeps", session, false)
	spawn(mark, "sleeps", group, false)
	spawn(mark, "forks-once", nil, true)
	spawn(mark, "double-forks", session, true)
	spawn(mark, "ignores-term", session, false)
	spawn(mark, "nohup", nil, true)
	spawn(mark, "own-reaper", session, true)
	spawn(mark, "stubborn-double-fork", group, true)
	fmt.Println("all out")
	if len(args) > 1 && args[1] == "stays" {
		return sleep()
	}
	return 0
}

func init() {
	programs["nohup"] = func(args []string) int {
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
		spawn(args[0], "sleeps", nil, false)
		return 0
	}
	programs["stubborn-double-fork"] = func(args []string) int {
		spawn(args[0], "ignores-term", &syscall.SysProcAttr{Setsid: true}, false)
		return 0
	}
}

// Children that outlive their leader for a while.
func init() {
	programs["leaves-worker"] = func(args []string) int {
		spawnArgs(nil, false, append([]string{"works"}, args...)...)
		fmt.Println("leader done")
		return 5
	}
	programs["leaves-daemon"] = func(args []string) int { // setsid, double fork
		spawnArgs(&syscall.SysProcAttr{Setsid: true}, true, append([]string{"leaves-worker"}, args...)...)
		fmt.Println("leader done")
		return 5
	}
	programs["leaves-stubborn"] = func(args []string) int {
		cmd := exec.Command(os.Args[0], "program", "ignores-term", args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return 99
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it is ready
			return 98
		}
		return 5
	}
	programs["leaves-flood"] = func(args []string) int {
		spawnArgs(nil, false, "floods", args[0], "100000000000")
		return 5
	}
	programs["works"] = works
}

// works waits for the file args[1], says so, and is done.
func works(args []string) int {
	for range 10_000 {
		if _, err := os.Stat(args[1]); err == nil {
			fmt.Println("work done")
			return 0
		}
		time.Sleep(2 * time.Millisecond)
	}
	return 1
}
