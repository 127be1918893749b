package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/repo/worktree"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	owner = "octo"
	token = "ghs_0123456789abcdefghijklmnopqrstuvwxyz" //nolint:gosec // of the forge below, on loopback
)

// forge is git's own http-backend and a pull-request API, on loopback.
type forge struct {
	*demo.Forge
	dir    string
	url    string
	server *http.Server
	tls    *httptest.Server
	delay  atomic.Int64 // before each answer, in nanoseconds, as of a server far away
}

func newForge(dir string) (*forge, error) {
	inner, err := demo.NewForge(dir, token)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &forge{Forge: inner, dir: dir, url: "http://" + listener.Addr().String()}
	f.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(f.delay.Load()))
		inner.ServeHTTP(w, r)
	})}
	f.tls = httptest.NewTLSServer(f.server.Handler)
	both := &either{listener, f.tls.Listener.Addr().String(), make(chan net.Conn)}
	go both.sort()
	go func() { _ = f.server.Serve(both) }()
	return f, nil
}

func (f *forge) close() { _ = f.server.Close(); f.tls.Close() }

// either hands connections that begin with TLS to another server: create-pull-request asks
// the API of a server that is not github.com by https, whatever its address says.
type either struct {
	net.Listener
	tls   string
	plain chan net.Conn
}

// sort looks at the first byte of each connection, for as long as the listener is open.
func (e *either) sort() {
	defer close(e.plain)
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := e.Listener.Accept()
		if err != nil {
			return
		}
		open.Go(func() {
			first := bufio.NewReader(c)
			if b, err := first.Peek(1); err != nil || b[0] != 0x16 { // handshake
				e.plain <- peeked{c, first}
				return
			}
			defer c.Close()
			to, err := net.Dial("tcp", e.tls)
			if err != nil {
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(c, to); _ = c.Close() }()
			_, _ = io.Copy(to, first)
		})
	}
}

func (e *either) Accept() (net.Conn, error) {
	if c, ok := <-e.plain; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

type peeked struct {
	net.Conn
	from *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.from.Read(b) }

// seed gives the forge a repository with so many small files on main.
func (b *bench) seed(ctx context.Context, name string, files int) error {
	if err := b.forge.CreateRepository(owner, name, "main"); err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "seed-"+name)
	for i := range files {
		path := filepath.Join(dir, fileName(i))
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := write(path, fmt.Sprintf("file %d\nwith a line\n", i)); err != nil {
			return err
		}
	}
	defer os.RemoveAll(dir)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"},
		{"push", "-q", filepath.Join(b.forge.dir, owner, name+".git"), "main"},
	} {
		if err := b.git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func fileName(i int) string {
	return filepath.Join(fmt.Sprintf("d%02d", i%50), fmt.Sprintf("e%02d", i/50%20), fmt.Sprintf("f%05d.txt", i))
}

func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// change edits twenty files all over the tree.
func change(dir string, files, round int) error {
	const edits = 20
	var errs []error
	for i := range edits {
		errs = append(errs, write(filepath.Join(dir, fileName(i*files/edits)), fmt.Sprintf("changed in round %d at %d\n", round, time.Now().UnixNano())))
	}
	return errors.Join(errs...)
}

// remote is the URL of a repository.
func (f *forge) remote(name string) string { return f.url + "/" + owner + "/" + name }

// headerKey is where actions/checkout keeps its token.
func (f *forge) headerKey() string { return "http." + f.url + "/.extraheader" }

func header() string {
	return "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
}

// checkout is what actions/checkout leaves: shallow, on a branch, with the
// token in the configuration.
func (b *bench) checkout(ctx context.Context, name, as string) (string, error) {
	dir := filepath.Join(b.dir, as)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"remote", "add", "origin", b.forge.remote(name)}, {"config", b.forge.headerKey(), header()},
		{"fetch", "-q", "--no-tags", "--depth=1", "origin", "+refs/heads/main:refs/remotes/origin/main"},
		{"checkout", "-q", "-B", "main", "refs/remotes/origin/main"},
	} {
		if err := b.git(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// sandbox runs git as the product does: as a supervised child.
type sandbox struct {
	children *proc.Supervisor
	dir      string
	env      []string
}

// Git implements worktree.Sandbox.
func (s *sandbox) Git(ctx context.Context, c worktree.Command) error {
	var stderr bytes.Buffer
	exit, err := s.children.Run(ctx, proc.Command{
		Argv: append([]string{"git"}, c.Args...), Dir: s.dir, Env: append(append([]string{}, s.env...), c.Env...),
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: &stderr,
	})
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case exit.Code != 0 || exit.Why != proc.Exited:
		text, _ := io.ReadAll(io.LimitReader(&stderr, 8<<10))
		return &worktree.GitError{Args: c.Args, ExitCode: exit.Code, Stderr: string(text)}
	}
	return nil
}
