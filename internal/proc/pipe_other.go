//go:build !linux

package proc

import "os"

func newPipe(bool) (child, ours *os.File, err error) { return os.Pipe() }

func newOutputPipe() (ours, child *os.File, err error) { return os.Pipe() }
