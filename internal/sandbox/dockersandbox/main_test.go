package dockersandbox_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// recorder is a docker that keeps its arguments in $FAKE/log and behaves as
// Docker Desktop 4.58's, as far as we use it; the files beside the log change
// that. What is run "in the sandbox" runs here, with $FAKE/home in place of
// /home/agent. Under the name sbx it behaves as that does.
const recorder = `#!/bin/sh
printf '%s\0' "$#" "$@" >> "$FAKE/log"
case $0 in
*/sbx)
	set -- sandbox "$@"
	[ "$2 $3" != "rm --force" ] || { shift 3; set -- sandbox rm "$@"; }
	;;
esac
[ "$1" = sandbox ] || exit 99
if [ -e "$FAKE/unknown" ]; then
	printf 'docker: unknown command: docker sandbox\n\nRun '\''docker --help'\'' for more information\n' >&2
	exit 1
fi
if [ -e "$FAKE/$2-hangs" ]; then
	: > "$FAKE/$2-began"
	exec sleep 1000
fi
if [ -e "$FAKE/$2-fails" ]; then
	cat "$FAKE/$2-fails" >&2
	exit 1
fi
verb=$2
shift 2
case $verb in
ls)
	if [ "$1" = --json ]; then
		[ -e "$FAKE/json" ] && cat "$FAKE/json"
		exit 0
	fi
	cat "$FAKE/table"
	;;
create)
	printf 'Creating new sandbox...\n' >&2
	printf 'abc123def  %s  running  /some/...where\n' "$2" >> "$FAKE/table"
	;;
exec)
	input=/dev/null
	while :; do
		case $1 in
		-i) input=; shift ;;
		-u) shift 2 ;;
		-w) cd "$2" && shift 2 ;;
		*) break ;;
		esac
	done
	shift
	# sh -c SCRIPT sh A B: B is the agent's home in one of them.
	[ "$6" = /home/agent ] && set -- "$1" "$2" "$3" "$4" "$5" "$FAKE/home"
	HOME="$FAKE/home"
	export HOME
	[ -e "$FAKE/cut" ] && input=$FAKE/cut
	if [ -n "$input" ]; then
		exec "$@" < "$input"
	fi
	exec "$@"
	;;
stop | rm)
	printf '%s\n' "$1"
	;;
esac
`

// machine is a user's.
type machine struct {
	fake, home, project string
	o                   dockersandbox.Options

	mu   sync.Mutex
	said []string
}

// newMachine has a docker that knows one sandbox of somebody else. The project's
// folder has the name.
func newMachine(t *testing.T, project string) *machine {
	t.Helper()
	top := t.TempDir()
	d := &machine{fake: filepath.Join(top, "fake"), home: filepath.Join(top, "ho me"), project: filepath.Join(top, project)}
	for _, dir := range []string{filepath.Join(d.fake, "bin"), filepath.Join(d.fake, "home", ".claude"), d.home, d.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.install(t, "docker")
	d.put(t, "table", "VM ID  NAME  STATUS  WORKSPACE\ndef456ghi  "+dockersandbox.Name(d.project)+"2  stopped  /some/.../"+dockersandbox.Name(d.project)+"\n")
	d.o = dockersandbox.Options{
		Process: &processes{t: t}, Project: d.project, Home: d.home,
		Env: []string{"PATH=" + filepath.Join(d.fake, "bin") + ":/usr/bin:/bin", "HOME=" + d.home, "FAKE=" + d.fake},
		Say: func(line string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.said = append(d.said, line)
		},
	}
	return d
}

// install puts the recorder on PATH.
func (d *machine) install(t *testing.T, program string) {
	t.Helper()
	writeProgram(t, filepath.Join(d.fake, "bin", program), recorder)
}

// processes starts its supervisor when there is something to run: most of the
// time of a test goes there.
type processes struct {
	t *testing.T
	s *proc.Supervisor
}

func (p *processes) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	if p.s == nil {
		s, err := proc.Start(p.t.Context(), proc.Options{Env: []string{"GORACE=atexit_sleep_ms=0"}}) // it ends a second sooner
		if err != nil {
			return proc.Exit{}, err
		}
		p.t.Cleanup(func() {
			if err := s.Close(); err != nil {
				p.t.Error(err)
			}
		})
		p.s = s
	}
	return p.s.Run(ctx, c)
}

func (d *machine) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.fake, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (d *machine) vm(t *testing.T) *dockersandbox.VM {
	t.Helper()
	v, err := dockersandbox.New(d.o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// calls are the command lines docker got, without the `docker` itself.
func (d *machine) calls(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.fake, "log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all [][]string
	fields := strings.Split(string(data), "\x00")
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || len(fields) < n+1 {
			t.Fatalf("the log of docker's arguments is damaged: %q", data)
		}
		all, fields = append(all, fields[1:n+1]), fields[n+1:]
	}
	return all
}

// scripts takes the scripts out of command lines: they are ours to change.
func scripts(calls [][]string) [][]string {
	var out [][]string
	for _, c := range calls {
		c = slices.Clone(c)
		if i := slices.Index(c, "-c"); i >= 0 {
			c[i+1] = "SCRIPT"
		}
		out = append(out, c)
	}
	return out
}

func wantCalls(t *testing.T, got [][]string, want ...[]string) {
	t.Helper()
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("docker was called as %q,\nwant %q", got, want)
	}
}

// canned is a docker that answers everything with the same words, and keeps the
// commands.
type canned struct {
	exit           proc.Exit
	exits          map[string]proc.Exit // of some subcommands
	err            error
	stdout, stderr string
	got            []proc.Command
}

func (c *canned) Run(_ context.Context, cmd proc.Command) (proc.Exit, error) {
	c.got = append(c.got, cmd)
	for _, w := range []struct {
		to   interface{ Write(p []byte) (int, error) }
		text string
	}{{cmd.Stdout, c.stdout}, {cmd.Stderr, c.stderr}} {
		for part := range slices.Chunk([]byte(w.text), 1000) {
			if n, err := w.to.Write(bytes.Clone(part)); n != len(part) || err != nil {
				return proc.Exit{}, err
			}
		}
	}
	for _, arg := range cmd.Argv[1:min(3, len(cmd.Argv))] { // sbx stop NAME, docker sandbox stop NAME
		if exit, ok := c.exits[arg]; ok {
			return exit, c.err
		}
	}
	return c.exit, c.err
}

// writeProgram writes a program that is started. No child is forked meanwhile: it would hold
// the file open for writing, and starting it would fail with ETXTBSY.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
