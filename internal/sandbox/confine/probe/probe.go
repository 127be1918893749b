// Package probe is the program that confine.NetworkAvailable starts behind the network
// restriction: this binary with the arguments "sandbox-init probe PORT". It connects to the port
// on loopback and says a byte.
//
// It is served in init, and imports so little that this comes before the tables of most other
// packages are made, which are most of the program's start.
package probe

import (
	"os"
	"strconv"
	"syscall"
)

func init() {
	if len(os.Args) == 4 && os.Args[1] == "sandbox-init" && os.Args[2] == "probe" {
		os.Exit(connect(os.Args[3])) //nolint:forbidigo // in place of main
	}
}

// connect returns the exit code.
func connect(port string) int {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 2
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(n), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		_, err = syscall.Write(fd, []byte{1})
	}
	if err != nil {
		return 1
	}
	return 0
}
