package confine

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A speaker is a child whose standard output is believed, an agent's. Only a
// process with the same file for its standard output may signal it, change its
// scheduling, or connect to servers of its own, such as node's debugger. A program
// that it starts with another output, as tools are started, may not.
type speaker struct {
	stdout inode
	judge  bool // it connects to no server of its tools, which could play its model
}

// Speaks makes the child a speaker; stdout is its descriptor. It is called before
// Serve.
func (g *Notifier) Speaks(stdout int, judge bool) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(stdout, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	g.speaker = &speaker{stdout: inodeOf(st), judge: judge}
	return nil
}

// speaks reports whether the process has the speaker's standard output, or hides
// which one it has.
func (g *Notifier) speaks(process int) bool {
	if g.speaker == nil {
		return false
	}
	var st syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d/fd/1", process), &st); err != nil {
		return errors.Is(err, syscall.EACCES)
	}
	return inodeOf(st) == g.speaker.stdout
}

// apart is why a server on loopback is out of the caller's reach although it was
// brought up in the sandbox; "" when it is not.
func (g *Notifier) apart(thread int, to netip.AddrPort) (reason string) {
	if g.speaker == nil || !to.Addr().IsLoopback() || g.allowed.proxies[to] || g.allowed.ports[to.Port()] {
		return ""
	}
	speaks := g.speaks(thread)
	if speaks && !g.speaker.judge {
		return ""
	}
	served, others, err := g.whoListens(to.Port())
	switch {
	case err != nil:
		return "who listens there: " + err.Error()
	case !speaks && served:
		return "the agent itself listens there"
	case speaks && others:
		return "a program that the reviewer ran listens there"
	}
	return ""
}

// whoListens reports whether the speaker listens on a port, and whether another does.
func (g *Notifier) whoListens(port uint16) (speaker, others bool, err error) {
	listeners := map[string]bool{} // by the text of their links; true: the speaker's
	err = eachTCP(func(s tcpSocket) bool {
		if s.state == stateListen && s.port == port {
			listeners["socket:["+s.inode+"]"] = false
		}
		return true
	})
	if err != nil || len(listeners) == 0 {
		return false, false, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false, false, err
	}
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if !g.speaks(pid) {
			continue
		}
		links, _ := filepath.Glob(dir + "/fd/*")
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil {
				if _, ok := listeners[target]; ok {
					listeners[target] = true
				}
			}
		}
	}
	for _, its := range listeners {
		speaker, others = speaker || its, others || !its
	}
	return speaker, others, nil
}
