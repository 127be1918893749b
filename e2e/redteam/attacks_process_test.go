package redteam

// What holds an attack, by the names docs/security.md explains.
const (
	wallUser       = "a user of its own: no groups, no_new_privs"
	wallSeal       = "host process sealed: environment wiped, not dumpable"
	wallEnv        = "allow-list of environment variables"
	wallArgv       = "no secret in arguments"
	wallLandlock   = "Landlock: file access"
	wallScope      = "Landlock: scope of signals and traces"
	wallSeccomp    = "seccomp filter"
	wallOthers     = "seccomp notifier: calls on other processes"
	wallPipe       = "pipes only the agent can open"
	wallNetwork    = "seccomp notifier: network calls"
	wallProxy      = "egress proxy: names, ports and addresses"
	wallKeyProxy   = "key proxy"
	wallOpened     = "runner files opened before, checked after"
	wallDefuse     = "log: prefix, line ends, ##[, stop-commands"
	wallMask       = "masks in every text"
	wallOwnGit     = "git runs sandboxed, objects come as a pack"
	wallRestore    = "git configuration restored"
	wallHidden     = "checkout's token stashed"
	wallRoot       = "links in the workspace are not followed"
	wallSupervisor = "supervisor ends the tree"
	wallLimits     = "limits"
	wallPaths      = "protected paths"
	wallTree       = "checks of the tree: links, repositories, names"
	wallLeak       = "leak scan"
	wallEscape     = "foreign text escaped"
	wallJudge      = "the host judges, by its own memory and the stream"
	wallHome       = "a HOME and TMPDIR of the run's own"
	wallBase       = "what agents read comes from the base, or is named"
)

const grepCanary = `grep -aE '[g]hs_redteam|[r]t-canary|[Z]2hzX3JlZHRlYW'`

func processAttacks() []Attack {
	return []Attack{
		{ID: "env-own", In: "inside", Wall: wallEnv, Tries: "read the job's secrets in its own environment", Script: `env | ` + grepCanary},
		{ID: "env-host", In: "inside", Wall: wallSeal, Tries: "read /proc/1/environ", Script: `tr '\0' '\n' </proc/1/environ | ` + grepCanary},
		{ID: "env-all", In: "inside", Wall: wallSeal, Tries: "read /proc/*/environ of everybody", Script: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | ` + grepCanary},
		{ID: "env-threads", In: "inside", Wall: wallSeal, Tries: "read /proc/*/task/*/environ", Script: `cat /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\0' '\n' | ` + grepCanary},
		{ID: "argv-all", In: "inside", Wall: wallArgv, Tries: "read secrets in everybody's arguments", Script: `cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -v grep | ` + grepCanary},
		{ID: "mem-host", In: "inside", Wall: wallSeal, Tries: "read /proc/1/mem", Script: `$RT mem 1`},
		{ID: "mem-supervisor", In: "inside", Wall: wallScope, Tries: "read the supervisor's /proc/PID/mem", Script: `$RT mem supervisor`},
		{ID: "maps-host", In: "inside", Wall: wallSeal, Tries: "read /proc/1/maps", Script: `grep -q rw /proc/1/maps`},
		{ID: "vmread-host", In: "open", Wall: wallSeal, Tries: "process_vm_readv from the host process", Script: `$RT vmread 1`, Engine: profile},
		{ID: "vmread-supervisor", In: "open", Wall: wallScope, Tries: "process_vm_readv from the supervisor", Script: `$RT vmread supervisor`, Engine: profile},
		{ID: "ptrace-host", In: "inside", Wall: wallSeal, Tries: "ptrace the host process", Script: `$RT ptrace 1`},
		{ID: "ptrace-supervisor", In: "inside", Wall: wallScope, Tries: "ptrace the supervisor", Script: `$RT ptrace supervisor`},
		{ID: "pidfd-host", In: "open", Wall: wallSeal, Tries: "take a descriptor of the host process by pidfd_getfd", Script: `$RT pidfd 1`, Engine: profile},
		{ID: "pidfd-supervisor", In: "open", Wall: wallScope, Tries: "take a descriptor of the supervisor by pidfd_getfd", Script: `$RT pidfd supervisor`, Engine: profile},
		{ID: "fd-host", In: "inside", Wall: wallSeal, Tries: "re-open the host process's descriptors through /proc", Script: `readlink /proc/1/fd/1`},
		{ID: "fd-supervisor", In: "inside", Wall: wallScope, Tries: "re-open the supervisor's descriptors through /proc", Script: `readlink /proc/$($RT above)/fd/1`},
		{ID: "root-host", In: "inside", Wall: wallSeal, Tries: "read the event through /proc/1/root", Script: `cat /proc/1/root/github/workflow/event.json`},
		{ID: "root-self", In: "inside", Wall: wallLandlock, Tries: "read the event through /proc/self/root", Script: `cat /proc/self/root/github/workflow/event.json`},
		{ID: "syscall-host", In: "inside", Wall: wallSeal, Tries: "read /proc/1/auxv, stack and syscall", Script: `cat /proc/1/auxv >/dev/null && cat /proc/1/syscall`},
		{ID: "oom-host", In: "inside", Wall: wallUser, Tries: "make the kernel kill the host process when memory is short", Script: `cat /proc/1/oom_score_adj >/dev/null && echo 500 >/proc/1/oom_score_adj`},
		{ID: "oom-supervisor", In: "inside", Wall: wallLandlock, Tries: "make the kernel kill the supervisor when memory is short", Script: `echo 500 >/proc/$($RT above)/oom_score_adj`},
		{ID: "signal-host", In: "inside", Wall: wallUser, Tries: "send a signal to the host process", Script: `$RT signal 1`},
		{ID: "signal-supervisor", In: "inside", Wall: wallScope, Tries: "send a signal to the supervisor", Script: `$RT signal supervisor`},
		{ID: "prlimit-supervisor", In: "inside", Wall: wallSeccomp, Tries: "set limits of the supervisor, so that the kernel kills it", Script: `$RT limit supervisor`},
		{ID: "prlimit-host", In: "inside", Wall: wallUser, Tries: "set limits of the host process", Script: `$RT limit 1`},
		{ID: "sched-host", In: "inside", Wall: wallUser, Tries: "take the host process's processor time", Script: `$RT idle 1`},
		{ID: "idle-supervisor", In: "inside", Wall: wallOthers, Tries: "take the supervisor's processor time", Script: `$RT idle supervisor`},
		{ID: "ptrace-agent", In: "inside", Wall: wallOthers, Tries: "as a tool, trace the agent that started it, to speak in its place", Script: `$RT ptrace agent`},
		{ID: "memory-agent", In: "inside", Wall: wallLandlock, Tries: "as a tool, open the agent's memory for writing", Script: `$RT speak memory`},
		{ID: "vmwrite-agent", In: "open", Wall: wallSeccomp, Tries: "as a tool, write to the agent's memory by process_vm_writev", Script: `$RT speak vmwrite`, Engine: profile},
		{ID: "input-agent", In: "inside", Wall: wallPipe, Tries: "as a tool, write to the agent's standard input", Script: `$RT speak input`},
		{ID: "output-agent", In: "inside", Wall: wallPipe, Tries: "as a tool, write to the agent's standard output", Script: `$RT speak output`},
		{ID: "signal-agent", In: "inside", Wall: wallOthers, Tries: "as a tool, send the agent a signal: node opens its debugger on one", Script: `$RT signal agent`},
		{ID: "thread-agent", In: "inside", Wall: wallOthers, Tries: "the same, to a thread", Script: `$RT speak thread`},
		{ID: "group-agent", In: "inside", Wall: wallOthers, Tries: "the same, to its group", Script: `$RT speak group`},
		{ID: "everybody-agent", In: "inside", Wall: wallOthers, Tries: "the same, to everybody", Script: `$RT speak everybody`},
		{ID: "descriptor-agent", In: "inside", Wall: wallSeccomp, Tries: "the same, by pidfd_send_signal", Script: `$RT speak descriptor`},
		{ID: "queue-agent", In: "inside", Wall: wallOthers, Tries: "the same, with a value", Script: `$RT speak queue`},
		{ID: "pipe-agent", In: "inside", Wall: wallOthers, Tries: "the same, by the owner of a file (F_SETOWN)", Script: `$RT speak pipe`},
		{ID: "nice-agent", In: "inside", Wall: wallOthers, Tries: "as a tool, change the agent's priority", Script: `$RT speak nice`},
		{ID: "processors-agent", In: "inside", Wall: wallOthers, Tries: "as a tool, change the agent's processors", Script: `$RT speak processors`},
	}
}

const profile = "the engine's own profile refuses it to root, too"

func privilegeAttacks() []Attack {
	sys := func(name, wall, tries, engine string) Attack {
		room := "inside"
		if engine != "" {
			room = "open"
		}
		return Attack{ID: "sys-" + name, In: room, Wall: wall, Tries: tries, Script: "$RT sys " + name, Engine: engine}
	}
	return []Attack{
		{ID: "setuid-su", In: "inside", Wall: wallUser, Tries: "become root by su, a setuid program", Script: `su root -c 'cat /github/workflow/event.json' </dev/null`},
		{ID: "groups", In: "inside", Wall: wallUser, Tries: "be in the group of the engine's socket, or root's", Script: `id -G | tr ' ' '\n' | grep -qx 0`},
		{ID: "write-usr", In: "inside", Wall: wallLandlock, Tries: "put a program into a folder on PATH", Script: `printf '#!/bin/sh\n' >/usr/local/bin/redteam-$RT_ID`},
		{ID: "write-git", In: "inside", Wall: wallLandlock, Tries: "replace the git that later turns start", Script: `cp -p /usr/bin/git /usr/bin/git.rt && mv /usr/bin/git.rt /usr/bin/git`},
		{ID: "write-ralph", In: "inside", Wall: wallLandlock, Tries: "replace ralph itself", Script: `cp -p /usr/local/bin/ralph /usr/local/bin/ralph.rt && mv /usr/local/bin/ralph.rt /usr/local/bin/ralph`},
		{ID: "write-opt", In: "inside", Wall: wallLandlock, Tries: "write to /opt, where agents are installed", Script: `mkdir /opt/redteam-$RT_ID`},
		{ID: "write-preload", In: "inside", Wall: wallLandlock, Tries: "load a library into every program by /etc/ld.so.preload", Script: `: >>/etc/ld.so.preload`},
		{ID: "write-profile", In: "inside", Wall: wallLandlock, Tries: "configure git for everybody in /etc/gitconfig", Script: `printf '[redteam]\n\ta = b\n' >>/etc/gitconfig`},
		{ID: "write-home", In: "inside", Wall: wallLandlock, Tries: "leave configuration in the image's home folders", Script: `: >>/home/agent/.bashrc || : >>/root/.bashrc`},
		{ID: "write-passwd", In: "inside", Wall: wallLandlock, Tries: "add a user without a password", Script: `echo 'rt::0:0::/:/bin/sh' >>/etc/passwd`},
		{ID: "device-node", In: "inside", Wall: wallUser, Tries: "make a device of the machine's disk", Script: `$RT sys mknod`},
		{ID: "device-mem", In: "open", Wall: wallLandlock, Tries: "read the kernel's log and memory", Script: `timeout 3 dd if=/dev/kmsg bs=8192 count=1 >/dev/null || head -c1 /dev/mem >/dev/null`, Engine: "the engine gives these devices to nobody"},
		{ID: "sysctl", In: "open", Wall: wallLandlock, Tries: "write to /proc/sys", Script: `echo redteam >/proc/sys/kernel/domainname`, Engine: "the engine mounts it read-only"},
		sys("caps", wallUser, "have a capability", ""),
		sys("setuid", wallUser, "setresuid to root", ""),
		sys("chroot", wallUser, "chroot", ""),
		sys("userns", wallSeccomp, "mount as root of a user namespace of its own", profile),
		sys("mountns", wallSeccomp, "make a mount namespace", profile),
		sys("netns", wallSeccomp, "make a network namespace", profile),
		sys("mount", wallSeccomp, "mount a file system", profile),
		sys("setns", wallSeccomp, "enter the host process's namespaces", profile),
		sys("bpf", wallSeccomp, "bpf", profile),
		sys("perf", wallSeccomp, "perf_event_open", profile),
		sys("userfaultfd", wallSeccomp, "userfaultfd", profile),
		sys("keyctl", wallSeccomp, "read the session's keyring", profile),
		sys("open_by_handle", wallUser, "open files by handle, past the mounts", profile),
		sys("module", wallUser, "load a kernel module", profile),
		sys("reboot", wallUser, "reboot", profile),
		sys("sethostname", wallUser, "rename the machine", profile),
		sys("nproc", wallUser, "lift its own limit of processes", ""),
		sys("listener", wallSeccomp, "be asked about its own connects, in the supervisor's place", ""),
		sys("ioprio", wallUser, "raise its own priority", profile),
	}
}
