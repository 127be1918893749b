package dockersandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Process runs a child; *proc.Supervisor does. It needs the user's own rights:
// docker reads ~/.docker and talks to Docker Desktop's socket.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Options say whose sandbox it is.
type Options struct {
	Process Process
	Project string // absolute; the sandbox sees it at the same path
	Home    string // absolute; .dclaude_state below it keeps the agent signed in
	// Env is the whole environment of docker as KEY=VALUE: it wants HOME, PATH
	// and DOCKER_*. Nothing of it reaches the agent in the sandbox.
	Env []string
	// Say is told in one line what takes long and what was changed; nil: nobody.
	Say func(string)
}

// VM is the sandbox of one project. Its methods are for one goroutine.
type VM struct {
	o   Options
	cli cli // settled by Available and Prepare
}

// How long a docker command may take. Making a sandbox fetches an image the
// first time; a command in a stopped one starts it.
const (
	lookTime   = 10 * time.Second
	createTime = 15 * time.Minute
	execTime   = 2 * time.Minute
	stopTime   = time.Minute
)

// New checks the paths; an error is for the user to read. Nothing is started.
func New(o Options) (*VM, error) {
	for _, f := range []struct{ what, path string }{{"project", o.Project}, {"home", o.Home}} {
		if !filepath.IsAbs(f.path) || strings.ContainsRune(f.path, 0) {
			return nil, fmt.Errorf("docker sandbox: the %s folder %q must be an absolute path", f.what, f.path)
		}
	}
	o.Project = filepath.Clean(o.Project)
	if strings.HasSuffix(o.Project, ":ro") {
		return nil, fmt.Errorf("docker sandbox: docker reads the end of %q as \"mount read-only\"; rename the folder so that it does not end in :ro", o.Project)
	}
	return &VM{o: o, cli: plugin}, nil
}

var unnamable = lazyregexp.New(`[^A-Za-z0-9._-]`)

// Name is what the sandbox of a project is called in Docker Desktop. Paths that
// differ in other characters only share a name, which Prepare notices where docker tells.
func Name(project string) string { return "ralph-" + unnamable.ReplaceAllString(project, "_") }

// Name is what the sandbox is called, once Available or Prepare has found which command
// line there is.
func (v *VM) Name() string { return v.cli.name(v.o.Project) }

// Available reports whether sandboxes can be used here, within some seconds.
// When it cannot, why says in one line what is missing and what would help. The
// error is the context's, or that of our own machinery.
func (v *VM) Available(ctx context.Context) (ok bool, why string, err error) {
	_, why, err = v.list(ctx)
	return err == nil && why == "", why, err
}

// Prepare makes the sandbox ready to run the agent: the folder that keeps the
// agent signed in, and the sandbox with its links to it. A sandbox of an earlier
// run is stopped, so that it sees the project as it is now; the next command in
// it starts it. One that could not be made ready is removed again. Nobody else
// may use the sandbox meanwhile.
func (v *VM) Prepare(ctx context.Context) error {
	known, why, err := v.list(ctx)
	switch {
	case err != nil:
		return err
	case why != "":
		return errors.New(why)
	case known:
		// Stopped first: while it runs, an agent left in it can still change
		// the folder below.
		if err := v.ours(ctx); err != nil {
			return err
		}
		v.say("stopping the docker sandbox %s, so that it sees the project as it is now", v.Name())
		if err := v.stop(ctx); err != nil {
			return fmt.Errorf("the docker sandbox has to be stopped to see what was changed since: %w", err)
		}
		_, err := v.state()
		return err
	}
	state, err := v.state()
	if err != nil {
		return err
	}
	if err := v.create(ctx, state); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(state, agentDir, ".credentials.json")); errors.Is(err, fs.ErrNotExist) {
		keys, login := "Docker Desktop has an API key for it", "docker sandbox run "+v.Name()
		if v.cli == sbx {
			keys, login = "sbx has an API key for it (sbx secret set anthropic)", "sbx exec -it "+v.Name()+" claude"
		}
		v.say("nobody is signed in to the agent in docker sandboxes yet; unless %s, run once: %s, then /login and /exit", keys, login)
	}
	return nil
}

// Command is the program to run in the agent's place; the agent's own arguments
// follow it, the prompt among them: docker documents no input for run. Nothing
// of the environment reaches the agent, and Docker's image makes it ask no
// permissions. How `sbx run` names a sandbox that is there has changed between its
// versions, and Docker's pages for unattended runs say exec; its shell reads the
// variables that the user has given the sandbox.
func (v *VM) Command() []string {
	if v.cli == sbx {
		return v.cli.argv("exec", "-w", v.o.Project, v.Name(), "bash", "-c", `exec claude "$@"`, "claude")
	}
	return v.cli.argv("run", v.Name(), "--")
}

// Exec is the command that runs argv inside the sandbox, in a folder of the
// project. Of the environment nothing arrives there.
func (v *VM) Exec(dir string, argv ...string) []string {
	return append(v.cli.argv("exec", "-i", v.Name(), "sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", dir), argv...)
}

// Run runs what Command or Exec returned. What is ended before it is done goes on inside
// of the sandbox, which is stopped then; the next command in it starts it again.
func (v *VM) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	exit, err := v.o.Process.Run(ctx, c)
	if err != nil || exit.Why != proc.Exited {
		if failed := v.stop(context.WithoutCancel(ctx)); failed != nil {
			v.say("what ran in the docker sandbox %s may still run: %v", v.Name(), failed)
		}
	}
	return exit, err
}

// store takes a file's content to the end before it touches the file: docker
// hands over what it got, without an error, when it dies in between.
const store = `t=$(mktemp) || exit
cat > "$t"
n=$(($(wc -c < "$t")))
if [ "$n" -ne "$2" ]; then
	echo "$n of $2 bytes arrived" >&2
	false
else
	cat "$t" > "$1"
fi
s=$?
rm -f "$t"
exit $s`

// Write writes a file of the project from inside the sandbox, as its user: the
// sandbox does not see what the host writes over a file it knows. The folder
// must be there. Path is absolute or relative to the project and must lie in it
// as it is written; links are followed in the sandbox, not on the host.
func (v *VM) Write(ctx context.Context, path string, data []byte) error {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(v.o.Project, path)
	}
	rel, err := filepath.Rel(v.o.Project, full)
	if err != nil || rel == "." || !filepath.IsLocal(rel) || strings.ContainsRune(path, 0) {
		return fmt.Errorf("write %q in the docker sandbox: it must be a file below the project %q", path, v.o.Project)
	}
	full = filepath.Join(v.o.Project, rel)
	// Without -i the command inside gets 0 bytes of input.
	c := call{within: execTime, stdin: bytes.NewReader(data),
		args: []string{"exec", "-i", v.Name(), "sh", "-c", store, "sh", full, strconv.Itoa(len(data))}}
	if err := v.do(ctx, c); err != nil {
		return fmt.Errorf("write %q in the docker sandbox: %w", full, err)
	}
	return nil
}

func (v *VM) say(format string, args ...any) {
	if v.o.Say != nil {
		v.o.Say(fmt.Sprintf(format, args...))
	}
}
