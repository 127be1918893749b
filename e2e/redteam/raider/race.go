//go:build e2e && linux

package main

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// race connects again and again while another thread changes the address in
// memory, between a server of its own, which is allowed, and the one that is
// wanted. The canary tells who won.
func race(args []string) error {
	want, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer own.Close()
	go func() {
		for {
			c, err := own.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	here := netip.MustParseAddrPort(own.Addr().String())
	var to unix.RawSockaddrInet4
	to.Family = unix.AF_INET
	words := (*[2]uint64)(unsafe.Pointer(&to))
	value := func(a netip.AddrPort) uint64 {
		var b [8]byte
		binary.NativeEndian.PutUint16(b[0:], unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		ip := a.Addr().As4()
		copy(b[4:], ip[:])
		return binary.NativeEndian.Uint64(b[:])
	}
	good, bad := value(here), value(want)
	var stop atomic.Bool
	go func() {
		runtime.LockOSThread()
		for !stop.Load() {
			for _, v := range []uint64{good, bad} {
				atomic.StoreUint64(&words[0], v)
				for range 300 {
					if stop.Load() {
						return
					}
				}
			}
		}
	}()
	defer stop.Store(true)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&to)), unsafe.Sizeof(to))
		if errno == 0 {
			if peer, err := unix.Getpeername(fd); err == nil {
				if in, ok := peer.(*unix.SockaddrInet4); ok && netip.AddrFrom4(in.Addr) == want.Addr() {
					err := converse(fd)
					unix.Close(fd)
					return err
				}
			}
		}
		unix.Close(fd)
	}
	return errors.New("three seconds of races, none won")
}
