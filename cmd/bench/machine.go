package main

import (
	"context"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // asks programs for their version
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine says where the numbers come from.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	System string `json:"system"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Git    string `json:"git"`
	Load   string `json:"load"` // of 1, 5 and 15 minutes, before
	Root   bool   `json:"root"`
}

func (m machine) String() string {
	user := "a plain user"
	if m.Root {
		user = "root"
	}
	return fmt.Sprintf("%s, %d cores, %s, kernel %s, %s, %s, as %s, load %s", m.CPU, m.Cores, m.System, m.Kernel, m.Go, m.Git, user, m.Load)
}

func describe(ctx context.Context) machine {
	m := machine{
		CPU: "unknown CPU", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Kernel: "unknown",
		Go: runtime.Version(), Git: "git unknown", Load: load(), Root: os.Geteuid() == 0,
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(model)
				break
			}
		}
	}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err == nil {
		m.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	if out, err := exec.CommandContext(ctx, "git", "version").Output(); err == nil {
		m.Git = strings.TrimSpace(string(out))
	}
	return m
}

// load is the load average, where the system has a file that tells.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(data)); err == nil && len(fields) >= 3 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}
