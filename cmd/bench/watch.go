package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // starts jq and the binary under test
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// use is what a process needed.
type use struct {
	wall, cpu       time.Duration
	peak, childPeak float64 // MiB; childPeak is of its largest child that is the same program
}

// watched runs a command with a file as its input and watches its memory. The
// kernel's word at the end (ru_maxrss) would count the memory of whoever forked
// it as well, so the running process is asked.
func watched(cmd *exec.Cmd, input string) (u use, err error) {
	if input != "" {
		f, err := os.Open(input)
		if err != nil {
			return u, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			u.peak = max(u.peak, peakOf(cmd.Process.Pid))
			for _, child := range childrenOf(cmd.Process.Pid) {
				if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil && bytes.Contains(name, []byte("sandbox-init")) {
					u.childPeak = max(u.childPeak, peakOf(child))
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	err = cmd.Wait()
	u.wall = time.Since(began)
	close(stop)
	<-done
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		return u, fmt.Errorf("%s: %w\n%s", cmd.Path, err, complaint.String())
	}
	return u, nil
}

// peakOf is a running process's peak of resident memory in MiB; 0 when the
// system does not tell.
func peakOf(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib / 1024
}

func childrenOf(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
