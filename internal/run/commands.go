package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// closedCommand is a command of PATH that the sandbox cannot start, and this machine can.
type closedCommand struct {
	toolchain.Command
	file string // that is closed, links resolved
}

// closedCommands looks through PATH as it is before setup. whole is false if the time for
// that was over before it was done.
func (s *sandboxed) closedCommands(ctx context.Context) (closed []closedCommand, whole bool) {
	ctx, cancel := context.WithTimeout(ctx, commandsTime)
	defer cancel()
	commands := toolchain.Commands(s.getenv("PATH"), s.outsidePath, s.Workspace)
	var files []string
	seen := map[string]bool{}
	for _, c := range commands {
		for _, file := range c.Needs {
			if !seen[file] {
				seen[file] = true
				files = append(files, file)
			}
		}
	}
	shut := map[string]bool{}
	for some := range slices.Chunk(files, 2000) { // a command line has a limit
		for _, file := range s.unstartable(ctx, s.process(), some) {
			shut[file] = true
		}
	}
	for _, c := range commands {
		i := slices.IndexFunc(c.Needs, func(file string) bool { return shut[file] })
		if i >= 0 && isProgram(c.Path) && isProgram(c.Needs[i]) {
			closed = append(closed, closedCommand{c, realPath(c.Needs[i])})
		}
	}
	return closed, ctx.Err() == nil
}

const (
	commandsTime  = 2 * time.Second // thousands take a tenth of that
	commandsNamed = 10
)

// isProgram reports whether a file can be started outside of the sandbox.
func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// nameClosed says, before anything is spent, which commands of PATH the sandbox cannot
// start: all together, and those of guardrails and setup with what to do.
func (s *sandboxed) nameClosed(ctx context.Context) {
	if !s.sandboxes() || s.box != nil {
		return
	}
	closed, whole := s.closedCommands(ctx)
	if !whole && ctx.Err() == nil {
		s.rec.out.Say(fmt.Sprintf("Not all commands of PATH were looked at: that took longer than %s.", commandsTime))
	}
	if len(closed) == 0 {
		return
	}
	var names []string
	of := map[string]closedCommand{}
	for _, c := range closed {
		names = append(names, c.Name)
		of[c.Name], of[c.Path] = c, c
	}
	more := ""
	if len(names) > commandsNamed {
		names, more = names[:commandsNamed], ", …"
	}
	s.rec.out.Say(fmt.Sprintf("The sandbox cannot start %d of the commands on PATH: %s%s (`ralph doctor --host` lists them, and why).", len(closed), strings.Join(names, ", "), more))
	name := func(what, command string) {
		if c, ok := of[guard.Program(command)]; ok {
			s.rec.warn(fmt.Sprintf("%s %q may fail: %s", what, command, s.keptFrom(c.file)))
		}
	}
	for _, g := range s.checks {
		name("Guardrail", g.Command)
	}
	for _, command := range s.cfg.Checks.Setup {
		name("Setup", command)
	}
}

// lookForPrograms looks whether the shell finds what the guardrails start, where no
// baseline does: else each turn would be paid for that. A path is what the agent may be
// asked to make.
func (w *work) lookForPrograms(ctx context.Context) error {
	of := map[string]string{} // commands, by program
	var names []string
	for _, g := range w.checks {
		for _, p := range w.launches(guard.Program(g.Command)) {
			if of[p] == "" {
				of[p] = g.Command
				names = append(names, p)
			}
		}
	}
	var wrong []ralph.Verdict
	for _, p := range w.unstartable(ctx, w.afterSetup(), names) {
		command, kept := of[p], w.keptFrom(p)
		switch {
		case command == "":
		case kept != "":
			wrong = append(wrong, ralph.Verdict{Command: command, Broken: true, Reason: kept})
		case strings.Contains(p, "/"):
			w.rec.warn(fmt.Sprintf("Guardrail %q: there is no program %s yet, so it fails until there is one.", command, p))
		default:
			wrong = append(wrong, ralph.Verdict{Command: command, Broken: true, Reason: "there is no program " + p})
		}
	}
	return guard.Broken(wrong)
}

// unstartable are those of the programs that a process does not find, or cannot read and so
// not start: a rule of Landlock does not show when one looks for them only. None when that
// cannot be told.
func (s *sandboxed) unstartable(ctx context.Context, process dockersandbox.Process, programs []string) []string {
	if len(programs) == 0 {
		return nil
	}
	const look = `for p do
	case $p in (/*) f=$p; [ -x "$f" ];; (*) f=$(command -v -- "$p");; esac &&
	case $f in (/*) [ ! -r "$f" ] || { true <"$f"; } 2>/dev/null;; esac || printf '%s\n' "$p"
done`
	found := proc.Head{Max: 1 << 20}
	exit, err := process.Run(ctx, proc.Command{
		Argv: append([]string{"sh", "-c", look, "sh"}, programs...), Dir: s.dir(), Env: s.sandboxEnv(nil), Stdout: &found, Limits: proc.Limits{Time: gitLeast},
	})
	if err != nil || exit.Why != proc.Exited || exit.Code < 0 {
		return nil // what starts them will tell
	}
	return slices.DeleteFunc(strings.Split(found.String(), "\n"), func(p string) bool { return p == "" })
}

// launches are a program and, in a sandbox, what else it starts: an interpreter, what a
// shim goes on as; none of "".
func (s *sandboxed) launches(program string) []string {
	if program == "" {
		return nil
	}
	all := []string{program}
	if path, err := s.outsidePath(program); err == nil && s.sandboxes() && filepath.IsAbs(path) {
		if needs := toolchain.Needs(path, s.outsidePath); needs != nil {
			all = append(all, needs[1:]...)
		}
	}
	return all
}

// outsidePath is where a program is outside of the sandbox.
func (s *sandboxed) outsidePath(program string) (string, error) {
	return proc.LookPath(program, []string{"PATH=" + s.path()})
}

// keptFrom says that it is the sandbox that keeps a program from being started; empty if
// it is not there outside of it either.
func (s *sandboxed) keptFrom(program string) string {
	path, err := s.outsidePath(program)
	if err != nil || !s.sandboxes() || !filepath.IsAbs(path) {
		return ""
	}
	says := fmt.Sprintf("the sandbox cannot start %s: install it where every user can read it, such as below /usr/local", path)
	if s.local() {
		says += ", or do without the sandbox (" + ralph.Option(true, "isolation", string(config.IsolationOff)) + ")"
	}
	return says
}
