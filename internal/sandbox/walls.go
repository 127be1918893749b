package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
)

// Walls are the files and addresses a child reaches; everything else is refused.
// A path that does not exist is skipped. A directory stands for all that lies
// below it.
type Walls struct {
	ReadOnly  []string // read and execute
	ReadWrite []string // everything, moves between directories included
	Devices   []string // read, write and device control
	Network   *Network // nil: the network is open
	Strict    bool     // refuse to start a child that cannot be walled in; else it starts without
}

// Network are the addresses a child reaches; everything else is refused: other
// hosts, names (there is no UDP), and what listened on loopback before the child
// started. Servers that the child starts itself are its own to reach.
type Network struct {
	Proxies []netip.AddrPort // servers of ours on loopback
	Ports   []uint16         // of loopback, although something listened there before
	Sockets []string         // folders below which unix sockets may be reached
}

// DefaultWalls lets a child run installed programs, read the machine's
// configuration, use harmless devices, and work in the given directories:
// workspace, private HOME, private TMPDIR, and where a worktree's .git file
// points. Install adds read-only paths, such as the agent's own.
func DefaultWalls(work, install []string) Walls {
	ro := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc"}
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && target != "/etc/resolv.conf" {
		ro = append(ro, target) // systemd keeps the real one below /run
	}
	return Walls{
		ReadOnly:  slices.Concat(ro, install),
		ReadWrite: slices.Concat(work, []string{"/dev/shm"}),
		Devices:   []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"},
	}
}

// Spec is what the hidden command sandbox-exec is told: a list of entries, each
// a letter, a value and a NUL, which no path can contain.
type Spec struct {
	Walls    Walls
	MaxProcs uint64 // RLIMIT_NPROC; 0: left as it is
}

// Encode writes the form ParseSpec reads.
func (s Spec) Encode() []byte {
	var b bytes.Buffer
	put := func(kind byte, values ...string) {
		for _, v := range values {
			b.WriteByte(kind)
			b.WriteString(v)
			b.WriteByte(0)
		}
	}
	put('r', s.Walls.ReadOnly...)
	put('w', s.Walls.ReadWrite...)
	put('d', s.Walls.Devices...)
	if s.Walls.Strict {
		put('s', "")
	}
	put('n', strconv.FormatUint(s.MaxProcs, 10))
	return b.Bytes()
}

// ParseSpec reads what Encode wrote and refuses everything else, because a
// misread wall is no wall.
func ParseSpec(data []byte) (Spec, error) {
	var s Spec
	for len(data) > 0 {
		entry, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(entry) == 0 {
			return Spec{}, errors.New("sandbox spec: cut short")
		}
		value := string(entry[1:])
		switch entry[0] {
		case 'r':
			s.Walls.ReadOnly = append(s.Walls.ReadOnly, value)
		case 'w':
			s.Walls.ReadWrite = append(s.Walls.ReadWrite, value)
		case 'd':
			s.Walls.Devices = append(s.Walls.Devices, value)
		case 's':
			s.Walls.Strict = true
		case 'n':
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return Spec{}, fmt.Errorf("sandbox spec: process limit %q", value)
			}
			s.MaxProcs = n
		default:
			return Spec{}, fmt.Errorf("sandbox spec: unknown entry %q", entry[0])
		}
		data = rest
	}
	return s, nil
}
