package codex

import (
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

// sandboxOf is the sandbox of codex's own that the user asks for, and where that
// stands; both are empty when the user leaves it to us. One that is not known is
// "other".
func sandboxOf(o driver.Options) (sandbox, where string) {
	args := driver.Given(o, "codex")
	switch {
	case driver.Has(args, "-s", "--sandbox"):
		sandbox = driver.Value(args, "-s", "--sandbox")
		return sandbox, "--sandbox " + sandbox
	case driver.Has(args, "--approve-for-me"):
		return "other", "--approve-for-me"
	}
	overrides, _ := overridesOf(o) // New has seen the error
	for i, arg := range args {
		switch _, joined, found := driver.FindOption(arg, []driver.Option{{Names: []string{"-c", "--config"}, Value: true}}); {
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

// Cautions tell of a sandbox of the user's.
func (Driver) Cautions(o driver.Options) []string {
	const nested = " Where codex cannot set it up, as in many containers and inside of ralph's isolation, its commands fail."
	switch sandbox, where := sandboxOf(o); sandbox {
	case "read-only":
		return []string{"codex: " + where + " holds: codex cannot change a file." + nested}
	case "workspace-write":
		return []string{"codex: " + where + " holds: codex can neither write to .git nor reach the network, so it cannot commit or install anything." + nested}
	}
	return nil
}

// Unasked reports whether the options let the CLI act without asking.
func (Driver) Unasked(o driver.Options) bool {
	sandbox, _ := sandboxOf(o)
	return sandbox == "danger-full-access"
}
