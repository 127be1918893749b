package shellguard

import (
	"slices"
	"strings"
)

// rule finds one kind of command; check returns why it must not run.
type rule struct {
	kind  string
	check func(scene) string
}

// wordRule refuses commands that their own words give away: one of the programs,
// one of the beginnings of its operands (behind "…": of any of them), one of the
// options. An empty column admits everything.
type wordRule struct{ kind, programs, operands, options, why string }

const (
	infrastructure = "terraform tofu pulumi cdk serverless sls terragrunt"
	// valued are the options of programs for what other people use that take the next
	// word, and valuedHere those of all others, where another one is one without a value.
	valued     = "-n --namespace --context --region --profile --project -p -h -U -u -P -t -C -c"
	valuedHere = "-t"
)

func wordRules() []wordRule {
	return []wordRule{
		{kindPrivilege, "nsenter", "", "", "leaves the container"},
		{kindHistory, "git", "filter-branch|filter-repo", "", "rewrites every commit"},
		{kindHistory, "git", "reflog expire|reflog delete", "", "deletes the record that lost commits are found by"},
		{kindHistory, "git", "stash clear", "", "deletes every stash"},
		{kindHistory, "git", "update-ref", "-d", "deletes a branch without asking whether it was merged"},
		{kindRemote, "gh glab hub", "repo delete|repo archive|secret delete|project delete", "", "deletes or closes something on the forge"},
		{kindRemote, infrastructure, "destroy", "", "destroys infrastructure"},
		{kindRemote, infrastructure, "apply", "-destroy", "destroys infrastructure"},
		{kindRemote, "tofu pulumi cdk serverless sls terragrunt", "remove", "", "destroys infrastructure"},
		{kindRemote, "kubectl oc", "delete", "--all", "deletes a part of a cluster with everything in it"},
		{kindRemote, "kubectl oc", "delete namespace|delete namespaces|delete ns|delete pv|delete pvc|delete crd|delete node|delete nodes|delete all", "", "deletes a part of a cluster with everything in it"},
		{kindRemote, "aws", "s3 rb", "", "deletes stored data or machines"},
		{kindRemote, "aws", "s3 rm", "--recursive", "deletes stored data or machines"},
		{kindRemote, "gsutil", "rb", "", "deletes stored data"},
		{kindRemote, "gsutil", "rm", "-r", "deletes stored data"},
		{kindRemote, "npm pnpm yarn cargo", "unpublish|yank", "", "takes a published package away"},
		{kindMachine, "reboot halt poweroff", "", "", "stops the machine"},
		{kindMachine, "init telinit", "0|6", "", "stops the machine"},
		{kindMachine, "systemctl loginctl", "poweroff|reboot|halt|kexec|suspend|hibernate|rescue|emergency", "", "stops the machine"},
		{kindProcesses, "killall5", "", "", "ends every process"},
		{kindFirewall, "iptables ip6tables ebtables arptables", "", "-F --flush -X --delete-chain -Z -D --delete", "takes rules out of the firewall"},
		{kindFirewall, "nft", "flush|delete|destroy", "", "takes rules out of the firewall"},
		{kindFirewall, "ufw", "disable|reset", "", "turns the firewall off"},
		{kindFirewall, "pfctl", "", "-d -F", "turns the firewall off"},
		{kindFirewall, "setenforce", "0|permissive", "", "turns SELinux off"},
		{kindFirewall, "ip", "…route flush|…route del default|…addr flush", "", "cuts the machine off the network"},
		{kindProcessSecrets, "gcore procdump", "", "", readsMemory},
		{kindProcessSecrets, "gdb", "", "-p --pid", readsMemory},
		{kindUpload, "git", "send-email", "", "mails commits"},
	}
}

// check reports why the command must not run.
func (r wordRule) check(s scene) string {
	if !slices.Contains(strings.Fields(r.programs), s.name) {
		return ""
	}
	if r.operands != "" {
		words := " " + strings.ToLower(strings.Join(r.words(s.call), " ")) + " "
		if !slices.ContainsFunc(strings.Split(r.operands, "|"), func(begin string) bool {
			if anywhere, ok := strings.CutPrefix(begin, "…"); ok {
				return strings.Contains(words, " "+anywhere+" ")
			}
			return strings.HasPrefix(words, " "+begin+" ")
		}) {
			return ""
		}
	}
	if r.options != "" && !slices.ContainsFunc(strings.Fields(r.options), s.option) {
		return ""
	}
	return r.why
}

// words are the operands of a call; of git, its command and what that is told.
func (r wordRule) words(c call) []string {
	switch {
	case c.name == "git":
		g := gitOf(c)
		return append([]string{g.name}, g.operands("")...)
	case r.kind == kindRemote:
		return c.operands(valued)
	}
	return c.operands(valuedHere)
}

// option reports whether an option is given: a long one, or a letter alone or
// among others.
func (c call) option(name string) bool {
	if len(name) == 2 {
		return c.has(name[1], "")
	}
	return c.has(0, name)
}

// has looks for a short option, alone or among others, and for a long one.
func (c call) has(short byte, long string) bool {
	for _, a := range c.args {
		t := a.text
		if t == "--" {
			return false
		}
		if long != "" && (t == long || len(t) > 4 && strings.HasPrefix(long, t) && strings.HasPrefix(t, "--")) {
			return true
		}
		if short != 0 && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.IndexByte(t, short) > 0 {
			return true
		}
	}
	return false
}

// operands are the arguments that are no options; valued lists the options
// that take the next word.
func (c call) operands(valued string) []string {
	var out []string
	options, skip := true, false
	for _, a := range c.args {
		switch t := a.text; {
		case skip:
			skip = false
		case options && t == "--":
			options = false
		case options && len(t) > 1 && t[0] == '-':
			skip = slices.Contains(strings.Fields(valued), t)
		default:
			out = append(out, t)
		}
	}
	return out
}

// is reports whether the program is one of the names.
func (c call) is(names ...string) bool { return slices.Contains(names, c.name) }

// written are the files that a call writes into, as far as can be told.
func (c call) written() []string {
	var out []string
	for _, r := range c.redirects {
		if strings.Contains(r.op, ">") {
			out = append(out, r.target.text)
		}
	}
	switch all := c.operands("-t -m -o -g -e -S"); c.name {
	case "tee":
		out = append(out, all...)
	case "cp", "mv", "ln", "install", "rsync":
		if len(all) > 1 {
			out = append(out, all[len(all)-1])
		}
	case "sed", "perl":
		if c.has('i', "--in-place") {
			out = append(out, all...)
		}
	case "dd":
		for _, a := range c.args {
			if to, ok := strings.CutPrefix(a.text, "of="); ok {
				out = append(out, to)
			}
		}
	}
	return out
}

// writes is the first file that a call writes into and that matches; empty: none.
func (c call) writes(match func(string) bool) string {
	for _, f := range c.written() {
		if match(f) {
			return f
		}
	}
	return ""
}

// earlier reports whether a call of an earlier stage of the pipeline matches.
func (s scene) earlier(match func(call) bool) bool {
	return slices.ContainsFunc(s.pipe[:s.stage], func(stage []call) bool { return slices.ContainsFunc(stage, match) })
}

// substituted reports whether a call matches that is run to expand an argument.
func (s scene) substituted(args []arg, match func(call) bool) bool {
	return slices.ContainsFunc(args, func(a arg) bool { return s.walk.any(a.subs, s.cwd, match) })
}
