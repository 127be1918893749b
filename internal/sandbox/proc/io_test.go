package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestDiesMidline(t *testing.T) {
	t.Parallel()
	c := program("dies-midline", newMark())
	var out strings.Builder
	c.Stdout = &out
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Signal != syscall.SIGKILL || exit.Code != -1 || exit.Why != proc.Exited {
		t.Errorf("Run() = %+v, %v, want killed by itself", exit, err)
	}
	if out.String() != "whole\nhalf" {
		t.Errorf("output = %q, want %q", out.String(), "whole\nhalf")
	}
}

func TestStdinLeftUnread(t *testing.T) {
	t.Parallel()
	s := start(t, proc.Options{})
	for _, name := range []string{"ignores-stdin", "echoes"} {
		c := program(name, newMark())
		text := bytes.Repeat([]byte("prompt "), 5<<20/7)
		var out bytes.Buffer
		c.Stdin, c.Stdout = bytes.NewReader(text), &out
		exit, err := s.Run(t.Context(), c)
		if err != nil || exit.Code != 0 {
			t.Errorf("Run(%s) = %+v, %v, want code 0", name, exit, err)
		}
		if name == "echoes" && !bytes.Equal(out.Bytes(), text) {
			t.Errorf("Run(%s): %d bytes came back, want the %d that were sent", name, out.Len(), len(text))
		}
	}
}

func TestStdinIsEmptyByDefault(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := shell("cat; echo end")
	c.Stdout = &out
	if _, err := start(t, proc.Options{}).Run(t.Context(), c); err != nil || out.String() != "end\n" {
		t.Errorf("Run() = %q, %v, want no input", out.String(), err)
	}
}

func TestStdinReaderThatBlocks(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	c := shell("exit 5")
	c.Stdin = r
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Code != 5 {
		t.Errorf("Run() = %+v, %v, want code 5", exit, err)
	}
}

func TestOnePipeKeepsTheOrder(t *testing.T) {
	t.Parallel()
	var both, out, errs strings.Builder
	script := "for i in 1 2 3 4 5 6 7 8 9; do echo out; echo err >&2; done"
	s := start(t, proc.Options{})
	c := shell(script)
	c.Stdout, c.Stderr = &both, &both
	if _, err := s.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("out\nerr\n", 9); both.String() != want {
		t.Errorf("one pipe = %q, want %q", both.String(), want)
	}
	c.Stdout, c.Stderr = &out, &errs
	exit, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != strings.Repeat("out\n", 9) || errs.String() != strings.Repeat("err\n", 9) {
		t.Errorf("two pipes = %q and %q", out.String(), errs.String())
	}
	if exit.OutputBytes != 72 {
		t.Errorf("OutputBytes = %d, want 72", exit.OutputBytes)
	}
}

// funcWriter cannot be compared with ==.
type funcWriter func([]byte) (int, error)

func (f funcWriter) Write(p []byte) (int, error) { return f(p) }

func TestWritersThatFail(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	c := program("floods", newMark(), "20000000")
	c.Stdout = funcWriter(func([]byte) (int, error) { return 0, full })
	c.Stderr = funcWriter(func(p []byte) (int, error) { return len(p), nil })
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Code != 0 || !errors.Is(exit.OutputErr, full) {
		t.Errorf("Run() = %+v, %v, want code 0 and %v", exit, err, full)
	}
}

// TestNothingIsLostWithoutAFile: where output cannot be spilled it is not lost.
func TestNothingIsLostWithoutAFile(t *testing.T) {
	t.Parallel()
	c := program("floods", newMark(), "30000000")
	var n int
	c.Stdout = funcWriter(func(p []byte) (int, error) {
		time.Sleep(time.Millisecond)
		n += len(p)
		return len(p), nil
	})
	exit, err := start(t, proc.Options{SpillDir: "/nonexistent"}).Run(t.Context(), c)
	if err != nil || exit.Code != 0 || n != 30000000 {
		t.Errorf("Run() = %+v, %v with %d bytes delivered, want code 0 and 30000000", exit, err, n)
	}
}

func TestCancelDropsWhatASlowWriterLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(place(t, "flood"), "done")
	c := program("floods", newMark(), "20000000", file)
	c.Stdout = funcWriter(func(p []byte) (int, error) {
		poll(t, "the flood to be over", func() bool { _, err := os.Stat(file); return err == nil })
		cancel()
		time.Sleep(100 * time.Millisecond)
		return len(p), nil
	})
	begin := time.Now()
	exit, err := start(t, proc.Options{}).Run(ctx, c)
	if err != nil || exit.OutputBytes != 20000000 {
		t.Errorf("Run() = %+v, %v, want 20000000 bytes taken from the child", exit, err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("Run() took %v after the cancellation, want about 2 s, and not the minute all writes take", took)
	}
}

func TestDirAndEnvironmentAreTheCommands(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c := proc.Command{Argv: []string{"env"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "B-C=d\xff\ne"}, Stdout: &out}
	s := start(t, proc.Options{Env: []string{"SUPERVISOR=1"}})
	if _, err := s.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if want := "PATH=/usr/bin:/bin\nB-C=d\xff\ne\n"; out.String() != want {
		t.Errorf("environment = %q, want %q", out.String(), want)
	}
	out.Reset()
	c.Argv = []string{"pwd", "-P"}
	if _, err := s.Run(t.Context(), c); err != nil || out.String() != dir+"\n" {
		t.Errorf("directory = %q, %v, want %q", out.String(), err, dir)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, proc.Options{})
	for _, tc := range []struct {
		name string
		c    proc.Command
		want error
	}{
		{"not in PATH", proc.Command{Argv: []string{"no-such-program"}}, exec.ErrNotFound},
		{"missing", proc.Command{Argv: []string{dir + "/missing"}}, exec.ErrNotFound},
		{"missing, relative", proc.Command{Argv: []string{"./missing"}, Dir: dir}, fs.ErrNotExist},
		{"not executable", proc.Command{Argv: []string{plain}}, fs.ErrPermission},
		{"a directory", proc.Command{Argv: []string{dir}}, fs.ErrPermission},
		{"interpreter missing", proc.Command{Argv: []string{broken}}, fs.ErrNotExist},
		{"no such directory", proc.Command{Argv: []string{"/bin/true"}, Dir: dir + "/gone"}, fs.ErrNotExist},
		{"argument too long", proc.Command{Argv: []string{"/bin/echo", strings.Repeat("x", 1<<20)}}, syscall.E2BIG},
		{"NUL in an argument", proc.Command{Argv: []string{"/bin/echo", "a\x00b"}}, syscall.EINVAL},
		{"NUL in a variable", proc.Command{Argv: []string{"/bin/true"}, Env: []string{"A=b\x00LD_PRELOAD=x"}}, syscall.EINVAL},
	} {
		_, err := s.Run(t.Context(), tc.c)
		if !errors.Is(err, tc.want) {
			t.Errorf("Run(%s) = %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, err := s.Run(t.Context(), proc.Command{}); err == nil {
		t.Error("Run(no argv) = nil, want an error")
	}
	if exit, err := s.Run(t.Context(), shell("exit 6")); err != nil || exit.Code != 6 {
		t.Errorf("Run() after failures = %+v, %v, want code 6", exit, err)
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"tool": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		env  []string
		want string
		err  error
	}{
		{"tool", []string{"PATH=" + dir}, dir + "/tool", nil},
		{"tool", []string{"PATH=/nonexistent", "PATH=/x:" + dir}, dir + "/tool", nil},
		{"tool", []string{"PATH=.:bin"}, "", exec.ErrNotFound},
		{"tool", nil, "", exec.ErrNotFound},
		{"data", []string{"PATH=" + dir}, "", fs.ErrPermission},
		{"", []string{"PATH=" + dir}, "", exec.ErrNotFound},
		{"./tool", nil, "./tool", nil},
		{dir + "/none", nil, dir + "/none", exec.ErrNotFound},
	} {
		got, err := proc.LookPath(tc.name, tc.env)
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("LookPath(%q, %q) = %q, %v, want %q, %v", tc.name, tc.env, got, err, tc.want, tc.err)
		}
	}
}

func TestRunSerialises(t *testing.T) {
	t.Parallel()
	s := start(t, proc.Options{})
	dir := t.TempDir()
	errs := make(chan error, 4)
	for range 4 {
		go func() {
			c := shell("mkdir lock && sleep 0.05 && rmdir lock")
			c.Dir = dir
			exit, err := s.Run(t.Context(), c)
			if err == nil && exit.Code != 0 {
				err = errors.New("two commands ran at once")
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s, err := proc.Start(t.Context(), proc.Options{Env: []string{quickExit}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}
	if _, err := s.Run(t.Context(), shell("exit 0")); err == nil {
		t.Error("Run() after Close = nil, want an error")
	}
}
