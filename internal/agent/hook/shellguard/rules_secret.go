package shellguard

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"
)

// processSecrets matches what shows another process's environment or memory.
var processSecrets = lazyregexp.New(`^/proc/([^/ ]+|\*)/(task/[^/ ]+/)?(environ|mem|auxv)$`)

const readsMemory = "reads the environment or memory of processes, where secrets are"

func readsProcessSecrets(s scene) string {
	if !s.is("echo", "printf", "git") && slices.ContainsFunc(texts(s.args), processSecrets.MatchString) ||
		slices.ContainsFunc(s.redirects, func(r redirect) bool { return r.op == "<" && processSecrets.MatchString(r.target.text) }) ||
		s.name == "ps" && len(s.args) > 0 && bsdEnvironment.MatchString(s.args[0].text) {
		return readsMemory
	}
	return ""
}

// bsdEnvironment matches options of ps, written without a dash, that show each
// process's environment.
var bsdEnvironment = lazyregexp.New(`^[a-z]*e[a-z]*$`)

// isNetwork reports whether a program can carry what it is given to another machine.
func isNetwork(name string) bool {
	return slices.Contains(strings.Fields("curl wget nc ncat netcat socat telnet ftp lftp sftp scp rsync ssh http https xh rclone mail mailx sendmail mutt aws "+
		"gsutil s3cmd dig nslookup host drill ping gist pastebinit transfer.sh croc wormhole magic-wormhole"), name)
}

// httpie matches its short form of this machine's addresses.
var httpie = lazyregexp.New(`^:\d*(/|$)`)

var localHost = lazyregexp.New(`^(localhost|[a-z0-9-]+\.localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|host\.docker\.internal)$`)

// hostLike matches an address without a scheme. A file's name may look the same.
var hostLike = lazyregexp.New(`(?i)^([a-z0-9-]+\.)+([a-z]{2,}|\d+)(:\d+)?(/|$)`)

// hostOf is the host of an address, with or without scheme, user, port and path.
func hostOf(text string) string {
	if _, after, ok := strings.Cut(text, "://"); ok {
		text = after
	}
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		text = text[:i]
	}
	text = strings.ToLower(text[strings.LastIndexByte(text, '@')+1:])
	if strings.HasPrefix(text, "::1") {
		return "::1"
	}
	if after, ok := strings.CutPrefix(text, "["); ok {
		text, _, _ = strings.Cut(after, "]")
		return text
	}
	text, _, _ = strings.Cut(text, ":")
	return text
}

// isLocal reports whether an address is this machine's.
func isLocal(text string) bool { return localHost.MatchString(hostOf(text)) }

// local reports whether a call talks to this very machine, or to a service next door
// whose name has no dot, and to no other.
func (c call) local() bool {
	local := false
	for _, a := range c.args {
		t := a.text
		host := hostOf(t)
		switch {
		case strings.HasPrefix(t, "-") || strings.HasPrefix(t, "@"):
		case isLocal(t), httpie.MatchString(t) && (c.name == "http" || c.name == "xh"):
			local = true
		case strings.Contains(t, "://") && (strings.ContainsAny(host, ".:") || strings.Contains(host, mark) || host == ""), hostLike.MatchString(t):
			return false
		case strings.Contains(t, "://"):
			local = true
		}
	}
	return local
}

// dumps says that a call prints secrets: the environment, a variable that holds
// one, or a file of credentials. What it says is the thing printed.
func dumps(c call) string {
	switch c.name {
	case "env", "printenv":
		if len(c.operands("-u -C")) == 0 {
			return "the environment"
		}
		if c.name == "printenv" && secretNames.MatchString(c.operands("")[0]) {
			return "a secret"
		}
	case "set":
		if len(c.args) == 0 {
			return "the environment"
		}
	case "export", "declare", "typeset":
		if len(c.operands("")) == 0 {
			return "the environment"
		}
	case "echo", "printf":
		for _, a := range c.args {
			if name := secretVariable(a.text); name != "" {
				return "$" + name
			}
		}
		return ""
	case "git", "ls", "stat", "test", "[", "[[", "touch", "rm", "mkdir", "chmod", "find", "ssh-keygen", "gitleaks", "grep", "ssh", "wc":
		// They print names and counts, or are asked about below.
		if c.name != "grep" {
			return ""
		}
	}
	for _, a := range c.args {
		if isCredential(a.text) || strings.HasPrefix(a.text, "if=") && isCredential(a.text[3:]) {
			return printable.Clean(unmark(a.text), 80)
		}
	}
	return c.readsCredential()
}

func (c call) readsCredential() string {
	for _, r := range c.redirects {
		if r.op == "<" && isCredential(r.target.text) {
			return printable.Clean(unmark(r.target.text), 80)
		}
		if (r.op == "<<<" || r.op == "<<") && secretVariable(r.target.text) != "" {
			return "$" + secretVariable(r.target.text)
		}
	}
	return ""
}

func sendsSecrets(s scene) string {
	network := isNetwork(s.name)
	for _, r := range s.redirects {
		if t := r.target.text; strings.HasPrefix(t, "/dev/tcp/") && !isLocal(t[len("/dev/tcp/"):]) {
			if what := dumps(s.call); what != "" {
				return "sends " + what + " to another machine"
			}
			network = true
		}
	}
	if s.name == "gh" && len(s.args) > 1 && s.args[0].text == "gist" {
		if i := slices.IndexFunc(s.args, func(a arg) bool { return isCredential(a.text) }); i >= 0 {
			return "publishes " + s.args[i].text
		}
		network = true
	}
	if !network || s.local() {
		return ""
	}
	what := ""
	print := func(c call) bool {
		what = dumps(c)
		return what != ""
	}
	if s.earlier(print) {
		return "sends " + what + " to another machine"
	}
	if what := s.readsCredential(); what != "" {
		return "sends " + what + " to another machine"
	}
	if s.substituted(s.args, print) {
		return "sends " + what + " to another machine"
	}
	if what := s.uploads(); what != "" {
		return "sends " + what + " to another machine"
	}
	return s.putsSecretInRequest()
}

// uploads is the credential file that a call is told to send.
func (s scene) uploads() string {
	switch s.name {
	case "curl":
		for i, a := range s.args {
			t := a.text
			before := ""
			if i > 0 {
				before = s.args[i-1].text
			}
			switch {
			case before == "-T" || before == "--upload-file":
			case strings.HasPrefix(t, "-T") && len(t) > 2:
				t = t[2:]
			case uploading.MatchString(before) && strings.ContainsAny(t, "@<"):
				t = t[strings.IndexAny(t, "@<")+1:]
			case strings.HasPrefix(t, "-d@") || strings.HasPrefix(t, "-F") || strings.HasPrefix(t, "--data") || strings.HasPrefix(t, "--form"):
				i := strings.IndexAny(t, "@<")
				if i < 0 {
					continue
				}
				t = t[i+1:]
			default:
				continue
			}
			t, _, _ = strings.Cut(t, ";")
			if isCredential(t) {
				return t
			}
		}
	case "wget":
		for _, a := range s.args {
			for _, option := range []string{"--post-file=", "--body-file="} {
				if t, ok := strings.CutPrefix(a.text, option); ok && isCredential(t) {
					return t
				}
			}
		}
	case "http", "https", "xh":
		for _, a := range s.args {
			if _, t, ok := strings.Cut(a.text, "@"); ok && isCredential(t) {
				return t
			}
		}
	case "scp", "rsync", "rclone", "sftp", "aws", "gsutil", "s3cmd", "croc", "wormhole", "mail", "mutt":
		all := s.operands("-i -F -o -P -e -S -l -c -J --rsh --exclude --profile --region -s")
		if len(all) > 0 && strings.Contains(all[0], ":") && s.name != "aws" {
			return "" // from there to here
		}
		for _, t := range all {
			if isCredential(t) {
				return t
			}
		}
		for i, a := range s.args {
			if a.text == "-a" && i+1 < len(s.args) && isCredential(s.args[i+1].text) {
				return s.args[i+1].text
			}
		}
	}
	return ""
}

// uploading matches curl's options whose value may be a file to send.
var uploading = lazyregexp.New(`^(-d|-F|--data(-binary|-raw|-urlencode|-ascii)?|--form|--json)$`)

// putsSecretInRequest finds a secret in an address, a body or a host name. In a
// header, or as a user's password, it is what programs are given tokens for.
func (s scene) putsSecretInRequest() string {
	skip := false
	for _, a := range s.args {
		if skip {
			skip = false
			continue
		}
		switch a.text {
		case "-H", "--header", "-u", "--user", "--oauth2-bearer", "-b", "--cookie", "-i", "-o", "--cert", "--key", "--pass", "--proxy-user", "-A":
			skip = true
			continue
		}
		if strings.HasPrefix(a.text, "-H") || strings.HasPrefix(a.text, "--header=") || strings.HasPrefix(a.text, "--http-passw") || strings.HasPrefix(a.text, "--password=") {
			continue
		}
		if s.name == "http" || s.name == "https" || s.name == "xh" {
			if i := strings.IndexByte(a.text, ':'); i > 0 && !strings.Contains(a.text, "://") {
				continue // a header
			}
		}
		if name := secretVariable(a.text); name != "" && s.name != "aws" && s.name != "ssh" {
			return "puts $" + name + " into an address, a body or a name, where others can read it"
		}
	}
	return ""
}
