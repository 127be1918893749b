// Package commands tells which programs the sandbox of a run cannot start, before anything is spent.
package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// Process runs a child in the sandbox.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Look is where programs are looked for.
type Look struct {
	Process   Process  // that starts children
	Dir       string   // of theirs
	Env       []string // of theirs
	Path      string   // PATH, as it is outside of the sandbox
	Sandboxed bool     // the sandbox is ours
	Local     bool     // the run was started on the command line
}

// Closed is a command of PATH that the sandbox cannot start, and this machine can.
type Closed struct {
	toolchain.Command
	File string // that is closed, links resolved
}

// Closed looks through PATH, but for the folders in without. whole is false if the time for
// that was over before it was done.
func (s Look) Closed(ctx context.Context, without string) (closed []Closed, whole bool) {
	ctx, cancel := context.WithTimeout(ctx, Time)
	defer cancel()
	commands := toolchain.Commands(s.Path, s.outsidePath, without)
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
		for _, file := range s.Unstartable(ctx, some) {
			shut[file] = true
		}
	}
	for _, c := range commands {
		i := slices.IndexFunc(c.Needs, func(file string) bool { return shut[file] })
		if i >= 0 && isProgram(c.Path) && isProgram(c.Needs[i]) {
			file := c.Needs[i]
			if real, err := filepath.EvalSymlinks(file); err == nil {
				file = real
			}
			closed = append(closed, Closed{c, file})
		}
	}
	return closed, ctx.Err() == nil
}

// Time bounds looking through PATH: thousands of commands take a tenth of it.
const Time = 2 * time.Second

const named = 10

// isProgram reports whether a file can be started outside of the sandbox.
func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// NameClosed says which commands of PATH the sandbox cannot start: all together, and those of
// guardrails and setup with what to do.
func (s Look) NameClosed(ctx context.Context, without string, checks config.Checks, say, warn func(string)) {
	closed, whole := s.Closed(ctx, without)
	if !whole && ctx.Err() == nil {
		say(fmt.Sprintf("Not all commands of PATH were looked at: that took longer than %s.", Time))
	}
	if len(closed) == 0 {
		return
	}
	var names []string
	of := map[string]Closed{}
	for _, c := range closed {
		names = append(names, c.Name)
		of[c.Name], of[c.Path] = c, c
	}
	more := ""
	if len(names) > named {
		names, more = names[:named], ", …"
	}
	say(fmt.Sprintf("The sandbox cannot start %d of the commands on PATH: %s%s (`ralph doctor --host` lists them, and why).", len(closed), strings.Join(names, ", "), more))
	name := func(what, command string) {
		if c, ok := of[guard.Program(command)]; ok {
			warn(fmt.Sprintf("%s %q may fail: %s", what, command, s.Kept(c.File)))
		}
	}
	for _, g := range checks.Guardrails {
		name("Guardrail", g.Command)
	}
	for _, command := range checks.Setup {
		name("Setup", command)
	}
}

// Missing looks whether the shell finds what guardrails start, where no baseline does: else each
// turn would be paid for that.
func (s Look) Missing(ctx context.Context, guardrails []config.Guardrail, warn func(string)) error {
	of := map[string]string{} // commands, by program
	var names []string
	for _, g := range guardrails {
		for _, p := range s.Launches(guard.Program(g.Command)) {
			if of[p] == "" {
				of[p] = g.Command
				names = append(names, p)
			}
		}
	}
	var wrong []ralph.Verdict
	for _, p := range s.Unstartable(ctx, names) {
		command, kept := of[p], s.Kept(p)
		switch {
		case command == "":
		case kept != "":
			wrong = append(wrong, ralph.Verdict{Command: command, Broken: true, ExitCode: guard.NotExecutable, Reason: kept})
		case s.Barred(p) != "":
			wrong = append(wrong, ralph.Verdict{Command: command, Broken: true, ExitCode: guard.NotExecutable, Reason: s.Barred(p)})
		case s.Unmade(p):
			warn(fmt.Sprintf("Guardrail %q: there is no program %s yet, so it fails until there is one.", command, p))
		default:
			wrong = append(wrong, ralph.Verdict{Command: command, Broken: true, Reason: "there is no program " + p})
		}
	}
	return guard.Broken(wrong, s.Local)
}

// Blame gives its reason to what could not be started because of the sandbox.
func (s Look) Blame(ctx context.Context, baseline []ralph.Verdict) {
	for i, v := range baseline {
		if !v.Broken {
			continue
		}
		for _, p := range s.Unstartable(ctx, s.Launches(guard.Program(v.Command))) {
			baseline[i].Reason = cmp.Or(s.Kept(p), s.Barred(p), v.Reason)
		}
	}
}

// Unstartable are those of the programs that a process does not find, or cannot read and so
// not start: a rule of Landlock does not show when one looks for them only. None when that
// cannot be told.
func (s Look) Unstartable(ctx context.Context, programs []string) []string {
	if len(programs) == 0 {
		return nil
	}
	const look = `for p do
	case $p in (*/*) f=$p; [ -x "$f" ];; (*) f=$(command -v -- "$p");; esac &&
	case $f in (/*) [ ! -r "$f" ] || { true <"$f"; } 2>/dev/null;; esac || printf '%s\n' "$p"
done`
	found := proc.Head{Max: 1 << 20}
	exit, err := s.Process.Run(ctx, proc.Command{
		Argv: append([]string{"sh", "-c", look, "sh"}, programs...), Dir: s.Dir, Env: s.Env, Stdout: &found, Limits: proc.Limits{Time: 10 * time.Second},
	})
	if err != nil || exit.Why != proc.Exited || exit.Code < 0 {
		return nil // what starts them will tell
	}
	return slices.DeleteFunc(strings.Split(found.String(), "\n"), func(p string) bool { return p == "" })
}

// Launches are a program and, in a sandbox, what else it starts: an interpreter, what a
// shim goes on as; none of "".
func (s Look) Launches(program string) []string {
	if program == "" {
		return nil
	}
	all := []string{program}
	if path, err := s.outsidePath(program); err == nil && s.Sandboxed && filepath.IsAbs(path) {
		if needs := toolchain.Needs(path, s.outsidePath); needs != nil {
			all = append(all, needs[1:]...)
		}
	}
	return all
}

// outsidePath is where a program is outside of the sandbox.
func (s Look) outsidePath(program string) (string, error) {
	return proc.LookPath(program, []string{"PATH=" + s.Path})
}

// Unmade reports whether a program is named by a path where nothing is yet and the agent can
// make it.
func (s Look) Unmade(program string) bool {
	if !strings.Contains(program, "/") {
		return false
	}
	_, err := os.Stat(s.path(program))
	below, _ := filepath.Rel(s.Dir, s.path(program))
	return errors.Is(err, fs.ErrNotExist) && (!s.Sandboxed || filepath.IsLocal(below))
}

func (s Look) path(program string) string {
	if filepath.IsAbs(program) {
		return program
	}
	return filepath.Join(s.Dir, program)
}

// Barred says that a program named by its path is a file that may not be executed, and what to
// do; empty if there is no such file.
func (s Look) Barred(program string) string {
	if !strings.Contains(program, "/") {
		return ""
	}
	if info, err := os.Stat(s.path(program)); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0o111 {
		return ""
	}
	name := filepath.Clean(program)
	instead := "name its interpreter in front of it"
	if filepath.Ext(name) == ".sh" {
		instead = "make the command: sh " + name
	}
	grant := "chmod +x " + name
	if !s.Local {
		grant = "git update-index --chmod=+x " + name + ", and commit that"
	}
	return fmt.Sprintf("%s is not executable: %s; or %s", program, grant, instead)
}

// Kept says that it is the sandbox that keeps a program from being started; empty if
// it is not there outside of it either.
func (s Look) Kept(program string) string {
	path, err := s.outsidePath(program)
	if err != nil || !s.Sandboxed || !filepath.IsAbs(path) {
		return ""
	}
	says := fmt.Sprintf("the sandbox cannot start %s: install it where every user can read it, such as below /usr/local", path)
	if s.Local {
		says += ", or do without the sandbox (" + ralph.Option(true, "isolation", string(config.IsolationOff)) + ")"
	}
	return says
}
