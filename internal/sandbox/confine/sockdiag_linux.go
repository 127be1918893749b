package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Of linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	sockDiagByFamily = 20
	tcpListen        = 10
	diagRequestSize  = 56 // struct inet_diag_req_v2
	diagPortOffset   = 4  // of idiag_sport in struct inet_diag_msg
	diagInodeOffset  = 68 // of idiag_inode there, which is its last field
)

var errDump = errors.New("sock_diag: a dump that is not complete")

// listeningBySocket asks the kernel for the listeners alone, sock_diag(7).
func listeningBySocket(port uint16) (map[string]uint16, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("sock_diag: %w", err)
	}
	defer unix.Close(fd)
	late := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &late); err != nil {
		return nil, fmt.Errorf("sock_diag: %w", err)
	}
	sockets := map[string]uint16{}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := unix.Sendto(fd, diagRequest(family, port), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, fmt.Errorf("sock_diag: %w", err)
		}
		if err := diagAnswers(fd, port, sockets); err != nil {
			return nil, err
		}
	}
	return sockets, nil
}

func diagRequest(family byte, port uint16) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+diagRequestSize)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := b[unix.NLMSG_HDRLEN:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], 1<<tcpListen)
	binary.BigEndian.PutUint16(body[8:], port) // 0: any
	return b
}

// diagAnswers reads one dump to its end.
func diagAnswers(fd int, port uint16, sockets map[string]uint16) error {
	buf := make([]byte, 32<<10)
	for {
		n, from, err := unix.Recvfrom(fd, buf, unix.MSG_TRUNC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sock_diag: %w", err)
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
			continue
		}
		if n > len(buf) {
			return errDump
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return fmt.Errorf("sock_diag: %w", err)
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				if len(m.Data) >= 4 && binary.NativeEndian.Uint32(m.Data) != 0 { // an errno
					return errDump
				}
				return nil
			case m.Header.Type != sockDiagByFamily, m.Header.Flags&unix.NLM_F_DUMP_INTR != 0, len(m.Data) < diagInodeOffset+4:
				return errDump
			}
			if p := binary.BigEndian.Uint16(m.Data[diagPortOffset:]); port == 0 || p == port {
				sockets[strconv.FormatUint(uint64(binary.NativeEndian.Uint32(m.Data[diagInodeOffset:])), 10)] = p
			}
		}
	}
}
