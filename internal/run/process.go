package run

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/repo/worktree"
	"github.com/org/ralph-action/internal/run/installation"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// install lists what a child may read beyond the system's folders: the tools of the
// machine, the agent's program with the package it belongs to and those that one needs,
// and the files its command names.
func (s *sandboxed) install() []string {
	paths := slices.Clone(s.tools.Paths)
	add := func(path string) {
		paths = append(paths, path)
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			paths = append(paths, real)
		}
	}
	open := func(name string) {
		program, err := proc.LookPath(name, s.Environ)
		if name == "" || err != nil {
			return
		}
		add(program)
		if dir, ok := install.Of(program); ok {
			add(dir)
		}
		if real, err := filepath.EvalSymlinks(program); err == nil {
			root := installation.PackageRoot(real)
			add(root)
			if root != real {
				paths = append(paths, install.Needs(root)...)
			}
		}
	}
	command := s.cfg.Agent.Command
	if len(command) == 0 {
		command = []string{s.cfg.Agent.Name}
	}
	// A file the agent of an earlier step may have written opens nothing.
	named := len(s.cfg.Agent.Command) == 0 || !s.cfg.Agent.CommandFromFile
	if named {
		open(command[0])
	}
	if root := s.installed.Beside(); root != "" {
		add(root)
	}
	open(s.cfg.Agent.Fallback)
	open(s.cfg.Tasks.ReviewAgent)
	if s.cfg.Mode == config.ModeTasks || s.cfg.Mode == config.ModeSession {
		add(s.Self) // the agent's hooks are commands of ours
	}
	for _, word := range command[1:] {
		if filepath.IsAbs(word) && named {
			add(word)
		}
	}
	return paths
}

// sandboxEnv is the environment of a child: an allow-list, the named variables,
// and private folders where it is sandboxed. Locally without a sandbox, where a
// child can read the user's files anyway, it is the user's own environment
// without the forge's tokens.
func (s *sandboxed) sandboxEnv(allow []string) []string {
	set := map[string]string{}
	if s.local() && s.isolation == config.IsolationOff {
		return confine.Environment(s.Environ, s.harmless(), set)
	}
	if s.isolation != config.IsolationOff {
		set["HOME"], set["TMPDIR"] = s.temp.home, s.temp.tmp
		for _, kv := range s.tools.Env {
			name, value, _ := strings.Cut(kv, "=")
			set[name] = value
		}
	} else if home := s.getenv("HOME"); home != "" {
		set["HOME"] = home
	}
	maps.Copy(set, s.network.Variables())
	return confine.Environment(s.Environ, append(allow, s.cfg.Sandbox.PassEnv...), set)
}

// harmless are the names of the variables that hold no token of the forge.
func (p *plan) harmless() []string {
	var names []string
	for _, kv := range p.Environ {
		name, value, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		switch {
		case upper == "GITHUB_TOKEN", upper == "GH_TOKEN", strings.HasPrefix(upper, "ACTIONS_"), strings.HasPrefix(upper, "INPUT_"):
		case p.holdsToken(value):
		default:
			names = append(names, name)
		}
	}
	return names
}

// git runs git in the sandbox; it is worktree.Sandbox's part.
type git struct {
	box *sandboxed
	dir string
}

// Git runs a command of git.
func (g *git) Git(ctx context.Context, c worktree.Command) error {
	box := g.box
	stderr := proc.Head{Max: maxAnswer}
	if box.temp.home != "" {
		for _, note := range worktree.Unblock(box.temp.home, ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes") {
			box.rec.note(note)
		}
	}
	exit, err := box.process().Run(ctx, proc.Command{
		Argv: append([]string{"git"}, c.Args...), Dir: g.dir, Env: append(box.sandboxEnv(nil), c.Env...),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: &stderr,
		Limits: proc.Limits{Grace: killGrace, Time: box.gitTime(), AnyDisk: true},
	})
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case exit.Why == proc.TimedOut:
		return &worktree.GitError{Args: c.Args, ExitCode: -1, Stderr: "it was still running when the time of the run (max-duration) was over"}
	case exit.Why != proc.Exited:
		return &worktree.GitError{Args: c.Args, ExitCode: -1, Stderr: "it was ended: " + exit.Why.String()}
	case exit.Code != 0:
		return &worktree.GitError{Args: c.Args, ExitCode: exit.Code, Stderr: stderr.String()}
	}
	return nil
}

// gitTime is what the run has left for one git command, none when it has no
// end: a filter the agent planted may hang. Bookkeeping after the end still gets
// a little.
func (p *plan) gitTime() time.Duration {
	if p.cfg.Limits.Duration == 0 {
		return 0
	}
	return max(time.Until(p.rec.started().Add(p.cfg.Limits.Duration)), gitLeast)
}

const gitLeast = 10 * time.Second

// maxAnswer bounds what is kept of what a small command prints, in bytes.
const maxAnswer = 8 << 10

// gitText asks the repository as the agent's user, at most for a while. What it
// cannot answer is empty.
func (s *sandboxed) gitText(most int, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), gitLeast)
	defer cancel()
	out := proc.Head{Max: most}
	args = append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"}, args...)
	// No replaced objects, no fetching, no program for signatures: what is shown
	// is what is there.
	env := []string{"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0"}
	if err := s.git.Git(ctx, worktree.Command{Args: args, Env: env, Stdout: &out}); err != nil && out.Len() == 0 {
		return ""
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}
