//go:build e2e && linux

package main

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// addAddress puts an address on the loopback device, by rtnetlink(7): the image
// has no ip(8).
func addAddress(text string) error {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	family := byte(unix.AF_INET)
	if ip.Is6() {
		family = unix.AF_INET6
	}
	body := []byte{family, byte(ip.BitLen()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE, 1, 0, 0, 0} // ifaddrmsg: lo is number 1
	for _, kind := range []byte{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		raw := ip.AsSlice()
		body = append(body, byte(4+len(raw)), 0, kind, 0)
		body = append(body, raw...)
	}
	length := 16 + len(body)
	head := []byte{
		byte(length), byte(length >> 8), 0, 0,
		unix.RTM_NEWADDR, 0, // type
		unix.NLM_F_REQUEST | unix.NLM_F_ACK, byte((unix.NLM_F_CREATE | unix.NLM_F_REPLACE) >> 8), // flags
		1, 0, 0, 0, 0, 0, 0, 0,
	}
	if err := unix.Sendto(fd, append(head, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 {
		return fmt.Errorf("rtnetlink answered %d bytes", n)
	}
	if code := int32(uint32(answer[16]) | uint32(answer[17])<<8 | uint32(answer[18])<<16 | uint32(answer[19])<<24); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
