package confine

import (
	"net/netip"
	"path/filepath"
	"slices"
)

// Policy are the files and addresses a child reaches; everything else is refused.
// A path that does not exist, or is not absolute, is skipped. A directory stands
// for all that lies below it.
type Policy struct {
	ReadOnly  []string // read and execute
	ReadWrite []string // everything, moves between directories included
	Devices   []string // read, write and device control
	Network   *Network // nil: the network is open
	Strict    bool     // refuse to start a child that cannot be restricted; else it starts without
}

// Network are the addresses a child reaches; everything else is refused: other
// hosts, names (there is no UDP), and what others listen on on loopback, whenever they
// began. Servers that the child starts itself are its own to reach.
type Network struct {
	Proxies []netip.AddrPort // servers of ours on loopback
	Ports   []uint16         // of loopback, whoever listens there
	Sockets []string         // folders below which unix sockets may be reached
}

// nameService is open to nobody: a resolver on loopback carries names, and with
// them anything, to the outside.
const nameService = 53

// DefaultPolicy lets a child run installed programs, read the machine's
// configuration, use harmless devices, and work in the given directories:
// workspace, private HOME, private TMPDIR, and where a worktree's .git file
// points. Install adds read-only paths, such as the agent's own.
func DefaultPolicy(work, install []string) Policy {
	ro := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc"}
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && target != "/etc/resolv.conf" {
		ro = append(ro, target) // systemd keeps the real one below /run
	}
	return Policy{
		ReadOnly:  slices.Concat(ro, install),
		ReadWrite: slices.Concat(work, []string{"/dev/shm"}),
		Devices:   []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"},
	}
}
