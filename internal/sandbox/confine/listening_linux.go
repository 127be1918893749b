package confine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// tcpTables are the TCP sockets of our network namespace, proc_net_tcp(5). The
// second is missing where there is no IPv6.
func tcpTables() [2]string { return [2]string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} }

// States of include/net/tcp_states.h, as the tables write them.
const (
	stateSynSent = "02"
	stateListen  = "0A"
)

// listening are the sockets that listen on the port, on whatever address; 0: on any
// port. They are the ports by inode.
func listening(port uint16) (map[string]uint16, error) {
	if sockets, err := listeningBySocket(port); err == nil {
		return sockets, nil
	}
	return listeningByTable(port) // a kernel without that protocol, or a profile that refuses it
}

// listeningByTable reads all there is of TCP, for which the kernel goes through
// a table that on large machines takes it milliseconds.
func listeningByTable(port uint16) (map[string]uint16, error) {
	sockets := map[string]uint16{}
	err := eachTCP(func(s tcpSocket) bool {
		if s.state == stateListen && (port == 0 || s.port == port) {
			sockets[s.inode] = s.port
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("what listens here: %w", err)
	}
	return sockets, nil
}

// tcpState is the state of the socket with this inode; "" when it is neither
// connected nor about to be.
func tcpState(inode string) (state string, err error) {
	err = eachTCP(func(s tcpSocket) bool {
		if s.inode == inode {
			state = s.state
		}
		return state == ""
	})
	return state, err
}

type tcpSocket struct {
	port         uint16 // the local one
	state, inode string
}

// eachTCP calls f for every TCP socket until it says false.
func eachTCP(f func(tcpSocket) bool) error {
	for _, path := range tcpTables() {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, "6") {
			continue
		}
		if err != nil {
			return err
		}
		err = readTCP(file, f)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// readTCP reads one table. A line it does not understand is an error: a listener
// that is overlooked is a hole.
func readTCP(r io.Reader, f func(tcpSocket) bool) error {
	lines := bufio.NewScanner(r)
	for head := true; lines.Scan(); head = false {
		if head {
			continue
		}
		// "sl: local:port remote:port state tx:rx tr:when retransmits uid timeout inode …"
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			return fmt.Errorf("%d fields in %q", len(fields), lines.Text())
		}
		_, port, _ := strings.Cut(fields[1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			return fmt.Errorf("port %q", fields[1])
		}
		if !f(tcpSocket{uint16(n), fields[3], fields[9]}) {
			return nil
		}
	}
	return lines.Err()
}
