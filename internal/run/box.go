package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
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
func (s *sandboxed) openBox(ctx context.Context) error {
	if s.docker == "" {
		return nil
	}
	forced := s.docker == config.IsolationDocker
	err := s.tryBox(ctx)
	switch {
	case err == nil:
		s.rec.report.Isolation = "Docker Sandbox " + dockersandbox.Name(s.Workspace)
		s.rec.out.Say("Isolation: " + s.rec.report.Isolation)
		if s.cfg.Sources["delay"] == "default" {
			s.delay = boxDelay
		}
	case forced || ctx.Err() != nil:
		return invalid(fmt.Errorf("isolation: docker-sandbox: %w", err))
	default:
		n := "The agent runs directly on this machine, without a sandbox."
		if !errors.Is(err, errNoBox) {
			n = fmt.Sprintf("The agent runs directly on this machine, without a sandbox: %v", err)
		}
		s.rec.tell(n)
	}
	return nil
}

// errNoBox says that nobody would look for a Docker Sandbox.
var errNoBox = errors.New("a Docker Sandbox runs its own claude only, and another agent is configured")

// another says that an agent is asked for that a Docker Sandbox does not bring.
func another(name string) bool { return name != "" && name != "claude" }

func (s *sandboxed) tryBox(ctx context.Context) error {
	switch {
	case s.cfg.Agent != "claude", len(s.cfg.AgentCommand) > 0, another(s.cfg.ReviewAgent), another(s.cfg.FallbackAgent):
		return errNoBox
	case s.cfg.Commit == config.CommitEach, s.cfg.Commit == config.CommitAtEnd, s.cfg.StallLimit > 0, s.cfg.MinToolCalls > 0:
		return errors.New("ralph cannot see the work inside a Docker Sandbox, which commit, stall-limit and min-tool-calls need")
	}
	box, err := dockersandbox.New(dockersandbox.Options{
		Process: s.children, Project: s.Workspace, Home: s.getenv("HOME"), Env: s.guestEnv(nil), Say: s.rec.out.Say,
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
		s.box = box
	}
	return err
}

// guests runs the commands that may run what the agent wrote: guardrails, setup
// and git. They belong where the agent is.
func (s *sandboxed) guests() dockersandbox.Process {
	if s.box == nil {
		return s.children
	}
	return boxed{s.children, s.box}
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
