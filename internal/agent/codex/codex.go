// Package codex drives OpenAI Codex.
package codex

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is OpenAI Codex, @openai/codex 0.169.
type Driver struct{ driver.Base }

// Argv asks for one unattended turn with a JSON stream. One switch turns off
// approvals and codex's own sandbox, whatever its configuration says: what the
// agent may touch is decided by the sandbox. It gives way to a sandbox the user
// asked for. Analytics delay the exit by five seconds where there is no network.
// The prompt is text on stdin: the name of a file as argument would be the
// prompt itself.
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{{Names: []string{"--json", "--experimental-json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--yolo"}}}
	if o.Plain {
		ours = append(ours, driver.Option{Names: []string{"-o", "--output-last-message"}, Value: true})
	}
	argv, args := driver.Program(o, "codex", ours...), driver.Strip(o.Args, ours...)
	if len(argv) > 1 && isExec(argv[len(argv)-1]) {
		argv = argv[:len(argv)-1]
	}
	if len(args) > 0 && isExec(args[0]) {
		args = args[1:]
	}
	if n := len(args); n > 0 && args[n-1] == "-" {
		args = args[:n-1]
	}
	argv = append(argv, "exec")
	if !o.Plain {
		argv = append(argv, "--json")
	}
	if _, chosen := sandboxOf(o); chosen == "" {
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	}
	argv = append(argv, "--skip-git-repo-check", "-c", "analytics.enabled=false")
	overrides, _ := overridesOf(o) // New has seen the error
	for _, value := range overrides {
		argv = append(argv, "-c", value)
	}
	argv = append(driver.AddOption(argv, args, o.Model, "-m", "--model"), args...)
	if o.Plain && o.Turn.Answer.Path != "" {
		argv = append(argv, "-o", o.Turn.Answer.Path)
	}
	return Driver{}.Resume(append(argv, "-"), 0, p.Resume)
}

// Resume puts the subcommand behind the options of exec, because resume has
// fewer of its own; those it has are the same to codex in either place.
func (Driver) Resume(argv []string, _ int, session string) []string {
	own := func(arg string) bool { return slices.Contains([]string{"resume", "fork"}, arg) }
	if session == "" || !slices.ContainsFunc(argv, isExec) || slices.ContainsFunc(argv, own) {
		return argv
	}
	if n := len(argv); argv[n-1] == "-" {
		argv = argv[:n-1]
	}
	return append(argv, "resume", session, "-")
}

func isExec(arg string) bool { return arg == "exec" || arg == "e" }

// Environ gives codex the key under the name it reads unattended; the usual
// name is for its login only. A login of its own is left alone.
func (Driver) Environ(o driver.Options) []string {
	env := driver.Without(o.Env, "CLAUDECODE")
	if key := driver.Lookup(env, "OPENAI_API_KEY"); key != "" && driver.Lookup(env, "CODEX_API_KEY") == "" &&
		driver.Lookup(env, "CODEX_ACCESS_TOKEN") == "" && !driver.Holds(homeOf(o), "auth.json") {
		env = driver.Set(env, "CODEX_API_KEY", key)
	}
	if !o.Exact {
		servers, _ := serversOf(o) // New has seen the error
		env = append(env, servers.env...)
	}
	return env
}

// homeOf is the directory codex keeps its configuration and its login in.
func homeOf(o driver.Options) string { return driver.ConfigDir(o, "CODEX_HOME", ".codex") }

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(o driver.Options) driver.Ways {
	return driver.Ways{Answer: true, Logged: true, Totals: true, System: !o.Exact}
}

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := newDecoder(emit, finished)
	d.Attach(o, driver.HintsOf(o, keyVariable(o)))
	return d
}

// Modern replaces --full-auto, which is gone in 0.169.
func (Driver) Modern(args []string) (modern, warnings []string) {
	if len(args) > 0 && args[0] == "e" {
		args[0] = "exec"
	}
	fullAuto := driver.Option{Names: []string{"--full-auto"}}
	i := driver.Index(args, fullAuto)
	switch {
	case i < 0:
		return args, nil
	case driver.Has(args, "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-s", "--sandbox", "--approve-for-me"):
		return driver.Strip(args, fullAuto), []string{"codex: --full-auto is left out: today's CLI does not know it, and the other arguments say what the agent may do"}
	}
	return slices.Concat(args[:i:i], []string{"--sandbox", "workspace-write"}, driver.Strip(args[i:], fullAuto)),
		[]string{"codex: --sandbox workspace-write is used for --full-auto, which today's CLI does not know and which meant the same"}
}

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
