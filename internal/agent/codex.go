package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// codex is OpenAI Codex, @openai/codex 0.169.
type codex struct{ base }

// argv asks for one unattended turn with a JSON stream. One switch turns off
// approvals and codex's own sandbox, whatever its configuration says: what the
// agent may touch is decided by our walls. It gives way to a sandbox the user
// asked for. Analytics delay the exit by five seconds where there is no network.
// The prompt is text on stdin: the name of a file as argument would be the
// prompt itself.
func (codex) argv(o Options, p ralph.Prompt) []string {
	ours := []option{{names: []string{"--json", "--experimental-json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--yolo"}}}
	if o.Plain {
		ours = append(ours, option{names: []string{"-o", "--output-last-message"}, value: true})
	}
	argv, args := program(o, "codex", ours...), strip(o.Args, ours...)
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
	if _, chosen := codexSandbox(o); chosen == "" {
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	}
	argv = append(argv, "--skip-git-repo-check", "-c", "analytics.enabled=false")
	overrides, _ := codexOverrides(o) // New has seen the error
	for _, value := range overrides {
		argv = append(argv, "-c", value)
	}
	if o.Model != "" && !has(args, "-m", "--model") {
		argv = append(argv, "-m", o.Model)
	}
	argv = append(argv, args...)
	if o.Plain && o.answer.path != "" {
		argv = append(argv, "-o", o.answer.path)
	}
	return codex{}.resumed(append(argv, "-"), 0, p.Resume)
}

// resumed puts the subcommand behind the options of exec, because resume has
// fewer of its own; those it has are the same to codex in either place.
func (codex) resumed(argv []string, _ int, session string) []string {
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

// environ gives codex the key under the name it reads unattended; the usual
// name is for its login only. A login of its own is left alone.
func (codex) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE")
	if key := lookup(env, "OPENAI_API_KEY"); key != "" && lookup(env, "CODEX_API_KEY") == "" &&
		lookup(env, "CODEX_ACCESS_TOKEN") == "" && !holds(codexHome(o), "auth.json") {
		env = append(without(env, "CODEX_API_KEY"), "CODEX_API_KEY="+key)
	}
	if !o.Exact {
		servers, _ := codexServers(o) // New has seen the error
		env = append(env, servers.env...)
	}
	return env
}

// codexHome is the folder codex keeps its configuration and its login in.
func codexHome(o Options) string {
	if dir := lookup(o.Env, "CODEX_HOME"); dir != "" {
		return dir
	}
	return inHome(o, ".codex")
}

func (codex) ways(o Options) ways {
	return ways{answer: true, logged: true, totals: true, system: !o.Exact}
}

func (codex) decoder(o Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newCodexDecoder(emit, finished)
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hintsOf(o, codexKey(o))
	return d
}

// hasKey says that one of the agent's keys is set.
func hasKey(o Options, name string) bool {
	return slices.ContainsFunc(catalog.Of(name).Keys(), func(name string) bool { return lookup(o.Env, name) != "" })
}

// inHome is a path below the child's home; empty when it has none.
func inHome(o Options, path ...string) string {
	home := lookup(o.Env, "HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, path...)...)
}

// holds says that one of the files is in the folder, or that nobody but the CLI
// can tell.
func holds(dir string, files ...string) bool {
	if dir == "" {
		return false
	}
	return slices.ContainsFunc(files, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// modern replaces --full-auto, which is gone in 0.169.
func (codex) modern(args []string) (modern, warnings []string) {
	if len(args) > 0 && args[0] == "e" {
		args[0] = "exec"
	}
	fullAuto := option{names: []string{"--full-auto"}}
	i := index(args, fullAuto)
	switch {
	case i < 0:
		return args, nil
	case has(args, "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-s", "--sandbox", "--approve-for-me"):
		return strip(args, fullAuto), []string{"codex: --full-auto is left out: today's CLI does not know it, and the other arguments say what the agent may do"}
	}
	return slices.Concat(args[:i:i], []string{"--sandbox", "workspace-write"}, strip(args[i:], fullAuto)),
		[]string{"codex: --sandbox workspace-write is used for --full-auto, which today's CLI does not know and which meant the same"}
}
