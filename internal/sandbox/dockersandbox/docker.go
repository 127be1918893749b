package dockersandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	stdoutBytes = 1 << 20 // of an answer, from its beginning: a list of sandboxes
	stderrBytes = 4 << 10 // of it, from its end: what went wrong
)

// cli is one of the two command lines that Docker has had for its sandboxes.
type cli string

const (
	sbx    cli = "sbx"            // a program of its own, since 2026
	plugin cli = "docker sandbox" // of Docker Desktop 4.58 and later, until it was removed
)

func (c cli) argv(args ...string) []string { return append(strings.Fields(string(c)), args...) }

func (c cli) program() string { return c.argv()[0] }

// name is what the sandbox of a project is called. sbx allows no underscore.
func (c cli) name(project string) string {
	if c == sbx {
		return strings.ReplaceAll(Name(project), "_", "-")
	}
	return Name(project)
}

// remove deletes a sandbox without a question.
func (c cli) remove(name string) []string {
	if c == sbx {
		return []string{"rm", "--force", name}
	}
	return []string{"rm", name}
}

// restart says what helps a program that does not answer.
func (c cli) restart() string {
	if c == sbx {
		return "run: sbx daemon restart"
	}
	return "start Docker Desktop, or restart it"
}

// call is one command of the cli.
type call struct {
	args   []string // after the program's own
	within time.Duration
	stdin  io.Reader // nil: empty
}

// answer is what docker said to it, bounded.
type answer struct {
	exit           proc.Exit
	stdout, stderr string
}

// said is the end of what docker told people: most is on stderr.
func (a answer) said() string {
	if strings.TrimSpace(a.stderr) != "" {
		return a.stderr
	}
	return a.stdout[max(0, len(a.stdout)-stderrBytes):]
}

// ask runs docker in the project. The error is the context's, or docker could
// not be started.
func (v *VM) ask(ctx context.Context, c call) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	stdout, stderr := &head{limit: stdoutBytes}, &tail{limit: stderrBytes}
	exit, err := v.o.Process.Run(ctx, proc.Command{
		Argv: v.cli.argv(c.args...),
		Dir:  v.o.Project, Env: v.o.Env, Stdin: c.stdin, Stdout: stdout, Stderr: stderr,
		Limits: proc.Limits{Time: c.within},
	})
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err != nil:
		return answer{}, fmt.Errorf("%s %s: %w", v.cli, c.args[0], err)
	}
	return answer{exit: exit, stdout: string(stdout.bytes), stderr: string(stderr.bytes)}, nil
}

// do is ask for a command that has to succeed; otherwise the error is a
// *refusal or one of ask's.
func (v *VM) do(ctx context.Context, c call) error {
	a, err := v.ask(ctx, c)
	if err != nil {
		return err
	}
	if a.exit.Why != proc.Exited || a.exit.Code != 0 {
		return &refusal{answer: a, cli: v.cli, command: c.args[0], vm: v.Name(), within: c.within}
	}
	return nil
}

// list finds the command line that answers, and reports whether it knows a sandbox with
// our name; why says why there is none.
func (v *VM) list(ctx context.Context) (known bool, why string, err error) {
	reason := ""
	for _, v.cli = range []cli{sbx, plugin} {
		program := v.cli.program()
		if _, err := proc.LookPath(program, v.o.Env); errors.Is(err, fs.ErrPermission) {
			why = "the " + program + " on PATH may not be executed; " + remedy
		} else if err != nil {
			continue
		} else if known, why, err = v.look(ctx); err != nil || why == "" {
			return known, "", err
		}
		reason = cmp.Or(reason, why)
	}
	return false, cmp.Or(reason, "there is no sbx and no docker on PATH; "+remedy), nil
}

// look is list for one command line.
func (v *VM) look(ctx context.Context) (known bool, why string, err error) {
	a, err := v.ask(ctx, call{within: lookTime, args: []string{"ls"}})
	if failed := (*proc.StartError)(nil); errors.As(err, &failed) {
		return false, v.cli.program() + " cannot be started: " + quote(failed.Error()) + "; " + remedy, nil
	} else if err != nil {
		return false, "", err
	}
	if why := v.cli.obstacle(a); why != "" {
		return false, why, nil
	}
	// The columns differ between versions and the name is in one of them, whole:
	// only paths and identities are ever shortened, and names have no spaces.
	return slices.Contains(strings.Fields(a.stdout), v.Name()), "", nil
}

// remedy ends every reason why there is no sandbox.
const remedy = "sbx is needed (https://docs.docker.com/ai/sandboxes), or a Docker Desktop with the `docker sandbox` command (4.58 or later)"

// obstacle is why `ls` shows that sandboxes cannot be used, or "". Both command lines
// tell their reasons by text alone: exit code 1 is for all of them. The texts are those
// of docker 20.10 and 28, of Docker Desktop 4.50 to 4.65, and of sbx 0.23 to 0.43.
func (c cli) obstacle(a answer) string {
	said := a.said()
	has := func(texts ...string) bool { return containsAny(said+a.stdout, texts...) }
	done := a.exit.Why == proc.Exited && a.exit.Code == 0
	switch {
	case !done && c == sbx && has("not authenticated to docker", "please sign in", "no valid user session"):
		return "sbx is not signed in to Docker; run: sbx login"
	case a.exit.Why == proc.TimedOut:
		return fmt.Sprintf("%s did not answer within %v; %s", c.program(), lookTime, c.restart())
	case done && c == plugin && strings.HasPrefix(strings.TrimSpace(a.stdout), "SANDBOX ID"): // before 4.58
		return "this Docker Desktop is too old: its sandboxes are containers; " + remedy
	case done:
		return ""
	case c == sbx:
	case has("unknown command", "is not a docker command"):
		return "this docker has no `sandbox` command; " + remedy
	case has("feature is not available", "feature is disabled", "beta features", "experimental features"):
		return "Docker Desktop has sandboxes switched off; enable beta features and Docker AI in its settings, then restart it. It said: " + quote(said)
	case has("cannot connect to the docker daemon", "connection refused", "is the docker daemon running", "dial unix", "docker desktop is not running"):
		return "the Docker daemon does not answer; start Docker Desktop. It said: " + quote(said)
	}
	return fmt.Sprintf("`%s ls` failed (%s); %s. It said: %s", c, ending(a.exit, lookTime), remedy, quote(said))
}

// containsAny reports whether a text contains one of the others, whatever its case.
func containsAny(text string, others ...string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(others, func(other string) bool { return strings.Contains(lower, other) })
}

// refusal is a command that did not do what it was told.
type refusal struct {
	answer
	cli     cli
	command string
	vm      string
	within  time.Duration
}

func (r *refusal) Error() string {
	said := r.said()
	text := fmt.Sprintf("%s %s %s failed (%s): %s", r.cli, r.command, r.vm, ending(r.exit, r.within), quote(said))
	switch {
	case r.exit.Why == proc.TimedOut:
		text += "; " + r.cli.restart()
	case strings.Contains(said, "bind: invalid argument"):
		// docker/desktop-feedback#208: a socket below ~/.docker/sandboxes/vm/NAME.
		text += "; the name comes from the project's path and may be too long for docker, a project with a shorter path would do"
	case strings.Contains(said, "network policy has not been initialized"):
		text += "; run once: sbx policy init balanced"
	case strings.Contains(said, "unknown flag: --name"):
		text += "; " + remedy
	}
	return text
}

// alreadyStopped goes by the program's words: no exit code tells it.
func (r *refusal) alreadyStopped() bool {
	return r.exit.Why == proc.Exited && containsAny(r.said(), "not running", "already stopped") && !containsAny(r.said(), "daemon", "docker desktop")
}

func ending(e proc.Exit, within time.Duration) string {
	switch {
	case e.Why == proc.TimedOut:
		return fmt.Sprintf("not done within %v", within)
	case e.Why != proc.Exited:
		return e.Why.String()
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal %d", int(e.Signal))
	}
	return fmt.Sprintf("exit code %d", e.Code)
}
