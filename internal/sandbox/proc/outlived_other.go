//go:build !linux

package proc

import (
	"syscall"
	"time"
)

// Self names this process for Signal. Here nothing tells it from a later one of its number.
func Self() string { return "" }

// Signal does nothing for want of a name that lasts.
func Signal(string, syscall.Signal) {}

// EndBelow does nothing: the environment of a process is not to be read here.
func EndBelow(string, time.Duration) error { return nil }
