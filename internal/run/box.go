package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/dockersandbox"
	"github.com/org/ralph-action/internal/proc"
)

// boxDelay is the pause in which files written in a Docker Sandbox arrive here.
// 003-13
const boxDelay = 2 * time.Second

// Isolation is how we isolate children ourselves, and how much a Docker Sandbox
// is wanted for the agent of a local run: it has to run in one, it may, or (empty)
// neither. In a Docker Sandbox there is no sandbox of ours. 003-02, 003-03
func (in *Input) Isolation(cfg config.Config) (own, docker config.Isolation) {
	switch {
	case !in.local():
	case cfg.Isolation == config.IsolationDocker:
		return config.IsolationOff, config.IsolationDocker
	case cfg.Isolation == config.IsolationAuto && cfg.Mode == config.ModeTasks && in.getenv("RALPH_ISOLATION") == "":
		return config.IsolationOff, config.IsolationAuto
	}
	return cfg.Isolation, ""
}

// openBox makes the Docker Sandbox ready in which the agent runs. Where it only
// may be one, the agent runs directly when there is none, and the run says so.
func (j *sandboxed) openBox(ctx context.Context) error {
	if j.docker == "" {
		return nil
	}
	forced := j.docker == config.IsolationDocker
	err := j.tryBox(ctx)
	switch {
	case err == nil:
		j.rec.report.Isolation = "Docker Sandbox " + dockersandbox.Name(j.Workspace)
		j.rec.out.Say("Isolation: " + j.rec.report.Isolation)
		if j.cfg.Sources["delay"] == "default" {
			j.delay = boxDelay
		}
	case forced || ctx.Err() != nil:
		return invalid(fmt.Errorf("isolation: docker-sandbox: %w", err))
	default:
		n := "The agent runs directly on this machine, without a sandbox."
		if !errors.Is(err, errNoBox) {
			n = fmt.Sprintf("The agent runs directly on this machine, without a sandbox: %v", err)
		}
		j.rec.tell(n)
	}
	return nil
}

// errNoBox says that nobody would look for a Docker Sandbox.
var errNoBox = errors.New("a Docker Sandbox brings its own claude, and another agent is asked for")

// another says that an agent is asked for that a Docker Sandbox does not bring.
func another(name string) bool { return name != "" && name != "claude" }

func (j *sandboxed) tryBox(ctx context.Context) error {
	switch {
	case j.cfg.Agent != "claude", len(j.cfg.AgentCommand) > 0, another(j.cfg.ReviewAgent), another(j.cfg.FallbackAgent):
		return errNoBox
	case j.cfg.Commit == config.CommitEach, j.cfg.Commit == config.CommitAtEnd, j.cfg.StallLimit > 0, j.cfg.MinToolCalls > 0:
		return errors.New("what happens in a Docker Sandbox is not looked at from here, and commit, stall-limit or min-tool-calls ask for it")
	}
	box, err := dockersandbox.New(dockersandbox.Options{
		Process: j.children, Project: j.Workspace, Home: j.getenv("HOME"), Env: j.guestEnv(nil), Say: j.rec.out.Say,
	})
	if err != nil {
		return err
	}
	ok, why, err := box.Available(ctx)
	if err == nil && !ok {
		err = errors.New(why)
	}
	if err == nil {
		err = box.Prepare(ctx)
	}
	if err == nil {
		j.box = box
	}
	return err
}

// guests runs the commands that may run what the agent wrote: guardrails, setup
// and git. They belong where the agent is.
func (j *sandboxed) guests() dockersandbox.Process {
	if j.box == nil {
		return j.children
	}
	return boxed{j.children, j.box}
}

// boxed runs commands inside a Docker Sandbox.
type boxed struct {
	dockersandbox.Process
	box *dockersandbox.VM
}

// Run starts the command there.
func (b boxed) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	c.Argv = b.box.Exec(c.Dir, c.Argv...)
	return b.Process.Run(ctx, c)
}
