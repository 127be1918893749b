package dockersandbox

import (
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

// call is one `docker sandbox` command.
type call struct {
	args   []string // after `docker sandbox`
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
		Argv: slices.Concat([]string{"docker", "sandbox"}, c.args),
		Dir:  v.o.Project, Env: v.o.Env, Stdin: c.stdin, Stdout: stdout, Stderr: stderr,
		Limits: proc.Limits{Time: c.within},
	})
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err != nil:
		return answer{}, fmt.Errorf("docker sandbox %s: %w", c.args[0], err)
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
		return &refusal{answer: a, command: "docker sandbox " + c.args[0], vm: v.name, within: c.within}
	}
	return nil
}

// list says whether docker knows a sandbox with our name, or why it cannot be
// asked.
func (v *VM) list(ctx context.Context) (known bool, why string, err error) {
	if _, err := proc.LookPath("docker", v.o.Env); errors.Is(err, fs.ErrPermission) {
		return false, "the docker on PATH may not be executed; " + remedy, nil
	} else if err != nil {
		return false, "there is no docker on PATH; " + remedy, nil
	}
	c := call{within: lookTime, args: []string{"ls"}}
	a, err := v.ask(ctx, c)
	if failed := (*proc.StartError)(nil); errors.As(err, &failed) {
		return false, "docker cannot be started: " + quote(failed.Error()) + "; " + remedy, nil
	} else if err != nil {
		return false, "", err
	}
	if why := obstacle(a); why != "" {
		return false, why, nil
	}
	// The columns differ between versions and the name is in one of them, whole:
	// only paths and identities are ever shortened, and names have no spaces.
	return slices.Contains(strings.Fields(a.stdout), v.name), "", nil
}

// remedy ends every reason why there is no sandbox.
const remedy = "a Docker Desktop with the `docker sandbox` command is needed (4.58 or later; releases with only sbx are not supported)"

// obstacle is why `docker sandbox ls` shows that sandboxes cannot be used, or "".
// docker tells its reasons by text alone: exit code 1 is for all of them. The
// texts are those of docker 20.10 and 28, and of Docker Desktop 4.50 to 4.65.
func obstacle(a answer) string {
	said := a.said()
	lower := strings.ToLower(said)
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(lower, text) })
	}
	switch {
	case a.exit.Why == proc.TimedOut:
		return fmt.Sprintf("docker did not answer within %v; start Docker Desktop, or restart it", lookTime)
	case a.exit.Why == proc.Exited && a.exit.Code == 0:
		// The table of containers, before 4.58.
		if title, _, _ := strings.Cut(strings.TrimSpace(a.stdout), "\n"); strings.HasPrefix(title, "SANDBOX ID") {
			return "this Docker Desktop is too old: its sandboxes are containers; " + remedy
		}
		return ""
	case has("unknown command", "is not a docker command"):
		return "this docker has no `sandbox` command; " + remedy
	case has("feature is not available", "feature is disabled", "beta features", "experimental features"):
		return "Docker Desktop has sandboxes switched off; enable beta features and Docker AI in its settings, then restart it. It said: " + quote(said)
	case has("cannot connect to the docker daemon", "connection refused", "is the docker daemon running", "dial unix", "docker desktop is not running"):
		return "the Docker daemon does not answer; start Docker Desktop. It said: " + quote(said)
	}
	return fmt.Sprintf("`docker sandbox ls` failed (%s); %s. It said: %s", ending(a.exit, lookTime), remedy, quote(said))
}

// refusal is a docker command that did not do what it was told.
type refusal struct {
	answer
	command string
	vm      string
	within  time.Duration
}

func (r *refusal) Error() string {
	said := r.said()
	text := fmt.Sprintf("%s %s failed (%s): %s", r.command, r.vm, ending(r.exit, r.within), quote(said))
	switch {
	case r.exit.Why == proc.TimedOut:
		text += "; start Docker Desktop, or restart it"
	case strings.Contains(said, "bind: invalid argument"):
		// docker/desktop-feedback#208: a socket below ~/.docker/sandboxes/vm/NAME.
		text += "; the name comes from the project's path and may be too long for docker, a project with a shorter path would do"
	case strings.Contains(said, "unknown flag: --name"):
		text += "; " + remedy
	}
	return text
}

// alreadyStopped goes by docker's words: no exit code tells it.
func (r *refusal) alreadyStopped() bool {
	said := strings.ToLower(r.said())
	return r.exit.Why == proc.Exited && (strings.Contains(said, "not running") || strings.Contains(said, "already stopped")) &&
		!strings.Contains(said, "daemon") && !strings.Contains(said, "docker desktop")
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
