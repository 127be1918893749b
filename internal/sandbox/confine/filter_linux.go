package confine

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is classic BPF over struct seccomp_data, linux/seccomp.h: system
// call number, architecture, instruction pointer, and six arguments of 64 bits,
// of which the low half is what the kernel takes where it wants an int.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16

	x32Bit   = 0x40000000 // amd64: the same architecture, other numbers
	typeMask = 0xf        // SOCK_TYPE_MASK: the rest of socket's type are flags

	resultAllow  = uint32(unix.SECCOMP_RET_ALLOW)
	resultNotify = uint32(unix.SECCOMP_RET_USER_NOTIF)
)

type (
	refusedGroup struct {
		errno unix.Errno
		calls []uint32
	}
	optionGroup struct {
		level uint32
		names []uint32
	}
)

// refusedCalls are the system calls with which a child would get around the
// policy, or attack the kernel, and what they answer. No tool that
// builds, tests or debugs needs one of them.
func refusedCalls() []refusedGroup {
	return []refusedGroup{
		// As if the kernel had none: programs have another way then.
		{unix.ENOSYS, []uint32{
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
			// Their arguments lie in memory, or are a descriptor that can be another
			// one by the time the kernel looks: clone, ptrace and kill do the same.
			unix.SYS_CLONE3, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_SEND_SIGNAL,
		}},
		{unix.EPERM, []uint32{
			unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
			unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
			unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
			unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETTIMEOFDAY, unix.SYS_SYSLOG, unix.SYS_QUOTACTL,
			unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN,
			unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
			unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
			unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
			unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PIDFD_GETFD,
		}},
	}
}

// refusedOptions are the socket options with which a connection that is allowed
// would leave by another way than the one it was allowed for: source routes send
// its packets to the first stop of the route, whatever the address, on one that
// is established, too. Fast open leaves the connect to a later call.
func refusedOptions() []optionGroup {
	return []optionGroup{
		{unix.SOL_SOCKET, []uint32{unix.SO_BINDTODEVICE, unix.SO_BINDTOIFINDEX}},
		{unix.IPPROTO_IP, []uint32{unix.IP_OPTIONS, unix.IP_UNICAST_IF}},
		{unix.IPPROTO_IPV6, []uint32{unix.IPV6_RTHDR, unix.IPV6_2292RTHDR, unix.IPV6_2292PKTOPTIONS, unix.IPV6_UNICAST_IF}},
		{unix.IPPROTO_TCP, []uint32{unix.TCP_FASTOPEN_CONNECT}},
	}
}

// architecture is what the kernel calls the one this program is built for; 0
// where there is no filter for it.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// asks is what of the filter needs a notifier that answers.
type asks struct {
	others  bool // calls that act on other processes; else the kernel's own rules decide
	network bool // sockets and connects
	sockets bool // connects, of which those of unix sockets are judged
}

// filters are those that were made, by what they ask: to make one takes a tenth of a
// millisecond, and each child needs it.
var filters sync.Map

// filterFor is the filter for this processor.
func filterFor(ask asks) []unix.SockFilter {
	p, made := filters.Load(ask)
	if !made {
		p, _ = filters.LoadOrStore(ask, filter(architecture(), ask))
	}
	return p.([]unix.SockFilter)
}

// filter is the program every child is behind. With network it leaves TCP, unix
// streams and the kernel's list of interfaces, and has every connect asked for.
// The sockets are made by the notifier, and bind and listen end its interest in one.
func filter(arch uint32, ask asks) []unix.SockFilter {
	nosys := refuse(unix.ENOSYS)
	p := join(load(offArch), unless(arch, nosys), load(offNumber))
	if arch == unix.AUDIT_ARCH_X86_64 {
		p = join(p, whenBits(x32Bit, nosys))
	}
	if ask.network {
		p = join(p, networkRules())
	} else if ask.sockets {
		p = join(p, unixRules())
	}
	p = join(p,
		when(unix.SYS_PRLIMIT64, ownLimitsOnly()),
		when(unix.SYS_SECCOMP, noListeners()),
		when(unix.SYS_UNSHARE, noNamespaces(cloneNew)),
		when(unix.SYS_CLONE, noNamespaces(cloneNew&^unix.CLONE_NEWTIME)), // there that bit is a part of the signal
		processRules(ask.others),
	)
	for _, group := range refusedCalls() {
		for _, call := range group.calls {
			p = join(p, when(call, refuse(group.errno)))
		}
	}
	return join(p, give(resultAllow))
}

func networkRules() []unix.SockFilter {
	return join(
		when(unix.SYS_CONNECT, give(resultNotify)),
		when(unix.SYS_SOCKET, socketRules()),
		when(unix.SYS_BIND, give(resultNotify)),
		when(unix.SYS_LISTEN, give(resultNotify)),
		when(unix.SYS_SOCKETPAIR, arg(0), unless(unix.AF_UNIX, refuse(unix.EAFNOSUPPORT)), streamOnly(resultAllow)),
		when(unix.SYS_SETSOCKOPT, optionRules()),
		// TCP fast open names its target in the call that sends.
		when(unix.SYS_SENDTO, noFastOpen(3)),
		when(unix.SYS_SENDMSG, noFastOpen(2)),
		when(unix.SYS_SENDMMSG, noFastOpen(3)),
	)
}

// cloneNew are the namespaces of unshare(2). In one of its own a child has all
// capabilities, and with them parts of the kernel that nobody else can reach.
const cloneNew = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

func noNamespaces(bits uint32) []unix.SockFilter {
	return join(arg(0), whenBits(bits, refuse(unix.EPERM)), give(resultAllow))
}

// processRules has calls that act on other processes decided by the notifier, see
// Notifier.reaches. Without one nothing can be traced that did not ask for it.
func processRules(ask bool) []unix.SockFilter {
	trace := refuse(unix.EPERM)
	if ask {
		trace = give(resultNotify)
	}
	p := join(
		when(unix.SYS_PTRACE, arg(0), when(unix.PTRACE_ATTACH, trace), when(unix.PTRACE_SEIZE, trace), give(resultAllow)),
		// These name their target in memory. Whoever needs them has F_SETOWN.
		when(unix.SYS_IOCTL, arg(1), when(fioSetOwn, refuse(unix.EPERM)), when(unix.SIOCSPGRP, refuse(unix.EPERM)), give(resultAllow)),
		when(unix.SYS_FCNTL, arg(1), when(unix.F_SETOWN_EX, refuse(unix.EPERM)), unless(unix.F_SETOWN, give(resultAllow)), anyTarget(2, ask)),
	)
	for _, call := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO} {
		p = join(p, when(call, decided(ask)))
	}
	// Go's runtime interrupts its threads with SIGURG, many times a second, and
	// programs that do not expect it ignore it.
	p = join(p, when(unix.SYS_TGKILL, arg(2), when(uint32(unix.SIGURG), give(resultAllow)), decided(ask)))
	for _, call := range []uint32{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY} {
		p = join(p, when(call, anyTarget(0, ask)))
	}
	for _, call := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		p = join(p, when(call, decided(ask)))
	}
	return p
}

func decided(ask bool) []unix.SockFilter {
	if ask {
		return give(resultNotify)
	}
	return give(resultAllow)
}

// anyTarget: 0 is the caller itself, or nobody.
func anyTarget(n int, ask bool) []unix.SockFilter {
	return join(arg(n), when(0, give(resultAllow)), decided(ask))
}

// socketRules: a datagram names its target in the call that sends it, which no
// filter can read, so there are none. The errors are those of a kernel without
// the protocol, so that programs fall back.
func socketRules() []unix.SockFilter {
	tcp := join(
		arg(1), mask(typeMask), unless(unix.SOCK_STREAM, refuse(unix.EACCES)),
		arg(2), when(0, give(resultNotify)), when(unix.IPPROTO_TCP, give(resultNotify)),
		refuse(unix.EPROTONOSUPPORT),
	)
	return join(
		arg(0),
		when(unix.AF_UNIX, streamOnly(resultNotify)),
		when(unix.AF_INET, tcp),
		when(unix.AF_INET6, tcp),
		unless(unix.AF_NETLINK, refuse(unix.EAFNOSUPPORT)),
		arg(2), when(unix.NETLINK_ROUTE, give(resultAllow)),
		refuse(unix.EPROTONOSUPPORT),
	)
}

func streamOnly(result uint32) []unix.SockFilter {
	return join(
		arg(1), mask(typeMask),
		when(unix.SOCK_STREAM, give(result)), when(unix.SOCK_SEQPACKET, give(result)),
		refuse(unix.EACCES),
	)
}

func optionRules() []unix.SockFilter {
	rules := arg(1)
	for _, group := range refusedOptions() {
		names := arg(2)
		for _, name := range group.names {
			names = join(names, when(name, refuse(unix.EPERM)))
		}
		rules = join(rules, when(group.level, names, give(resultAllow)))
	}
	return join(rules, give(resultAllow))
}

// ownLimitsOnly: with a limit of processor time or memory the kernel ends any
// process of the same user, which nothing else looks at. Other processes' limits
// can be read, and programs set their own as process 0.
func ownLimitsOnly() []unix.SockFilter {
	const newLimit = offArgs + 8*2
	return join(
		arg(0), when(0, give(resultAllow)),
		load(newLimit), unless(0, refuse(unix.EPERM)),
		load(newLimit+4), unless(0, refuse(unix.EPERM)),
		give(resultAllow),
	)
}

func noFastOpen(flags int) []unix.SockFilter {
	return join(arg(flags), whenBits(unix.MSG_FASTOPEN, refuse(unix.EOPNOTSUPP)), give(resultAllow))
}

func join(parts ...[]unix.SockFilter) (p []unix.SockFilter) {
	for _, part := range parts {
		p = append(p, part...)
	}
	return p
}

func statement(code uint16, k uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: code, K: k}}
}

func load(offset uint32) []unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

// arg loads the low half of an argument; both architectures are little-endian.
func arg(n int) []unix.SockFilter { return load(offArgs + 8*uint32(n)) }

func mask(bits uint32) []unix.SockFilter {
	return statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, bits)
}

func give(result uint32) []unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, result) }

func refuse(errno unix.Errno) []unix.SockFilter {
	return give(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// when, unless and whenBits run a body, which has to end in a result unless it
// may fall through, depending on what is loaded.
func when(value uint32, body ...[]unix.SockFilter) []unix.SockFilter {
	b := join(body...)
	return join([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: jump(b), K: value}}, b)
}

func unless(value uint32, body []unix.SockFilter) []unix.SockFilter {
	return join([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: jump(body), K: value}}, body)
}

func whenBits(bits uint32, body []unix.SockFilter) []unix.SockFilter {
	return join([]unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: jump(body), K: bits}}, body)
}

// jump is how far it is past the body. The bodies are ours, and short.
func jump(body []unix.SockFilter) uint8 {
	if len(body) > 255 {
		panic(fmt.Sprintf("seccomp filter: a jump over %d instructions", len(body)))
	}
	return uint8(len(body))
}

// installFilter puts the filter on the calling thread, for good and for every
// program it executes, and with SECCOMP_FILTER_FLAG_NEW_LISTENER returns where
// its questions arrive. The thread needs no_new_privs.
func installFilter(p []unix.SockFilter, flag uintptr) (listener int, err error) {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	tries := []uintptr{flag}
	if flag != 0 {
		// From Linux 5.19 on a signal does not take back a question that has been
		// read, else Go's own signals would ask everything twice.
		tries = []uintptr{flag | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, flag}
	}
	for _, flags := range tries {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		if errno == 0 {
			return int(fd), nil
		}
		err = errno
		if errno != unix.EINVAL {
			break
		}
	}
	return -1, err
}
