package main

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/sandbox"
)

// install lists what a child may read beyond the system's folders: the folders
// on PATH, the agent's program with the package it belongs to and those that one
// needs, and the files its command names.
func (j *job) install() []string {
	paths := filepath.SplitList(j.app.getenv("PATH"))
	add := func(path string) {
		paths = append(paths, path)
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			paths = append(paths, real)
		}
	}
	for _, dir := range slices.Clone(paths) {
		add(dir)
	}
	open := func(name string) {
		program, err := proc.LookPath(name, j.app.environ)
		if name == "" || err != nil {
			return
		}
		add(program)
		if dir, ok := install.Of(program); ok {
			add(dir)
		}
		if real, err := filepath.EvalSymlinks(program); err == nil {
			root := packageRoot(real)
			add(root)
			if root != real {
				paths = append(paths, install.Needs(root)...)
			}
		}
	}
	command := j.cfg.AgentCommand
	if len(command) == 0 {
		command = []string{j.cfg.Agent}
	}
	// A file the agent of an earlier step may have written opens nothing.
	named := len(j.cfg.AgentCommand) == 0 || !j.cfg.CommandFromFile
	if named {
		open(command[0])
	}
	open(j.cfg.FallbackAgent)
	open(j.cfg.ReviewAgent)
	if j.cfg.Mode == config.ModeTasks || j.cfg.Mode == config.ModeSession {
		add(j.app.self) // the agent's hooks are commands of ours
	}
	for _, word := range command[1:] {
		if filepath.IsAbs(word) && named {
			add(word)
		}
	}
	return paths
}

// packageRoot is the npm package a program belongs to, else the program itself.
func packageRoot(program string) string {
	parts := strings.Split(program, string(filepath.Separator))
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i] != "node_modules" {
			continue
		}
		end := i + 2
		if strings.HasPrefix(parts[i+1], "@") {
			end++
		}
		return strings.Join(parts[:min(end, len(parts))], string(filepath.Separator))
	}
	return program
}

// guestEnv is the environment of a child: an allow-list, the named variables,
// and private folders where there are walls. At a desk without walls, where a
// child can read the user's files anyway, it is the user's own environment
// without the forge's tokens.
func (j *job) guestEnv(allow []string) []string {
	set := map[string]string{}
	if j.runner == nil && j.cfg.Isolation == config.IsolationOff {
		return sandbox.Environment(j.app.environ, j.harmless(), set)
	}
	if j.cfg.Isolation != config.IsolationOff {
		set["HOME"], set["TMPDIR"] = j.temp.home, j.temp.tmp
	} else if home := j.app.getenv("HOME"); home != "" {
		set["HOME"] = home
	}
	maps.Copy(set, j.network.variables())
	return sandbox.Environment(j.app.environ, append(allow, j.cfg.PassEnv...), set)
}

// harmless are the names of the variables that hold no token of the forge.
func (j *job) harmless() []string {
	var names []string
	for _, kv := range j.app.environ {
		name, value, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		switch {
		case upper == "GITHUB_TOKEN", upper == "GH_TOKEN", strings.HasPrefix(upper, "ACTIONS_"), strings.HasPrefix(upper, "INPUT_"):
		case j.holdsToken(value):
		default:
			names = append(names, name)
		}
	}
	return names
}

// Git runs git as the guest; *job is the repo room's Guest.
func (j *job) Git(ctx context.Context, c repo.GuestCommand) error {
	var stderr bounded
	dir := j.dir()
	if j.repo != nil {
		dir = j.workspace // it names the folder itself now, and the agent may have removed its own
	}
	if j.temp.home != "" {
		for _, note := range repo.Unblock(j.temp.home, ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes") {
			j.note(note)
		}
	}
	exit, err := j.guests().Run(ctx, proc.Command{
		Argv: append([]string{"git"}, c.Args...), Dir: dir, Env: append(j.guestEnv(nil), c.Env...),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: &stderr,
		Limits: proc.Limits{Grace: killGrace, Time: j.gitTime(), AnyDisk: true},
	})
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case exit.Why == proc.TimedOut:
		return &repo.GuestError{Args: c.Args, ExitCode: -1, Stderr: "it was still running when the time of the run (max-duration) was over"}
	case exit.Why != proc.Exited:
		return &repo.GuestError{Args: c.Args, ExitCode: -1, Stderr: "it was ended: " + exit.Why.String()}
	case exit.Code != 0:
		return &repo.GuestError{Args: c.Args, ExitCode: exit.Code, Stderr: stderr.String()}
	}
	return nil
}

// gitTime is what the run has left for one git command, none when it has no
// end: a filter the agent planted may hang. Bookkeeping after the end still gets
// a little.
func (j *job) gitTime() time.Duration {
	if j.cfg.MaxDuration == 0 {
		return 0
	}
	return max(time.Until(j.started.Add(j.cfg.MaxDuration)), gitLeast)
}

const gitLeast = 10 * time.Second

// bounded keeps the first bytes of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	const limit = 8 << 10
	if room := limit - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
