package confine

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run is what the kernel would make of the filter: classic BPF, as far as it is
// used. data holds the words of struct seccomp_data.
func run(t *testing.T, program []unix.SockFilter, data [16]uint32) (result uint32) {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		i := program[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = data[i.K/4]
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d: code %#x", pc, i.Code)
		}
	}
	t.Fatal("the filter has no result")
	return 0
}

func TestFilter(t *testing.T) {
	t.Parallel()
	refused := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	const high = 0xdeadbeef // the half of an argument the kernel drops
	for _, arch := range []uint32{unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64} {
		program := filter(arch, asks{others: true, network: true})
		for _, tc := range []struct {
			name   string
			arch   uint32
			number uint32
			args   [4]uint32
			want   uint32
		}{
			{"read", arch, unix.SYS_READ, [4]uint32{}, resultAllow},
			{"connect", arch, unix.SYS_CONNECT, [4]uint32{}, resultNotify},
			{"bind", arch, unix.SYS_BIND, [4]uint32{}, resultNotify},
			{"listen", arch, unix.SYS_LISTEN, [4]uint32{}, resultNotify},
			{"TCP", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET, unix.SOCK_STREAM, 0}, resultNotify},
			{"TCP, flags", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP}, resultNotify},
			{"UDP", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET, unix.SOCK_DGRAM, 0}, refused(unix.EACCES)},
			{"packet, the old way", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET, unix.SOCK_PACKET, 0}, refused(unix.EACCES)},
			{"no protocol", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET, unix.SOCK_STREAM, ^uint32(0)}, refused(unix.EPROTONOSUPPORT)},
			{"MPTCP", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, refused(unix.EPROTONOSUPPORT)},
			{"unix", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, resultNotify},
			{"unix datagram", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, refused(unix.EACCES)},
			{"pair", arch, unix.SYS_SOCKETPAIR, [4]uint32{unix.AF_UNIX, unix.SOCK_STREAM, 0}, resultAllow},
			{"pair of datagrams", arch, unix.SYS_SOCKETPAIR, [4]uint32{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, refused(unix.EACCES)},
			{"netlink", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, resultAllow},
			{"netlink, netfilter", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, refused(unix.EPROTONOSUPPORT)},
			{"vsock", arch, unix.SYS_SOCKET, [4]uint32{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, refused(unix.EAFNOSUPPORT)},
			{"keep alive", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.SOL_SOCKET, unix.SO_KEEPALIVE}, resultAllow},
			{"no delay", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, resultAllow},
			{"4 of another level", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.IPPROTO_TCP, unix.IP_OPTIONS}, resultAllow},
			{"source route", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.IPPROTO_IP, unix.IP_OPTIONS}, refused(unix.EPERM)},
			{"source route, IPv6", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.IPPROTO_IPV6, unix.IPV6_RTHDR}, refused(unix.EPERM)},
			{"device", arch, unix.SYS_SETSOCKOPT, [4]uint32{3, unix.SOL_SOCKET, unix.SO_BINDTODEVICE}, refused(unix.EPERM)},
			{"sendto", arch, unix.SYS_SENDTO, [4]uint32{3, 0, 0, unix.MSG_NOSIGNAL}, resultAllow},
			{"sendto, fast open", arch, unix.SYS_SENDTO, [4]uint32{3, 0, 0, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, refused(unix.EOPNOTSUPP)},
			{"sendmsg, fast open", arch, unix.SYS_SENDMSG, [4]uint32{3, 0, unix.MSG_FASTOPEN}, refused(unix.EOPNOTSUPP)},
			{"sendmmsg, fast open", arch, unix.SYS_SENDMMSG, [4]uint32{3, 0, 1, unix.MSG_FASTOPEN}, refused(unix.EOPNOTSUPP)},
			{"own limits", arch, unix.SYS_PRLIMIT64, [4]uint32{0, unix.RLIMIT_NOFILE, 1}, resultAllow},
			{"limits of another", arch, unix.SYS_PRLIMIT64, [4]uint32{7, unix.RLIMIT_CPU, 1}, refused(unix.EPERM)},
			{"limits of another, a high address", arch, unix.SYS_PRLIMIT64, [4]uint32{7, unix.RLIMIT_CPU, 0}, refused(unix.EPERM)},
			{"io_uring", arch, unix.SYS_IO_URING_ENTER, [4]uint32{}, refused(unix.ENOSYS)},
			{"bpf", arch, unix.SYS_BPF, [4]uint32{}, refused(unix.EPERM)},
			{"ask to be traced", arch, unix.SYS_PTRACE, [4]uint32{unix.PTRACE_TRACEME}, resultAllow},
			{"attach", arch, unix.SYS_PTRACE, [4]uint32{unix.PTRACE_ATTACH, 7}, resultNotify},
			{"seize", arch, unix.SYS_PTRACE, [4]uint32{unix.PTRACE_SEIZE, 7}, resultNotify},
			{"write to another's memory", arch, unix.SYS_PROCESS_VM_WRITEV, [4]uint32{7}, refused(unix.ENOSYS)},
			{"signal", arch, unix.SYS_KILL, [4]uint32{7, 10}, resultNotify},
			{"signal to a thread", arch, unix.SYS_TGKILL, [4]uint32{7, 8, 10}, resultNotify},
			{"Go's own signal", arch, unix.SYS_TGKILL, [4]uint32{7, 8, uint32(unix.SIGURG)}, resultAllow},
			{"signal by descriptor", arch, unix.SYS_PIDFD_SEND_SIGNAL, [4]uint32{7, 10}, refused(unix.ENOSYS)},
			{"signal by a file", arch, unix.SYS_FCNTL, [4]uint32{3, unix.F_SETOWN, 7}, resultNotify},
			{"signal by a file, in memory", arch, unix.SYS_FCNTL, [4]uint32{3, unix.F_SETOWN_EX, 7}, refused(unix.EPERM)},
			{"signal by a socket", arch, unix.SYS_IOCTL, [4]uint32{3, unix.SIOCSPGRP, 7}, refused(unix.EPERM)},
			{"no signal by a file", arch, unix.SYS_FCNTL, [4]uint32{3, unix.F_SETOWN, 0}, resultAllow},
			{"flags of a file", arch, unix.SYS_FCNTL, [4]uint32{3, unix.F_GETFL}, resultAllow},
			{"terminal", arch, unix.SYS_IOCTL, [4]uint32{0, unix.TCGETS}, resultAllow},
			{"own processors", arch, unix.SYS_SCHED_SETAFFINITY, [4]uint32{0, 8}, resultAllow},
			{"processors of another", arch, unix.SYS_SCHED_SETAFFINITY, [4]uint32{7, 8}, resultNotify},
			{"nice", arch, unix.SYS_SETPRIORITY, [4]uint32{unix.PRIO_USER, 0, 5}, resultNotify},
			{"thread", arch, unix.SYS_CLONE, [4]uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, resultAllow},
			{"fork", arch, unix.SYS_CLONE, [4]uint32{uint32(unix.SIGCHLD)}, resultAllow},
			{"fork, a signal like a namespace", arch, unix.SYS_CLONE, [4]uint32{unix.CLONE_NEWTIME}, resultAllow},
			{"user namespace", arch, unix.SYS_CLONE, [4]uint32{unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)}, refused(unix.EPERM)},
			{"user namespace, later", arch, unix.SYS_UNSHARE, [4]uint32{unix.CLONE_NEWUSER}, refused(unix.EPERM)},
			{"time namespace", arch, unix.SYS_UNSHARE, [4]uint32{unix.CLONE_NEWTIME}, refused(unix.EPERM)},
			{"own files", arch, unix.SYS_UNSHARE, [4]uint32{unix.CLONE_FILES}, resultAllow},
			{"namespace of another", arch, unix.SYS_SETNS, [4]uint32{3}, refused(unix.EPERM)},
			{"clone3", arch, unix.SYS_CLONE3, [4]uint32{}, refused(unix.ENOSYS)},
			{"i386", unix.AUDIT_ARCH_I386, unix.SYS_READ, [4]uint32{}, refused(unix.ENOSYS)},
			{"arm", unix.AUDIT_ARCH_ARM, unix.SYS_CONNECT, [4]uint32{}, refused(unix.ENOSYS)},
			{"the other one", unix.AUDIT_ARCH_X86_64 ^ unix.AUDIT_ARCH_AARCH64 ^ arch, unix.SYS_CONNECT, [4]uint32{}, refused(unix.ENOSYS)},
		} {
			data := [16]uint32{offNumber / 4: tc.number, offArch / 4: tc.arch}
			for i, v := range tc.args {
				data[offArgs/4+2*i], data[offArgs/4+2*i+1] = v, high
			}
			if got := run(t, program, data); got != tc.want {
				t.Errorf("architecture %#x, %s = %#x, want %#x", arch, tc.name, got, tc.want)
			}
		}
		reads := [16]uint32{offNumber / 4: unix.SYS_PRLIMIT64, offArch / 4: arch, offArgs / 4: 7, offArgs/4 + 6: 1}
		if got := run(t, program, reads); got != resultAllow {
			t.Errorf("limits of another, read = %#x, want allow", got)
		}
		if arch == unix.AUDIT_ARCH_X86_64 {
			if got := run(t, program, [16]uint32{x32Bit | unix.SYS_CONNECT, arch}); got != refused(unix.ENOSYS) {
				t.Errorf("x32 = %#x, want ENOSYS", got)
			}
		}
	}
}

// Where nobody can be asked, the kernel's rules decide but for tracing.
func TestFilterWithoutNotifier(t *testing.T) {
	t.Parallel()
	program := filter(unix.AUDIT_ARCH_X86_64, asks{})
	for _, tc := range []struct {
		name   string
		number uint32
		args   [2]uint32
		want   uint32
	}{
		{"connect", unix.SYS_CONNECT, [2]uint32{}, resultAllow},
		{"UDP", unix.SYS_SOCKET, [2]uint32{unix.AF_INET, unix.SOCK_DGRAM}, resultAllow},
		{"signal", unix.SYS_KILL, [2]uint32{7, 10}, resultAllow},
		{"seize", unix.SYS_PTRACE, [2]uint32{unix.PTRACE_SEIZE, 7}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"user namespace", unix.SYS_UNSHARE, [2]uint32{unix.CLONE_NEWUSER}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	} {
		data := [16]uint32{offNumber / 4: tc.number, offArch / 4: unix.AUDIT_ARCH_X86_64, offArgs / 4: tc.args[0], offArgs/4 + 2: tc.args[1]}
		if got := run(t, program, data); got != tc.want {
			t.Errorf("%s = %#x, want %#x", tc.name, got, tc.want)
		}
	}
}
