package proc_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// base is a directory every user may enter, with a copy of this binary: the
// one go test made lies where only its own user can go.
var base, binary string

// quickExit keeps the race detector from sleeping a second at every exit.
const quickExit = "GORACE=atexit_sleep_ms=0"

// TestMain serves the programs of programs_test.go.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "program" {
		os.Exit(programs[os.Args[2]](os.Args[3:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // these tests wait more than they work
		panic(err)
	}
	os.Exit(inBase(m))
}

func inBase(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "proc-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		base, binary = dir, filepath.Join(dir, "proc.test")
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = copyFile(binary, "/proc/self/exe")
	}
	if err != nil {
		// Not Linux: the binary as it is.
		base, binary = dir, os.Args[0]
	}
	return m.Run()
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// childUser is who children run as: another user when we may, else our own.
func childUser() confine.Identity {
	if os.Geteuid() == 0 {
		return confine.Identity{UID: 1001, GID: 1001}
	}
	return confine.Identity{}
}

// place makes a directory that belongs to the user of the children.
func place(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(base, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	give(t, dir)
	return dir
}

func give(t *testing.T, path string) {
	t.Helper()
	if id := childUser(); !id.IsZero() {
		if err := os.Chown(path, id.UID, id.GID); err != nil {
			t.Fatal(err)
		}
	}
}

func start(t *testing.T, o proc.Options) *proc.Supervisor {
	t.Helper()
	o.Env = append(o.Env, quickExit)
	s, err := proc.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("Start(%+v) = %v", o, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return s
}

// program is the command that runs one of programs_test.go. Its mark is in the
// command line of everything it starts.
func program(name, mark string, args ...string) proc.Command {
	return proc.Command{
		Argv: append([]string{binary, "program", name, mark}, args...),
		Dir:  "/",
		Env:  []string{"PATH=/usr/bin:/bin", "MARK=" + mark, quickExit},
	}
}

func shell(script string) proc.Command {
	return proc.Command{Argv: []string{"sh", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
}

func newMark() string { return "mark-" + rand.Text() }

// marked lists the living processes that carry the mark.
func marked(mark string) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		environ, _ := os.ReadFile(dir + "/environ")
		if strings.Contains(string(cmdline)+string(environ), mark) {
			list = append(list, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return list
}

func wantNoSurvivor(t *testing.T, mark string) {
	t.Helper()
	if list := marked(mark); len(list) > 0 {
		t.Errorf("survivors: %q, want none", list)
	}
}

// poll waits for a condition another process makes true.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// onLine closes a channel when a line has been written, and keeps what was.
type onLine struct {
	strings.Builder
	line string
	seen chan struct{}
}

func watchFor(line string) *onLine { return &onLine{line: line, seen: make(chan struct{})} }

func (o *onLine) Write(p []byte) (int, error) {
	before := strings.Contains(o.String(), o.line)
	n, err := o.Builder.Write(p)
	if !before && strings.Contains(o.String(), o.line) {
		close(o.seen)
	}
	return n, err
}
