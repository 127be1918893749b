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
const dockerSandboxDelay = 2 * time.Second

// Isolation is how we isolate children ourselves, and how much a Docker Sandbox
// is wanted for the agent of a local run: it has to run in one, it may, or (empty)
// neither. In a Docker Sandbox there is no sandbox of ours; who asks for auto asks for
// ours.
func (in *Input) Isolation(cfg config.Config) (own, docker config.Isolation) {
	switch {
	case !in.local():
	case cfg.Sandbox.Isolation == config.IsolationDocker:
		return config.IsolationOff, config.IsolationDocker
	case cfg.Sandbox.Isolation == config.IsolationAuto && cfg.Mode == config.ModeTasks && cfg.Sources["isolation"] == "default" && in.getenv("RALPH_ISOLATION") == "":
		if cfg.Tasks.Lane.Bundle || cfg.Tasks.Parallel > 1 { // a Docker Sandbox would not show us the work
			return config.IsolationOff, ""
		}
		return config.IsolationOff, config.IsolationAuto
	}
	return cfg.Sandbox.Isolation, ""
}

// openBox makes the Docker Sandbox ready in which the agent runs. Where it only
// may be one, the agent runs directly when there is none, and the run says so.
func (s *sandboxed) openDockerSandbox(ctx context.Context) error {
	if s.docker == "" {
		return nil
	}
	forced := s.docker == config.IsolationDocker
	err := s.tryDockerSandbox(ctx)
	switch {
	case err == nil:
		s.rec.report.Isolation = "Docker Sandbox " + s.box.Name()
		s.rec.out.Say("Isolation: " + s.rec.report.Isolation)
		if s.cfg.Sources["delay"] == "default" {
			s.delay = dockerSandboxDelay
		}
	case forced || ctx.Err() != nil:
		return invalid(fmt.Errorf("isolation: docker-sandbox: %w", err))
	default:
		n := "The agent runs directly on this machine, without a sandbox."
		if !errors.Is(err, errNoDockerSandbox) {
			n = fmt.Sprintf("The agent runs directly on this machine, without a sandbox: %v", err)
		}
		s.rec.tell(n)
	}
	return nil
}

// errNoBox says that nobody would look for a Docker Sandbox.
var errNoDockerSandbox = errors.New("a Docker Sandbox runs its own claude only, and another agent is configured")

// another says that an agent is asked for that a Docker Sandbox does not bring.
func another(name string) bool { return name != "" && name != "claude" }

func (s *sandboxed) tryDockerSandbox(ctx context.Context) error {
	switch {
	case s.cfg.Agent.Name != "claude", len(s.cfg.Agent.Command) > 0, another(s.cfg.Tasks.ReviewAgent), another(s.cfg.Agent.Fallback):
		return errNoDockerSandbox
	case s.cfg.Git.Commit == config.CommitEach, s.cfg.Git.Commit == config.CommitAtEnd, s.cfg.Loop.StallLimit > 0, s.cfg.Loop.MinToolCalls > 0:
		return errors.New("ralph cannot see the work inside a Docker Sandbox, which commit, stall-limit and min-tool-calls need")
	}
	box, err := dockersandbox.New(dockersandbox.Options{
		Process: s.children, Project: s.Workspace, Home: s.getenv("HOME"), Env: s.sandboxEnv(nil), Say: s.rec.out.Say,
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

// process runs the commands that may run what the agent wrote: guardrails, setup
// and git. They belong where the agent is.
func (s *sandboxed) process() dockersandbox.Process {
	if s.box == nil {
		return s.children
	}
	return inDockerSandbox{s.box}
}

// afterSetup runs commands with what setup exported.
func (s *sandboxed) afterSetup() dockersandbox.Process { return s.setup.Around(s.process()) }

// sideBySide is process for commands that may run at the same time.
func (s *sandboxed) sideBySide() dockersandbox.Process {
	if s.box == nil {
		return s.pool
	}
	return s.process()
}

// inDockerSandbox runs commands inside a Docker Sandbox.
type inDockerSandbox struct{ box *dockersandbox.VM }

// Run starts the command there.
func (b inDockerSandbox) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	c.Argv = b.box.Exec(c.Dir, c.Argv...)
	return b.box.Run(ctx, c)
}
