//go:build e2e && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func signalIgnore() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

// daemonize leaves a process behind in one of several ways.
func daemonize(way, name string) error {
	cmd := exec.Command("/proc/self/exe", "survive", "stay", name) //nolint:gosec // itself
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	switch way {
	case "pgrp":
		cmd.SysProcAttr.Setpgid = true
	case "double": // a child in a session of its own makes another, and ends
		if os.Getenv("RT_SECOND") == "" {
			again := exec.Command("/proc/self/exe", "survive", "double", name) //nolint:gosec // itself
			again.Env = append(os.Environ(), "RT_SECOND=1")
			again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			return again.Run()
		}
		cmd.SysProcAttr.Setsid = true
	case "holder": // keeps the agent's own output open
		cmd.SysProcAttr.Setsid = true
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	case "vfork":
		cmd.SysProcAttr.Setsid = true
		cmd.SysProcAttr.Cloneflags = unix.CLONE_VFORK | unix.CLONE_PARENT
	case "stopped":
		cmd.SysProcAttr.Setsid = true
		defer func() {
			if cmd.Process != nil {
				_ = cmd.Process.Signal(syscall.SIGSTOP)
			}
		}()
	default:
		cmd.SysProcAttr.Setsid = true
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(30 * time.Millisecond)
	if err := unix.Kill(cmd.Process.Pid, 0); err != nil {
		return err
	}
	fmt.Println("left behind:", cmd.Process.Pid)
	return nil
}

// swap exchanges a path and a link as fast as it can for some milliseconds, to
// win a race against whoever looks first and opens then.
func swap(args []string) error {
	path, target := args[0], args[1]
	millis, err := strconv.Atoi(rest(args, 2, "500"))
	if err != nil {
		return err
	}
	link := path + ".rt-link"
	_ = os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	for end := time.Now().Add(time.Duration(millis) * time.Millisecond); time.Now().Before(end); {
		if err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
	}
	return nil
}

// flood prints that many megabytes, as one line when asked.
func flood(args []string) error {
	megabytes, err := strconv.Atoi(rest(args, 0, "8"))
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = 'x'
		if rest(args, 1, "") != "line" && i%100 == 99 {
			block[i] = '\n'
		}
	}
	for range megabytes {
		if _, err := os.Stdout.Write(block); err != nil {
			return err
		}
	}
	return nil
}
