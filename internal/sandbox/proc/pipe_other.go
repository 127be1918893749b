//go:build !linux

package proc

import "os"

// pipes makes a pipe.
type pipes func() (read, write *os.File, err error)

func anonymous() (read, write *os.File, err error) { return os.Pipe() }

func pipesIn(string) pipes { return anonymous }

func newPipe(_ bool, pipe pipes) (child, ours *os.File, err error) { return pipe() }

func newOutputPipe(pipe pipes) (ours, child *os.File, err error) { return pipe() }
