package redteam

// What holds an attack, by the names docs/security.md explains.
const (
	defenseUser       = "a user of its own: no groups, no_new_privs"
	defenseRights     = "capabilities of an agent that is root"
	defenseSeal       = "host process sealed: environment wiped, not dumpable"
	defenseEnv        = "allow-list of environment variables"
	defenseArgv       = "no secret in arguments"
	defenseLandlock   = "Landlock: file access"
	defenseScope      = "Landlock: scope of signals and traces"
	defenseSeccomp    = "seccomp filter"
	defenseOthers     = "seccomp notifier: calls on other processes"
	defensePipe       = "pipes only the agent can open"
	defenseNetwork    = "seccomp notifier: network calls"
	defenseProxy      = "egress proxy: names, ports and addresses"
	defenseKeyProxy   = "key proxy"
	defenseOpened     = "runner files opened before, checked after"
	defenseDefuse     = "log: prefix, line ends, ##[, stop-commands"
	defenseMask       = "masks in every text"
	defenseOwnGit     = "git runs sandboxed, objects come as a pack"
	defenseRestore    = "git configuration restored"
	defenseHidden     = "checkout's token stashed"
	defenseRoot       = "links in the workspace are not followed"
	defenseSupervisor = "supervisor ends the tree"
	defenseLimits     = "limits"
	defensePaths      = "protected paths"
	defenseTree       = "checks of the tree: links, repositories, names"
	defenseLeak       = "leak scan"
	defenseEscape     = "foreign text escaped"
	defenseJudge      = "the host judges, by its own memory and the stream"
	defenseNamespaces = "namespaces"
	defenseHome       = "a HOME and TMPDIR of the run's own"
	defenseBase       = "what agents read comes from the base, or is named"
)

const grepCanary = `grep -aE '[g]hs_redteam|[r]t-canary|[Z]2hzX3JlZHRlYW'`

func processAttacks() []Attack {
	return []Attack{
		{ID: "env-own", In: "inside", Defense: defenseEnv, Tries: "read the job's secrets in its own environment", Script: `env | ` + grepCanary},
		{ID: "env-host", In: "inside", Defense: defenseSeal, Tries: "read the host process's environ", Script: `tr '\0' '\n' </proc/$($RT pid host)/environ | ` + grepCanary},
		{ID: "env-all", In: "inside", Defense: defenseSeal, Tries: "read /proc/*/environ of everybody", Script: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | ` + grepCanary},
		{ID: "env-threads", In: "inside", Defense: defenseSeal, Tries: "read /proc/*/task/*/environ", Script: `cat /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\0' '\n' | ` + grepCanary},
		{ID: "env-init", In: "root", Defense: defenseRights, Tries: "as root, read the environment that an init in front of ralph keeps", Script: `tr '\0' '\n' </proc/1/environ | ` + grepCanary},
		{ID: "maps-init", In: "root", Defense: defenseRights, Tries: "as root, read the map of that process's memory", Script: `grep -q rw /proc/1/maps`},
		{ID: "argv-all", In: "inside", Defense: defenseArgv, Tries: "read secrets in everybody's arguments", Script: `cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -v grep | ` + grepCanary, Known: "without namespaces other steps' arguments are readable", KnownIn: []column{withoutNamespaces}},
		{ID: "mem-host", In: "inside", Defense: defenseSeal, Tries: "read the host process's memory, as a file", Script: `$RT mem host`},
		{ID: "mem-supervisor", In: "inside", Defense: defenseScope, Tries: "read the supervisor's /proc/PID/mem", Script: `$RT mem supervisor`},
		{ID: "maps-host", In: "inside", Defense: defenseSeal, Tries: "read the map of the host process's memory", Script: `grep -q rw /proc/$($RT pid host)/maps`},
		{ID: "vmread-host", In: "open", Defense: defenseSeal, Tries: "process_vm_readv from the host process", Script: `$RT vmread host`, Engine: profile},
		{ID: "vmread-supervisor", In: "open", Defense: defenseScope, Tries: "process_vm_readv from the supervisor", Script: `$RT vmread supervisor`, Engine: profile},
		{ID: "ptrace-host", In: "inside", Defense: defenseSeal, Tries: "ptrace the host process", Script: `$RT ptrace host`},
		{ID: "ptrace-supervisor", In: "inside", Defense: defenseScope, Tries: "ptrace the supervisor", Script: `$RT ptrace supervisor`},
		{ID: "pidfd-host", In: "open", Defense: defenseSeal, Tries: "take a descriptor of the host process by pidfd_getfd", Script: `$RT pidfd host`, Engine: profile},
		{ID: "pidfd-supervisor", In: "open", Defense: defenseScope, Tries: "take a descriptor of the supervisor by pidfd_getfd", Script: `$RT pidfd supervisor`, Engine: profile},
		{ID: "fd-host", In: "inside", Defense: defenseSeal, Tries: "re-open the host process's descriptors through /proc", Script: `readlink /proc/$($RT pid host)/fd/1`},
		{ID: "fd-supervisor", In: "inside", Defense: defenseScope, Tries: "re-open the supervisor's descriptors through /proc", Script: `readlink /proc/$($RT pid supervisor)/fd/1`},
		{ID: "root-host", In: "inside", Defense: defenseSeal, Tries: "read the event through the host process's root", Script: `cat /proc/$($RT pid host)/root/github/workflow/event.json`},
		{ID: "root-self", In: "inside", Defense: defenseLandlock, Tries: "read the event through /proc/self/root", Script: `cat /proc/self/root/github/workflow/event.json`},
		{ID: "syscall-host", In: "inside", Defense: defenseSeal, Tries: "read the host process's auxv, stack and syscall", Script: `cat /proc/$($RT pid host)/auxv >/dev/null && cat /proc/$($RT pid host)/syscall`},
		{ID: "oom-host", In: "inside", Defense: defenseUser, Tries: "make the kernel kill the host process when memory is short", Script: `cat /proc/$($RT pid host)/oom_score_adj >/dev/null && echo 500 >/proc/$($RT pid host)/oom_score_adj`},
		{ID: "oom-supervisor", In: "inside", Defense: defenseLandlock, Tries: "make the kernel kill the supervisor when memory is short", Script: `echo 500 >/proc/$($RT pid supervisor)/oom_score_adj`},
		{ID: "signal-host", In: "inside", Defense: defenseUser, Tries: "send a signal to the host process", Script: `$RT signal host`},
		{ID: "signal-supervisor", In: "inside", Defense: defenseScope, Tries: "send a signal to the supervisor", Script: `$RT signal supervisor`},
		{ID: "prlimit-supervisor", In: "inside", Defense: defenseSeccomp, Tries: "set limits of the supervisor, so that the kernel kills it", Script: `$RT limit supervisor || sudo -nu runner $RT limit supervisor`},
		{ID: "prlimit-host", In: "inside", Defense: defenseUser, Tries: "set limits of the host process", Script: `$RT limit host`},
		{ID: "sched-host", In: "inside", Defense: defenseUser, Tries: "take the host process's processor time", Script: `$RT idle host`},
		{ID: "idle-supervisor", In: "inside", Defense: defenseOthers, Tries: "take the supervisor's processor time", Script: `$RT idle supervisor`},
		{ID: "ptrace-agent", In: "inside", Defense: defenseOthers, Tries: "as a tool, trace the agent that started it, to speak in its place", Script: `$RT ptrace agent`},
		{ID: "memory-agent", In: "inside", Defense: defenseLandlock, Tries: "as a tool, open the agent's memory for writing", Script: `$RT speak memory`},
		{ID: "vmwrite-agent", In: "open", Defense: defenseSeccomp, Tries: "as a tool, write to the agent's memory by process_vm_writev", Script: `$RT speak vmwrite`, Engine: profile},
		{ID: "input-agent", In: "inside", Defense: defensePipe, Tries: "as a tool, write to the agent's standard input", Script: `$RT speak input`},
		{ID: "output-agent", In: "inside", Defense: defensePipe, Tries: "as a tool, write to the agent's standard output", Script: `$RT speak output`},
		{ID: "signal-agent", In: "inside", Defense: defenseOthers, Tries: "as a tool, send the agent a signal: node opens its debugger on one", Script: `$RT signal agent`},
		{ID: "thread-agent", In: "inside", Defense: defenseOthers, Tries: "the same, to a thread", Script: `$RT speak thread`},
		{ID: "group-agent", In: "inside", Defense: defenseOthers, Tries: "the same, to its group", Script: `$RT speak group`},
		{ID: "everybody-agent", In: "inside", Defense: defenseOthers, Tries: "the same, to everybody", Script: `$RT speak everybody`},
		{ID: "descriptor-agent", In: "inside", Defense: defenseSeccomp, Tries: "the same, by pidfd_send_signal", Script: `$RT speak descriptor`},
		{ID: "queue-agent", In: "inside", Defense: defenseOthers, Tries: "the same, with a value", Script: `$RT speak queue`},
		{ID: "pipe-agent", In: "inside", Defense: defenseOthers, Tries: "the same, by the owner of a file (F_SETOWN)", Script: `$RT speak pipe`},
		{ID: "nice-agent", In: "inside", Defense: defenseOthers, Tries: "as a tool, change the agent's priority", Script: `$RT speak nice`},
		{ID: "processors-agent", In: "inside", Defense: defenseOthers, Tries: "as a tool, change the agent's processors", Script: `$RT speak processors`},
	}
}

const profile = "the engine's own profile refuses it to root, too"

func privilegeAttacks() []Attack {
	sys := func(name, defense, tries, engine string) Attack {
		scenario := "inside"
		if engine != "" {
			scenario = "open"
		}
		return Attack{ID: "sys-" + name, In: scenario, Defense: defense, Tries: tries, Script: "$RT sys " + name, Engine: engine}
	}
	return []Attack{
		{ID: "setuid-su", In: "inside", Defense: defenseUser, Tries: "become root by su, a setuid program", Script: `su root -c 'cat /github/workflow/event.json' </dev/null`},
		{ID: "groups", In: "inside", Defense: defenseUser, Tries: "be in the group of the engine's socket, or root's", Script: `id -G | tr ' ' '\n' | grep -qx 0`},
		{ID: "write-usr", In: "inside", Defense: defenseLandlock, Tries: "put a program into a folder on PATH", Script: `printf '#!/bin/sh\n' >/usr/local/bin/redteam-$RT_ID`},
		{ID: "write-git", In: "inside", Defense: defenseLandlock, Tries: "replace the git that later turns start", Script: `cp -p /usr/bin/git /usr/bin/git.rt && mv /usr/bin/git.rt /usr/bin/git`},
		{ID: "write-ralph", In: "inside", Defense: defenseLandlock, Tries: "replace ralph itself", Script: `cp -p /usr/local/bin/ralph /usr/local/bin/ralph.rt && mv /usr/local/bin/ralph.rt /usr/local/bin/ralph`},
		{ID: "write-opt", In: "inside", Defense: defenseLandlock, Tries: "write to /opt, where agents are installed", Script: `mkdir /opt/redteam-$RT_ID`},
		{ID: "write-preload", In: "inside", Defense: defenseLandlock, Tries: "load a library into every program by /etc/ld.so.preload", Script: `: >>/etc/ld.so.preload`},
		{ID: "write-profile", In: "inside", Defense: defenseLandlock, Tries: "configure git for everybody in /etc/gitconfig", Script: `printf '[redteam]\n\ta = b\n' >>/etc/gitconfig`},
		{ID: "write-home", In: "inside", Defense: defenseLandlock, Tries: "leave configuration in the image's home folders", Script: `true >>/home/agent/.bashrc || true >>/root/.bashrc`},
		{ID: "write-passwd", In: "inside", Defense: defenseLandlock, Tries: "add a user without a password", Script: `echo 'rt::0:0::/:/bin/sh' >>/etc/passwd`},
		{ID: "device-node", In: "inside", Defense: defenseUser, Tries: "make a device of the machine's disk", Script: `$RT sys mknod`},
		{ID: "device-root", In: "root", Defense: defenseRights, Tries: "as root, make a device of the machine's disk", Script: `$RT sys mknod`},
		{ID: "device-mem", In: "open", Defense: defenseLandlock, Tries: "read the kernel's log and memory", Script: `timeout 3 dd if=/dev/kmsg bs=8192 count=1 >/dev/null || head -c1 /dev/mem >/dev/null`, Engine: "the engine gives these devices to nobody"},
		{ID: "sysctl", In: "open", Defense: defenseLandlock, Tries: "write to /proc/sys", Script: `echo redteam >/proc/sys/kernel/domainname`, Engine: "the engine mounts it read-only"},
		sys("caps", defenseUser, "have a capability", ""),
		sys("setuid", defenseUser, "setresuid to root", ""),
		sys("chroot", defenseUser, "chroot", ""),
		sys("userns", defenseSeccomp, "mount as root of a user namespace of its own", profile),
		sys("mountns", defenseSeccomp, "make a mount namespace", profile),
		sys("netns", defenseSeccomp, "make a network namespace", profile),
		sys("mount", defenseSeccomp, "mount a file system", profile),
		sys("setns", defenseSeccomp, "enter the host process's namespaces", profile),
		sys("bpf", defenseSeccomp, "bpf", profile),
		sys("perf", defenseSeccomp, "perf_event_open", profile),
		sys("userfaultfd", defenseSeccomp, "userfaultfd", profile),
		sys("keyctl", defenseSeccomp, "read the session's keyring", profile),
		sys("open_by_handle", defenseUser, "open files by handle, past the mounts", profile),
		sys("module", defenseUser, "load a kernel module", profile),
		sys("reboot", defenseUser, "reboot", profile),
		sys("sethostname", defenseUser, "rename the machine", profile),
		sys("nproc", defenseUser, "lift its own limit of processes", ""),
		sys("listener", defenseSeccomp, "be asked about its own connects, in the supervisor's place", ""),
		sys("ioprio", defenseUser, "raise its own priority", profile),
	}
}
