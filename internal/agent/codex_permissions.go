package agent

import (
	"strings"
)

// codexSandbox is the sandbox of codex's own that the user asks for, and where that
// stands; both are empty when the user leaves it to us. One that is not known is
// "other".
func codexSandbox(o Options) (sandbox, where string) {
	args := given(o, "codex")
	switch {
	case has(args, "-s", "--sandbox"):
		sandbox = value(args, "-s", "--sandbox")
		return sandbox, "--sandbox " + sandbox
	case has(args, "--approve-for-me"):
		return "other", "--approve-for-me"
	}
	overrides, _ := codexOverrides(o) // New has seen the error
	for i, arg := range args {
		switch _, joined, found := find(arg, []option{{names: []string{"-c", "--config"}, value: true}}); {
		case joined:
			overrides = append(overrides, arg[strings.IndexByte(arg, '=')+1:])
		case found && i+1 < len(args):
			overrides = append(overrides, args[i+1])
		}
	}
	for _, override := range overrides {
		if key, v, _ := strings.Cut(override, "="); strings.TrimSpace(key) == "sandbox_mode" {
			sandbox = strings.Trim(strings.TrimSpace(v), `"'`)
			where = "sandbox_mode " + sandbox
		}
	}
	return sandbox, where
}

// cautions tell of a sandbox of the user's.
func (codex) cautions(o Options) []string {
	const nested = " Where codex cannot set it up, as in many containers and inside of ralph's isolation, its commands fail."
	switch sandbox, where := codexSandbox(o); sandbox {
	case "read-only":
		return []string{"codex: " + where + " holds: codex cannot change a file." + nested}
	case "workspace-write":
		return []string{"codex: " + where + " holds: codex can neither write to .git nor reach the network, so it cannot commit or install anything." + nested}
	}
	return nil
}

func (codex) unasked(o Options) bool {
	sandbox, _ := codexSandbox(o)
	return sandbox == "danger-full-access"
}
