package confine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// SandboxExec is the program of macOS that starts another under a profile.
const SandboxExec = "/usr/bin/sandbox-exec"

// SeatbeltCommand is argv behind the policy as Seatbelt, the sandbox of macOS, keeps it;
// real resolves the links of a path, and fails where there is nothing. Nobody of ours
// has run it. The language of profiles is not documented: the operations are those
// that Chromium and the CLIs of agents use.
//
// Paths are parameters of the profile and no part of its text, so that none is taken for
// a rule. Seatbelt compares what a path leads to, not how it was given.
func SeatbeltCommand(w Policy, real func(string) (string, error), argv []string) []string {
	s := seatbelt{real: real}
	profile := s.profile(w)
	return slices.Concat([]string{SandboxExec, "-p", profile}, s.parameters, []string{"--"}, argv)
}

type seatbelt struct {
	real       func(string) (string, error)
	parameters []string // of sandbox-exec
	count      int
}

// seatbeltBase is what every program needs. Only what is named is allowed; of rules that
// contradict each other the last counts.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow pseudo-tty)
(allow mach-host*)
(allow system-socket (socket-domain AF_UNIX))
(allow file-read-metadata)
(allow file-read* file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* file-write* (subpath "/dev/fd"))
`

// seatbeltSystem are folders of macOS that hold programs and nobody's data.
func seatbeltSystem() []string {
	return []string{
		"/System", "/Applications", "/Library/Apple", "/Library/Developer", "/Library/Frameworks", "/Library/Java", "/Library/Ruby",
		"/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select", "/private/var/db/xcode_select_link",
	}
}

// seatbeltSysctl are names of facts about the machine. The arguments and environment of
// other processes (kern.procargs2) are none of them.
func seatbeltSysctl() []string {
	return []string{
		"hw.", "machdep.cpu.", "net.routetable.", "kern.os", "kern.version", "kern.hostname", "kern.argmax", "kern.boottime",
		"kern.maxfilesperproc", "kern.maxproc", "kern.ngroups", "kern.secure_kernel", "kern.usrstack64", "kern.proc.pid.", "kern.proc.pgrp.",
		"sysctl.proc_cputype", "vm.loadavg",
	}
}

// seatbeltServices are those that may be asked for: users and groups, folders, logs, and
// certificates. No keychain, launch services, Apple events, pasteboard or downloads,
// which act outside of the sandbox, and nobody who resolves names.
func seatbeltServices() []string {
	return []string{
		"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership", "com.apple.bsd.dirhelper",
		"com.apple.system.notification_center", "com.apple.system.logger", "com.apple.logd", "com.apple.PowerManagement.control",
		"com.apple.trustd.agent", "com.apple.SystemConfiguration.configd", "com.apple.SystemConfiguration.DNSConfiguration",
	}
}

func (s *seatbelt) profile(w Policy) string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	allow := func(operations string, filters []string) {
		if len(filters) > 0 { // without one it would allow all
			fmt.Fprintf(&b, "(allow %s\n  %s)\n", operations, strings.Join(filters, "\n  "))
		}
	}
	allow("sysctl-read", constants("sysctl-name-prefix", seatbeltSysctl()))
	allow("mach-lookup", constants("global-name", seatbeltServices()))
	allow("file-read*", slices.Concat([]string{`(literal "/")`, `(literal "/dev")`}, constants("subpath", seatbeltSystem())))
	allow("file-read*", s.paths("subpath", w.ReadOnly))
	allow("file-read* file-write*", s.paths("subpath", w.ReadWrite))
	allow("file-read* file-write* file-ioctl", s.paths("literal", w.Devices))
	sockets := w.ReadWrite
	if w.Network == nil {
		allow("network-outbound", []string{`(remote ip "*:*")`, `(literal "/private/var/run/mDNSResponder")`})
		allow("network-bind network-inbound", []string{`(local ip "*:*")`})
		allow("mach-lookup", []string{`(global-name "com.apple.dnssd.service")`})
	} else {
		sockets = w.Network.Sockets
		allow("network-outbound", reached(*w.Network))
		allow("network-bind network-inbound", []string{`(local ip "localhost:*")`})
	}
	sockets = s.paths("subpath", sockets)
	allow("network-outbound", within("remote", sockets))
	allow("network-bind network-inbound", within("local", sockets))
	return b.String()
}

// constants are filters of names of ours.
func constants(filter string, names []string) []string {
	filters := make([]string, 0, len(names))
	for _, name := range names {
		filters = append(filters, fmt.Sprintf("(%s %q)", filter, name))
	}
	return filters
}

// paths are filters of the paths there are, each a parameter.
func (s *seatbelt) paths(filter string, paths []string) []string {
	var filters []string
	for _, path := range paths {
		target, err := s.real(path)
		if err != nil || !filepath.IsAbs(path) || !filepath.IsAbs(target) {
			continue
		}
		name := fmt.Sprintf("P%d", s.count)
		s.count++
		s.parameters = append(s.parameters, "-D", name+"="+target)
		filters = append(filters, fmt.Sprintf("(%s (param %q))", filter, name))
	}
	return filters
}

// reached are the ports of loopback that are open. A profile knows localhost and no other
// address, and cannot tell who listens: servers that the child starts itself are
// reached at these ports only.
func reached(n Network) []string {
	ports := slices.Clone(n.Ports)
	for _, p := range n.Proxies {
		ports = append(ports, p.Port())
	}
	slices.Sort(ports)
	var filters []string
	for _, port := range slices.Compact(ports) {
		if port != nameService {
			filters = append(filters, fmt.Sprintf(`(remote ip "localhost:%d")`, port))
		}
	}
	return filters
}

func within(end string, folders []string) []string {
	filters := make([]string, 0, len(folders))
	for _, folder := range folders {
		filters = append(filters, fmt.Sprintf("(%s unix-socket %s)", end, folder))
	}
	return filters
}
