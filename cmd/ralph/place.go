package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/rundir"
	"github.com/org/ralph-action/internal/sandbox"
)

// openWorkspace takes the workspace for this run alone and decides who the
// agent is.
func (j *job) openWorkspace(ctx context.Context) error {
	notes, err := unhide(j.workspace)
	if err != nil {
		return invalid(err)
	}
	for _, n := range notes {
		j.note(n)
		j.out.say(n)
	}
	marker := handoverMarker(j.workspace)
	id, handOver, err := sandbox.IdentityFor(sandbox.Place{
		Workspace: j.workspace, Marker: marker, DockerSocket: dockerSocket, Fallback: imageUser(),
	})
	switch {
	case j.cfg.Isolation == config.IsolationOff:
		id, handOver, err = sandbox.Identity{}, false, nil
	case errors.Is(err, sandbox.ErrNoUser) && j.cfg.Isolation == config.IsolationAuto:
		j.note("The agent runs as root: the workspace belongs to root, and this machine has no user named agent.")
		err = nil
	}
	if err != nil {
		return invalid(err)
	}
	j.identity = id
	// What lies in a workspace that is handed over goes with it, and comes back.
	owner := rundir.Owner{UID: -1, GID: -1}
	if !id.IsZero() && !handOver {
		owner = rundir.Owner{UID: id.UID, GID: id.GID}
	}
	if j.files, err = rundir.Open(j.workspace, owner); err != nil {
		return invalid(err)
	}
	j.afterwards(func() { _ = j.files.Close() })
	release, err := j.files.Lock()
	if err != nil {
		return invalid(err)
	}
	j.afterwards(release)
	if handOver {
		restore, err := sandbox.HandOver(ctx, j.workspace, marker, id)
		if err != nil {
			return invalid(err)
		}
		j.afterwards(func() {
			if err := restore(context.WithoutCancel(ctx)); err != nil {
				j.out.warn(err.Error())
			}
		})
	}
	name := "session-" + j.started.Format("20060102-150405") + ".log" // 000-09
	log, err := j.files.Append(name)
	if err != nil {
		return invalid(err)
	}
	j.session = j.redact.Writer(log)
	j.afterwards(func() { _ = errors.Join(j.session.Close(), log.Close()) }) // what is lost of a log is lost
	return nil
}

// handoverMarker is where an unfinished hand-over is remembered: where git does
// not look.
func handoverMarker(workspace string) string {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err == nil && info.IsDir() {
		return filepath.Join(git, "ralph-handover")
	}
	return filepath.Join(workspace, rundir.Name, "handover")
}

const dockerSocket = "/var/run/docker.sock"

// imageUser is the user the image brings for workspaces that belong to root;
// none outside of the image.
func imageUser() sandbox.Identity {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return sandbox.Identity{}
	}
	for line := range strings.Lines(string(passwd)) {
		var id sandbox.Identity
		if fields := strings.Split(line, ":"); len(fields) > 3 && fields[0] == "agent" {
			if _, err := fmt.Sscan(fields[2]+" "+fields[3], &id.UID, &id.GID); err == nil {
				return id
			}
		}
	}
	return sandbox.Identity{}
}

// buildWalls starts the supervisor all children run under.
func (j *job) buildWalls(ctx context.Context) error {
	t, err := newTemp(j.tempDir(), j.identity)
	if err != nil {
		return invalid(fmt.Errorf("private folder for the run: %w", err))
	}
	j.temp = t
	j.atEnd(j.removeTemp)
	if err := j.writeGitConfig(); err != nil {
		return invalid(err)
	}

	o := proc.Options{Identity: j.identity, Env: []string{"PATH=" + j.app.getenv("PATH")}, SpillDir: t.store, Reaper: true}
	if j.cfg.Isolation != config.IsolationOff {
		walls := sandbox.DefaultWalls([]string{j.workspace, t.home, t.tmp, t.index}, j.install())
		walls.Strict = j.cfg.Isolation == config.IsolationStrict
		o.Walls = &walls
	}
	j.report.Isolation = sandbox.Describe(j.identity, o.Walls, os.Getuid())
	j.out.say("Isolation: " + j.report.Isolation)
	if j.children, err = proc.Start(ctx, o); err != nil {
		return invalid(err)
	}
	j.atEnd(func() {
		if err := j.children.Close(); err != nil {
			j.out.warn(err.Error())
		}
	})
	return nil
}

// tempDir is TMPDIR as it was before the environment was sealed. A folder of
// the workspace is the agent's and no place for the owner's store.
func (j *job) tempDir() string {
	dir := j.app.getenv("TMPDIR")
	if rel, err := filepath.Rel(j.workspace, dir); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	return dir
}

// writeGitConfig gives the agent's own commits an author: its HOME is new.
func (j *job) writeGitConfig() error {
	person := j.cfg.Author
	if person.IsZero() {
		person = j.cfg.Committer
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`) // git-config(1) knows fewer escapes than %q writes
	text := fmt.Sprintf("[user]\n\tname = \"%s\"\n\temail = \"%s\"\n[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n",
		quoted.Replace(person.Name), quoted.Replace(person.Email))
	path := filepath.Join(j.temp.home, ".gitconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if j.identity.IsZero() {
		return nil
	}
	return os.Chown(path, j.identity.UID, j.identity.GID)
}

// install lists what a child may read beyond the system's folders: the folders
// on PATH, the agent's program with the package it belongs to, and the files
// its command names.
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
	command := j.cfg.AgentCommand
	if len(command) == 0 {
		command = []string{j.cfg.Agent}
	}
	if program, err := proc.LookPath(command[0], j.app.environ); err == nil {
		add(program)
		if real, err := filepath.EvalSymlinks(program); err == nil {
			add(packageRoot(real))
		}
	}
	for _, word := range command[1:] {
		if filepath.IsAbs(word) {
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
// and private folders where there are walls.
func (j *job) guestEnv(allow []string) []string {
	set := map[string]string{}
	if j.cfg.Isolation != config.IsolationOff {
		set["HOME"], set["TMPDIR"] = j.temp.home, j.temp.tmp
	} else if home := j.app.getenv("HOME"); home != "" {
		set["HOME"] = home
	}
	return sandbox.Environment(j.app.environ, append(allow, j.cfg.PassEnv...), set)
}

// Git runs git as the guest; *job is the repo room's Guest.
func (j *job) Git(ctx context.Context, c repo.GuestCommand) error {
	var stderr bounded
	dir := j.dir()
	if j.repo != nil {
		dir = j.workspace // it names the folder itself now, and the agent may have removed its own
	}
	exit, err := j.children.Run(ctx, proc.Command{
		Argv: append([]string{"git"}, c.Args...), Dir: dir, Env: append(j.guestEnv(nil), c.Env...),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: &stderr,
		Limits: proc.Limits{Grace: killGrace, Time: j.gitTime()},
	})
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case exit.Why == proc.TimedOut:
		return &repo.GuestError{Args: c.Args, ExitCode: -1, Stderr: "it was still running when the time of the run (max-duration) was over"}
	case exit.Code != 0 || exit.Why != proc.Exited:
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

// openRepository looks at the repository before anything is spent.
func (j *job) openRepository(ctx context.Context) error {
	committer := j.committer(ctx)
	o := repo.Options{
		Dir: j.dir(), Guest: j, Temp: j.temp.index, Store: j.temp.store,
		Branch: j.branch(), Base: j.cfg.Base, DefaultBranch: j.fallbackBase(),
		Committer: repo.Identity(committer), Author: repo.Identity(j.author(committer)),
		Message: j.message, IncludeDirty: j.cfg.IncludeDirty, RunFiles: runFiles(), Clock: time.Now,
	}
	if j.pushes() {
		o.Remote, o.Token, o.Push = j.site.ServerURL+"/"+j.site.Repository, j.cfg.Token, true
	}
	if j.cfg.Isolation != config.IsolationOff {
		if err := j.hideToken(); err != nil {
			return invalid(err)
		}
	}
	r, err := repo.Open(ctx, o)
	if err != nil {
		return invalid(err)
	}
	j.repo = r
	j.atEnd(func() { _ = r.Close() })
	if o.Push {
		return invalid(r.CanPush(ctx))
	}
	return nil
}

// runFiles are the paths that are never committed.
func runFiles() []string {
	names := rundir.RunFiles()
	for i, n := range names {
		names[i] = rundir.Name + "/" + n
	}
	return names
}

// pushes says whether the branch leaves the machine.
func (j *job) pushes() bool {
	return !j.cfg.DryRun && j.cfg.Push != config.PushNever && j.site.Repository != "" && j.cfg.Token.IsSet()
}

// branch is the branch of the run.
func (j *job) branch() string {
	if j.cfg.Branch != "" {
		return j.cfg.Branch
	}
	return repo.BranchSlug(j.cfg.Prompt)
}

// fallbackBase is the base of a checkout without a branch: the forge's word,
// else the event's.
func (j *job) fallbackBase() string {
	if j.defaultBranch != "" || j.runner == nil {
		return j.defaultBranch
	}
	event, err := j.runner.Event()
	if err != nil {
		j.out.warn(err.Error())
	}
	return event.DefaultBranch
}

// committer is who makes our commits: at a desk the person who sits there,
// unless told otherwise.
func (j *job) committer(ctx context.Context) config.Person {
	if j.runner != nil || j.cfg.Sources["committer"] != "default" {
		return j.cfg.Committer
	}
	var out bounded
	if err := j.Git(ctx, repo.GuestCommand{Args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}, Stdout: &out}); err != nil {
		return j.cfg.Committer // no identity here, or no repository: the next step says so
	}
	var me config.Person
	for entry := range strings.SplitSeq(out.String(), "\x00") { // the last word counts
		switch key, value, _ := strings.Cut(entry, "\n"); key {
		case "user.name":
			me.Name = strings.TrimSpace(value)
		case "user.email":
			me.Email = strings.TrimSpace(value)
		}
	}
	if me.Name == "" || me.Email == "" {
		return j.cfg.Committer
	}
	return me
}

// author is who started the run, where that is known, else the committer.
func (j *job) author(committer config.Person) config.Person {
	switch {
	case !j.cfg.Author.IsZero():
		return j.cfg.Author
	case j.site.Actor != "" && j.site.ActorID != "":
		return config.Person{Name: j.site.Actor, Email: j.site.ActorID + "+" + j.site.Actor + "@users.noreply.github.com"}
	case j.site.Actor != "":
		return config.Person{Name: j.site.Actor, Email: j.site.Actor + "@users.noreply.github.com"}
	}
	return committer
}

// cli is the agent and what can be asked of it before it runs.
type cli interface {
	ralph.Agent
	Check(context.Context) error
}

func (j *job) checkAgent(ctx context.Context) error {
	a, err := agent.New(agent.Options{
		Name: j.cfg.Agent, Command: j.cfg.AgentCommand, Args: j.cfg.AgentArgs, Model: j.cfg.Model,
		Dir: j.dir(), Env: j.guestEnv(agent.Credentials(j.cfg.Agent)),
		Limits:  proc.Limits{Time: j.cfg.IterationTimeout, Silence: j.cfg.IdleTimeout, FinishGrace: j.cfg.ResultGrace, OutputBytes: maxAgentOutput},
		Root:    j.identity.IsZero() && os.Geteuid() == 0,
		Process: j.children, Log: j.session,
		LookPath: func(name string) (string, error) { return proc.LookPath(name, j.app.environ) },
	})
	if err != nil {
		return invalid(err)
	}
	j.agent = a
	return invalid(a.Check(ctx))
}

const maxAgentOutput = 4 << 30 // bytes

// attachBranch brings the workspace to the run's branch.
func (j *job) attachBranch(ctx context.Context) error {
	start, err := j.repo.Begin(ctx)
	if err != nil {
		return invalid(err)
	}
	j.start = start
	j.attached.text, j.attached.err = j.cfg.Task(j.workspace)
	j.report.Publication.Base, j.report.Publication.Branch = start.Base, start.Branch
	for _, n := range start.Notes {
		j.note(n)
		j.out.say(n)
	}
	if len(start.Dirty) > 0 && !j.cfg.IncludeDirty {
		n := fmt.Sprintf("Changed before the run and left out of what is published: %s", listed(start.Dirty))
		j.note(n)
		j.out.warn(n)
	}
	return nil
}

// listed names a few of many.
func listed(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// message is a checkpoint's commit message.
func (j *job) message(it ralph.Iteration) string {
	var outcome ralph.Outcome // known in the last commit only, and only when it is good news
	if it.Marker && it.Rejection == ralph.NotRejected {
		outcome = ralph.Completed
	}
	return report.CommitMessage(it, report.Checkpoint{Template: j.cfg.CommitMessage, Run: j.runID(), Outcome: outcome})
}

// runID names the run in commit trailers.
func (j *job) runID() string {
	if j.site.RunID != "" {
		return j.site.RunID
	}
	return j.started.UTC().Format("20060102T150405Z")
}
