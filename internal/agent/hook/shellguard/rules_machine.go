package shellguard

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"
)

func stopsMachine(s scene) string {
	if s.name == "shutdown" && !s.has('c', "--help") || s.writes(func(f string) bool { return f == "/proc/sysrq-trigger" }) != "" {
		return "stops the machine"
	}
	return ""
}

// keeper matches the processes that run this loop.
var keeper = lazyregexp.New(`^(ralph|claude|codex|Runner\.(Listener|Worker)|dockerd|containerd|systemd|init|sshd)$`)

func killsEverything(s scene) string {
	switch s.name {
	case "kill":
		if slices.ContainsFunc(s.targets(), func(t string) bool { return t == "-1" || t == "1" }) {
			return "ends every process"
		}
	case "pkill", "killall", "skill":
		patterns := s.operands("-u -U -G -g -P -s -t -n -o --signal --user --euid --uid")
		for _, p := range patterns {
			switch {
			case strings.Trim(p, ".*^$") == "":
				return "ends every process"
			case keeper.MatchString(strings.Trim(p, "^$")):
				return "ends " + printable.Clean(p, 40) + ", which this loop needs"
			}
		}
		if len(patterns) == 0 && (s.has('u', "--user") || s.has('U', "--uid")) {
			return "ends every process of a user"
		}
	}
	return ""
}

// targets of a kill are what follows the signal.
func (s scene) targets() []string {
	all := texts(s.args)
	if len(all) == 0 {
		return nil
	}
	switch t := all[0]; {
	case t == "-s" || t == "-n":
		all = all[min(2, len(all)):]
	case t == "-l" || t == "-L":
		return nil
	case strings.HasPrefix(t, "-") && t != "--" && len(all) > 1:
		all = all[1:]
	}
	if len(all) > 0 && all[0] == "--" {
		all = all[1:]
	}
	return all
}

var schedules = lazyregexp.New(`^/etc/(cron|anacron|systemd/|init\.d/|rc\.local)|^/var/spool/cron|(^|/)(LaunchAgents|LaunchDaemons)/|(^|/)\.config/systemd/`)

func changesSchedule(s scene) string {
	if f := s.writes(schedules.MatchString); f != "" {
		return "writes to " + f + ", which runs after the loop has ended"
	}
	switch s.name {
	case "crontab":
		if s.has('l', "") || s.has('V', "") {
			return ""
		}
		if s.has('r', "") {
			return "deletes every scheduled job"
		}
		if len(s.operands("-u")) > 0 || s.stage > 0 || s.input != "" || len(s.redirects) > 0 {
			return "changes what is run after the loop has ended"
		}
	case "at", "batch":
		if s.stage > 0 || s.input != "" || s.has('f', "") {
			return "leaves a job behind that runs after the loop has ended"
		}
	}
	return ""
}

func dropsFirewall(s scene) string {
	switch s.name {
	case "iptables", "ip6tables", "ebtables", "arptables":
		for i, a := range s.args {
			if (a.text == "-P" || a.text == "--policy") && i+2 < len(s.args) && s.args[i+2].text == "ACCEPT" {
				return "opens the firewall"
			}
		}
	case "systemctl", "service", "rc-service":
		all := s.operands("-t")
		for _, u := range all {
			if slices.Contains([]string{"firewalld", "ufw", "nftables", "iptables", "apparmor", "auditd", "fail2ban"}, strings.TrimSuffix(u, ".service")) &&
				slices.ContainsFunc(all, func(t string) bool { return t == "stop" || t == "disable" || t == "mask" }) {
				return "turns " + u + " off"
			}
		}
	}
	return ""
}

// downloads reports whether a call prints what another machine sent, or what it has
// decoded: either way nobody has read it.
func downloads(c call) bool {
	switch c.name {
	case "curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "GET", "iwr", "Invoke-WebRequest":
		return true
	case "base64", "base32":
		return c.has('d', "--decode") || c.has('D', "")
	case "xxd":
		return c.has('r', "-revert")
	case "openssl":
		return c.has('d', "") && len(c.args) > 0 && (c.args[0].text == "enc" || c.args[0].text == "base64")
	}
	return false
}

// any goes through all calls of a script and of what is nested in it.
func (w *walk) any(list []script, cwd string, match func(call) bool) bool {
	if w.depth++; w.depth > maxDepth {
		w.depth--
		return false
	}
	defer func() { w.depth-- }()
	for _, s := range list {
		for p := range s.pipelines() {
			for _, c := range p {
				if c.group != nil && w.any([]script{s.part(c.group)}, cwd, match) {
					return true
				}
				if w.calls++; w.calls > maxCalls {
					return false
				}
				one := call{source: c.source, cwd: cwd, redirects: w.redirects(c), args: w.args(c)}
				if match(unwrap(one, 0)) {
					return true
				}
				if slices.ContainsFunc(one.args, func(a arg) bool { return w.any(a.subs, cwd, match) }) {
					return true
				}
			}
		}
	}
	return false
}

func runsDownload(s scene) string {
	const why = "runs code that nobody has seen"
	if isInterpreter(s.name) && scriptArg(s.args) == "" && (s.earlier(downloads) ||
		slices.ContainsFunc(s.redirects, func(r redirect) bool { return s.walk.any(r.target.subs, s.cwd, downloads) })) {
		return why
	}
	switch {
	case s.is("eval", "source", "."):
		if s.substituted(s.args, downloads) {
			return why
		}
	case isInterpreter(s.name):
		for i, a := range s.args {
			code := i > 0 && strings.HasPrefix(s.args[i-1].text, "-") && strings.ContainsAny(s.args[i-1].text, "ce")
			if (code || !strings.HasPrefix(a.text, "-")) && s.substituted(s.args[i:i+1], downloads) {
				return why
			}
			if !strings.HasPrefix(a.text, "-") {
				break // its own arguments follow
			}
		}
	}
	return ""
}

// executing matches addresses of socat that are programs.
var executing = lazyregexp.New(`(?i)^(EXEC|SYSTEM):`)

// dialling matches code that hands a shell to another machine.
var dialling = lazyregexp.New(`(?s)socket.*(dup2|/bin/(ba)?sh|pty\.spawn|subprocess)|TCPSocket.*exec|/inet/tcp/`)

func opensShell(s scene) string {
	const why = "gives another machine a shell here"
	for _, r := range s.redirects {
		t := r.target.text
		if (strings.HasPrefix(t, "/dev/tcp/") || strings.HasPrefix(t, "/dev/udp/")) && !isLocal(t[len("/dev/tcp/"):]) &&
			(isShell(s.name) && s.has('i', "") || s.name == "exec" || s.name == "" && r.op == "<>") {
			return why
		}
	}
	switch s.name {
	case "nc", "ncat", "netcat", "nc.traditional", "nc.openbsd":
		if s.has('e', "--exec") || s.has('c', "--sh-exec") {
			return why
		}
		for _, c := range slices.Concat(append(s.pipe[:s.stage:s.stage], s.pipe[s.stage+1:]...)...) {
			if isShell(c.name) && (c.has('i', "") || scriptArg(c.args) == "") {
				return why
			}
		}
	case "socat":
		if slices.ContainsFunc(texts(s.args), executing.MatchString) {
			return why
		}
	}
	if (isInterpreter(s.name) || s.is("awk", "gawk")) && slices.ContainsFunc(texts(s.args), dialling.MatchString) {
		return why
	}
	return ""
}
