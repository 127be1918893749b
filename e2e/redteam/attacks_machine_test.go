package redteam

import "strings"

const runnerHome = "/home/runner"

// credentialFiles lie in the HOME of a machine's user, and caches are what setup-* actions
// save for the next job.
var (
	credentialFiles = []string{
		"actions-runner/.credentials", "actions-runner/.credentials_rsaparams", ".docker/config.json", ".aws/credentials", ".azure/msal_token_cache.json",
		".config/gh/hosts.yml", ".config/hub", ".config/gcloud/credentials.db", ".kube/config", ".npmrc", ".pypirc", ".m2/settings.xml", ".git-credentials",
		".cargo/credentials.toml", ".gradle/gradle.properties", ".ssh/id_ed25519", ".gnupg/private-keys-v1.d/key", ".bash_history",
		"work/_temp/5b0f/ssh-key", "work/_actions/org/deploy/v1/key",
	}
	cacheFiles = []string{
		"go/pkg/mod/cache/download/m/list", ".cache/go-build/00/a", ".npm/_cacache/index", ".cache/pip/http", ".cache/yarn/v6/p", ".local/share/pnpm/store/v3/p",
		".cargo/registry/cache/p", ".m2/repository/p.jar", ".gradle/caches/modules", ".nuget/packages/p", ".composer/cache/p",
	}
	toolFile = "hostedtoolcache/go/1.26.8/x64/bin/go" // below /opt
	ownFile  = "work/_actions/org/ralph-action/v1/host/main.js"
)

// machineAttacks are against what a runner has around a step that is no container; see
// lookalike_test.go.
func machineAttacks() []Attack {
	const (
		others     = "only namespaces hide other processes' names, arguments, shared memory and queues"
		shared     = "without namespaces /dev/shm is shared with the machine, and programs need it"
		attributes = "Landlock covers reading and writing, not existence, modes, times and notifications of files"
	)
	host := func(id, tries, defense, script string, seen ...sign) Attack {
		return Attack{ID: "machine-" + id, In: "machine", Tries: tries, Defense: defense, Script: script, Seen: seen}
	}
	plain := func(why string, a Attack) Attack { // open without namespaces
		a.Known, a.KnownIn = why, []column{withoutNamespaces}
		return a
	}
	// What is written may be gone with the run: only what is there afterwards counts.
	write := func(id, tries, script string) Attack {
		return host(id, tries, defenseLandlock, script+`; [ -n "$RT_CONTROL" ]`, strayed, changed)
	}
	ask := func(id, tries, path string) Attack {
		return host(id, tries, defenseNetwork, `$RT connect unix `+path, arrived)
	}
	const worker = `/proc/$($RT pid Runner.Worker)/`
	all := []Attack{
		// The memory dump of CVE-2025-30066, and what else a worker's user may do to it.
		host("worker-environ", "read the environment of Runner.Worker", defenseLandlock, `tr '\0' '\n' <`+worker+`environ`),
		host("worker-mem", "read the secrets in the memory of Runner.Worker, as CVE-2025-30066 did", defenseLandlock, `$RT mem Runner.Worker`),
		host("worker-maps", "read the map of that memory", defenseLandlock, `grep -q rw `+worker+`maps`),
		host("worker-vmread", "the same memory by process_vm_readv", defenseSeccomp, `$RT vmread Runner.Worker`),
		host("worker-ptrace", "ptrace Runner.Worker", defenseOthers, `$RT ptrace Runner.Worker`),
		host("worker-pidfd", "take a descriptor of Runner.Worker", defenseSeccomp, `$RT pidfd Runner.Worker`),
		host("worker-root", "read the runner's credentials through the root of Runner.Worker", defenseLandlock, `cat `+worker+`root`+runnerHome+`/actions-runner/.credentials`),
		host("worker-cwd", "list the working folder of Runner.Worker through /proc", defenseLandlock, `ls `+worker+`cwd/ | grep -q .`),
		host("worker-fd", "see the open files of Runner.Worker", defenseLandlock, `readlink `+worker+`fd/0`),
		host("worker-kill", "end or stop Runner.Worker by a signal", defenseOthers, `$RT signal Runner.Worker || $RT speak thread Runner.Worker || $RT speak group Runner.Worker || $RT speak descriptor Runner.Worker || $RT speak queue Runner.Worker || kill -CONT $($RT pid Runner.Worker)`),
		host("worker-limit", "set limits of Runner.Worker", defenseSeccomp, `$RT limit Runner.Worker || sudo -nu runner $RT limit Runner.Worker`),
		host("worker-idle", "take its processor time or its priority", defenseOthers, `$RT idle Runner.Worker || $RT speak nice Runner.Worker`),
		host("worker-oom", "make the kernel kill it when memory is short", defenseLandlock, `echo 500 >`+worker+`oom_score_adj`),
		plain(others, host("worker-name", "see that Runner.Worker runs", defenseNamespaces, `$RT pid Runner.Worker`)),
		host("node-mem", "read the inputs in the memory of the action's own node", defenseLandlock, `$RT mem node || $RT mem sudo`),
		host("other-mem", "read the memory of another step's process", defenseLandlock, `$RT mem other-step`),
		host("other-kill", "end another step's process", defenseOthers, `$RT signal other-step`),
		plain(others, host("other-argv", "read another step's arguments", defenseNamespaces, `tr '\0' '\n' </proc/$($RT pid other-step)/cmdline`)),

		// Becoming root.
		host("sudo", "become root by sudo, which asks for no password", defenseUser, `sudo -n true`),
		host("sudo-forms", "the same with other words", defenseUser, `sudo -n -u runner true || sudo -n -g docker true || sudo -n -i true || sudo -n -s true || sudo -n -E true || echo x | sudo -S true || sudo -n /bin/sh -c true`),
		host("setuid-mount", "mount a file system by the setuid program for it", defenseUser, `mount -t tmpfs redteam /mnt; c=$?; umount /mnt; exit $c`),
		host("setuid-pkexec", "read a file of root's by a setuid program", defenseUser, `pkexec /etc/shadow | grep -q root:`),
		host("setuid-newgrp", "become a member of the engine's group", defenseUser, `sg docker -c 'id -G' </dev/null | grep -qw 118`),
		plain("only root can remove a user's groups; the engine's socket is refused", host("groups", "be in the groups of the engine's socket and of sudo", defenseNamespaces, `id -G | grep -qwE '0|118'`)),

		// Asking somebody who is root.
		ask("systemd", "ask systemd to run something, by its private socket", "/run/systemd/private"),
		ask("dbus", "ask it by D-Bus", "/run/dbus/system_bus_socket"),
		ask("session-bus", "ask the user's own D-Bus", "/run/user/1001/bus"),
		ask("containerd", "ask containerd for a container", "/run/containerd/containerd.sock"),
		ask("ssh-agent", "sign with the keys of ssh-agent", "/tmp/ssh-redteam/agent.1"),
		ask("gpg-agent", "sign with the keys of gpg-agent", runnerHome+"/.gnupg/S.gpg-agent"),
		host("wireserver", "ask the host of a virtual machine on Azure", defenseNetwork, `$RT connect tcp 168.63.129.16:80 || $RT connect tcp 168.63.129.16:32526`, arrived),
		host("proxy-wireserver", "the same through the proxy", defenseProxy, `$RT via get http://168.63.129.16/`, arrived),

		// Reading and writing the machine's files.
		host("credentials", "read the files in HOME, actions-runner, _temp and _actions that hold credentials", defenseLandlock, `cd `+runnerHome+` && cat `+strings.Join(credentialFiles, " ")),
		host("search", "search HOME, /tmp, /opt, /run and /etc for secrets", defenseLandlock, `grep -rasE '[r]t-canary|[g]hs_redteam' `+runnerHome+` /tmp /var/tmp /opt /run /etc`),
		host("list", "list HOME, and the runner's folders in it", defenseLandlock, `ls `+runnerHome+` `+runnerHome+`/work `+runnerHome+`/actions-runner | grep -q .`),
		plain(attributes, host("stat", "see which credentials there are", defenseLandlock, `[ -s `+runnerHome+`/.aws/credentials ]`)),
		plain(attributes, host("modes", "take the runner's files away by their modes", defenseNamespaces, `chmod 000 /github/file_commands/set_env_1; c=$?; chmod 644 /github/file_commands/set_env_1; exit $c`)),
		host("private", "find the binary of ralph, and what else is in its folder", defenseLandlock, `cat /github/runner_temp/ralph-*/ralph >/dev/null || cat `+runnerHome+`/`+ownFile),
		write("tools", "write to the hosted tool cache, which everybody may", `echo "# RT_$RT_ID" >>/opt/`+toolFile+`; mkdir /opt/hostedtoolcache/$RT_ID; true >/opt/hostedtoolcache/$RT_ID/redteam-$RT_ID`),
		write("tool-replaced", "put another program in the place of a tool", `echo RT_$RT_ID >/opt/hostedtoolcache/redteam-$RT_ID && mv /opt/hostedtoolcache/redteam-$RT_ID /opt/`+toolFile+`; cp /opt/`+toolFile+` rt-tool`),
		write("action", "change the action's own files, for its post step", `echo "// RT_$RT_ID" >>`+runnerHome+`/`+ownFile+`; echo RT_$RT_ID >`+runnerHome+`/work/_actions/org/ralph-action/v1/redteam-$RT_ID`),
		write("binary", "change the binary of ralph, for its post step", `for f in /github/runner_temp/ralph-*/ralph /usr/local/bin/ralph; do echo RT_$RT_ID >>$f; done; echo RT_$RT_ID >/github/runner_temp/redteam-$RT_ID`),
		write("caches", "poison what setup-* actions save for the next job", `cd `+runnerHome+`; for f in `+strings.Join(cacheFiles, " ")+`; do echo RT_$RT_ID >>$f; done`),
		write("start-files", "leave something that a shell of the next job starts", `for f in .bashrc .profile .bash_profile .zshenv .config/fish/config.fish .pam_environment; do echo "# RT_$RT_ID" >>`+runnerHome+`/$f; done`),
		write("config", "leave something that git, npm, pip, Docker or ssh of the next job read", `for f in .gitconfig .config/git/config .npmrc .config/pip/pip.conf .docker/config.json .ssh/config .ssh/authorized_keys .cargo/config.toml; do echo "# RT_$RT_ID" >>`+runnerHome+`/$f; done`),
		write("units", "leave a unit of systemd, or a line of cron", `mkdir -p `+runnerHome+`/.config/systemd/user; echo RT_$RT_ID >`+runnerHome+`/.config/systemd/user/redteam-$RT_ID.service; mkdir -p `+runnerHome+`/.config/autostart; echo RT_$RT_ID >`+runnerHome+`/.config/autostart/redteam-$RT_ID.desktop; echo RT_$RT_ID >/var/spool/cron/crontabs/runner`),
		write("path", "leave a program in a folder of HOME that is on PATH", `mkdir -p `+runnerHome+`/.local/bin; echo RT_$RT_ID >`+runnerHome+`/.local/bin/redteam-$RT_ID`),
		write("runner", "change the runner: its programs, hooks and variables", `for f in .env .path run.sh; do echo RT_$RT_ID >>`+runnerHome+`/actions-runner/$f; done`),
		write("tmp", "leave a file in /tmp or /var/tmp for the next job", `true >/tmp/redteam-$RT_ID; true >/var/tmp/redteam-$RT_ID`),
		host("tmp-read", "read what other steps left in /tmp", defenseLandlock, `cat /tmp/other-step.txt /var/tmp/other-step.txt`),
		plain(shared, host("shm-read", "read what other steps keep in /dev/shm", defenseNamespaces, `cat /dev/shm/other-step.txt`)),
		plain(shared, host("shm", "leave a file in /dev/shm for the next job", defenseNamespaces, `true >/dev/shm/redteam-$RT_ID; [ -n "$RT_CONTROL" ]`, strayed)),
		host("ld-conf", "have every program load a library of its own", defenseLandlock, `true >/etc/ld.so.conf.d/redteam.conf || true >>/etc/ld.so.cache`),
		host("hooks", "leave a git hook and a setting in the workspace", defenseRestore, `printf '#!/bin/sh\n' >.git/hooks/post-checkout; git config redteam.left yes; [ -n "$RT_CONTROL" ]`, gitLeft),

		// The kernel. What is opened is not written to: nothing happens to the machine.
		host("core-pattern", "have the kernel start a program when another crashes", defenseLandlock, `: >>/proc/sys/kernel/core_pattern`),
		host("sysrq", "ask the kernel by sysrq", defenseLandlock, `[ -e /proc/sysrq-trigger ] || { echo this kernel has no sysrq; exit 77; }; true >>/proc/sysrq-trigger`),
		host("sys", "write to /sys, from where the kernel takes a program to start", defenseLandlock, `for f in /sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/ksm/run /sys/module/kernel/parameters/panic /sys/module/printk/parameters/time; do true >>$f && exit 0; done; exit 1`),
		host("cgroup", "leave its cgroup, or have release_agent start a program", defenseLandlock, `for f in $(find /sys/fs/cgroup -name release_agent -o -name cgroup.procs -o -name cgroup.kill); do true >>$f && exit 0; done; exit 1`),
		host("cgroup-own", "make a cgroup of its own", defenseLandlock, `for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/redteam && rmdir $d/redteam && exit 0; done; exit 1`),
		host("kmsg", "write to the kernel's log", defenseLandlock, `: >/dev/kmsg`),
		host("fanotify", "be told of what happens in RUNNER_TEMP by fanotify", defenseSeccomp, `$RT sys fanotify`),
		host("tty", "write to the terminal that the runner was started from", defenseSupervisor, `: >/dev/tty`),
		host("tiocsti", "put words into that terminal, as if they were typed", defenseSupervisor, `$RT sys tiocsti`),
		plain(others, host("ipc-shm", "read what other steps keep in shared memory of System V", defenseNamespaces, `$RT ipc shm`)),
		plain(others, host("ipc-msg", "take a message out of another step's queue of System V", defenseNamespaces, `$RT ipc msg`)),
		host("ipc-mq", "take a message out of another step's POSIX queue", defenseLandlock, `$RT ipc mq`),
	}
	return all
}
