//go:build e2e && linux

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// way is a kind of socket.
type way struct {
	domain, kind, protocol int
	deed                   func(fd int, to unix.Sockaddr) error
}

const (
	protocolSCTP    = 132
	protocolUDPLite = 136
	protocolMPTCP   = 262
)

// connect reaches for an address in one of many ways, with system calls of its
// own: connect WAY ADDRESS. Addresses are 1.2.3.4:80, [::1]:80, a path, @name or,
// for vsock, CID:PORT.
func connect(args []string) error {
	ways := map[string]way{
		"tcp":      {unix.AF_INET, unix.SOCK_STREAM, 0, talk},
		"tcp6":     {unix.AF_INET6, unix.SOCK_STREAM, 0, talk},
		"mptcp":    {unix.AF_INET, unix.SOCK_STREAM, protocolMPTCP, talk},
		"sctp":     {unix.AF_INET, unix.SOCK_STREAM, protocolSCTP, talk},
		"fastopen": {unix.AF_INET, unix.SOCK_STREAM, 0, fastOpen},
		"fastmsg":  {unix.AF_INET, unix.SOCK_STREAM, 0, fastOpenMsg},
		"fastopt":  {unix.AF_INET, unix.SOCK_STREAM, 0, fastOpenConnect},
		"udp":      {unix.AF_INET, unix.SOCK_DGRAM, 0, send},
		"udp6":     {unix.AF_INET6, unix.SOCK_DGRAM, 0, send},
		"udpconn":  {unix.AF_INET, unix.SOCK_DGRAM, 0, talk},
		"udplite":  {unix.AF_INET, unix.SOCK_DGRAM, protocolUDPLite, send},
		"ping":     {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, ping},
		"icmp":     {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, ping},
		"unix":     {unix.AF_UNIX, unix.SOCK_STREAM, 0, talk},
		"unixgram": {unix.AF_UNIX, unix.SOCK_DGRAM, 0, send},
		"vsock":    {unix.AF_VSOCK, unix.SOCK_STREAM, 0, reach},
		"packet":   {unix.AF_PACKET, unix.SOCK_RAW, 0x0300, justOpen},
		"netlink":  {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, justOpen},
		"alg":      {unix.AF_ALG, unix.SOCK_SEQPACKET, 0, justOpen},
	}
	w, ok := ways[rest(args, 0, "")]
	if !ok {
		return fmt.Errorf("no way %q", rest(args, 0, ""))
	}
	to, err := address(w.domain, rest(args, 1, ""))
	if err != nil {
		return err
	}
	fd, err := unix.Socket(w.domain, w.kind|unix.SOCK_CLOEXEC, w.protocol)
	switch {
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.ESOCKTNOSUPPORT):
		return fmt.Errorf("%w, if the sandbox does not answer so: socket: %w", errCannot, err)
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	limit := unix.Timeval{Sec: 2}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	return w.deed(fd, to)
}

func address(domain int, text string) (unix.Sockaddr, error) {
	switch domain {
	case unix.AF_UNIX:
		return &unix.SockaddrUnix{Name: text}, nil
	case unix.AF_VSOCK:
		to := &unix.SockaddrVM{}
		_, err := fmt.Sscanf(text, "%d:%d", &to.CID, &to.Port)
		return to, err
	case unix.AF_INET, unix.AF_INET6:
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return nil, err
		}
		if domain == unix.AF_INET {
			return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}, nil
		}
		return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}, nil
	}
	return nil, nil
}

// talk connects, says who it is, and wants an answer.
func talk(fd int, to unix.Sockaddr) error {
	if err := unix.Connect(fd, to); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return converse(fd)
}

func converse(fd int) error {
	if _, err := unix.Write(fd, []byte("GET / HTTP/1.1\r\nHost: x\r\nX-RT: "+mark()+"\r\nConnection: close\r\n\r\n")); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return answer(fd)
}

func answer(fd int) error {
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	fmt.Printf("%q\n", buf[:n])
	if !strings.Contains(string(buf[:n]), "RT-OK") {
		return errors.New("somebody else answered")
	}
	return nil
}

// reach connects, to be answered or refused: whoever refuses was reached.
func reach(fd int, to unix.Sockaddr) error {
	if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

func send(fd int, to unix.Sockaddr) error { return unix.Sendto(fd, []byte(mark()), 0, to) }

func justOpen(int, unix.Sockaddr) error { return nil }

// fastOpen connects by sending.
func fastOpen(fd int, to unix.Sockaddr) error {
	if err := unix.Sendto(fd, []byte("GET / HTTP/1.1\r\nHost: x\r\nX-RT: "+mark()+"\r\nConnection: close\r\n\r\n"), unix.MSG_FASTOPEN, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return answer(fd)
}

func fastOpenMsg(fd int, to unix.Sockaddr) error {
	if err := unix.Sendmsg(fd, []byte("GET / HTTP/1.1\r\nHost: x\r\nX-RT: "+mark()+"\r\nConnection: close\r\n\r\n"), nil, to, unix.MSG_FASTOPEN); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	return answer(fd)
}

func fastOpenConnect(fd int, to unix.Sockaddr) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
		return err
	}
	return talk(fd, to)
}

// ping sends an echo request and waits for the reply.
func ping(fd int, to unix.Sockaddr) error {
	packet := append([]byte{8, 0, 0, 0, 0x52, 0x54, 0, 1}, mark()...)
	if len(packet)%2 == 1 {
		packet = append(packet, 0)
	}
	var sum uint32
	for i := 0; i < len(packet); i += 2 {
		sum += uint32(packet[i])<<8 | uint32(packet[i+1])
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	packet[2], packet[3] = byte(^sum>>8), byte(^sum)
	if err := unix.Sendto(fd, packet, 0, to); err != nil {
		return err
	}
	buf := make([]byte, 1500)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return err
		}
		if strings.Contains(string(buf[:n]), mark()) {
			fmt.Println("echoed")
			return nil
		}
	}
	return errors.New("no echo")
}
