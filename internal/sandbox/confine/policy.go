package confine

import (
	"net/netip"
	"os"
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

// Hide closes a folder below one that is open for reading, such as the files of a runner
// that is installed in /opt. What else is there now stays open. It ignores a folder that
// does not exist, or is not absolute.
func (p *Policy) Hide(dir string) {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(target) {
		return
	}
	var open []string
	for _, path := range p.ReadOnly {
		open = append(open, without(path, target)...)
	}
	p.ReadOnly = open
}

func without(path, hidden string) (open []string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !holds(target, hidden) {
		return []string{path}
	}
	entries, _ := os.ReadDir(target)
	for _, e := range entries {
		child := filepath.Join(target, e.Name())
		switch {
		case child == hidden:
		case holds(child, hidden):
			open = append(open, without(child, hidden)...)
		case e.Type()&os.ModeSymlink == 0:
			open = append(open, child)
		default: // a link back to what is hidden opens nothing
			if to, err := filepath.EvalSymlinks(child); err == nil && !holds(to, hidden) && !holds(hidden, to) {
				open = append(open, child)
			}
		}
	}
	return open
}

// holds reports whether a path is dir or lies below it.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
