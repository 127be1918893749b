package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// supervisors are one that restricts its children and one that does not, ended by done.
func (b *bench) supervisors(ctx context.Context) (restricted, open *proc.Supervisor, done func(), err error) {
	child := confine.Identity{}
	if os.Geteuid() == 0 {
		child = confine.Identity{UID: 1001, GID: 1001} // restrictions are part of a change of user
	}
	policy := confine.DefaultPolicy([]string{b.dir}, nil)
	policy.Strict = true // no restrictions, no measurement
	policy.Network = &confine.Network{Proxies: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}}
	if restricted, err = proc.Start(ctx, proc.Options{Identity: child, Policy: &policy, SpillDir: b.dir}); err != nil {
		return nil, nil, nil, err
	}
	if open, err = proc.Start(ctx, proc.Options{SpillDir: b.dir}); err != nil {
		_ = restricted.Close()
		return nil, nil, nil, err
	}
	return restricted, open, func() { _ = restricted.Close(); _ = open.Close() }, nil
}

// child is the wall clock of a child, in milliseconds.
func child(ctx context.Context, s *proc.Supervisor, argv ...string) func() (float64, error) {
	return func() (float64, error) {
		began := time.Now()
		exit, err := s.Run(ctx, proc.Command{Argv: argv, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: io.Discard})
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("%s ended with %d", argv[0], exit.Code)
		}
		return ms(time.Since(began)), err
	}
}

// sandbox compares supervised children in the sandbox with those without one.
func (b *bench) sandbox(ctx context.Context) ([]row, error) {
	restricted, open, done, err := b.supervisors(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := row{
		What: "what the sandbox adds to the start of a child", Comparison: "the same child supervised, without a sandbox", Target: target{AtMost: 5, Unit: "ms"},
	}.compare(150, child(ctx, restricted, trivial()...), child(ctx, open, trivial()...))
	if err != nil {
		return nil, err
	}
	r.Ratio = r.Ours.Median / r.Theirs.Median
	r.Note = fmt.Sprintf("File access, system calls and network. From the order to start /bin/echo to its end, wall clock. In the sandbox the median is %s.", r.Ours)
	for i, without := range r.Theirs.Samples {
		r.Ours.Samples[i] -= without
	}
	r.Ours = measured("ms", r.Ours.Samples)
	const output = "head -c 100000000 /dev/zero"
	printed, err := row{
		What: "100 MB of output from the sandbox", Comparison: "the same without a sandbox", Target: target{AtMost: 1.05, Ratio: true},
	}.compare(15, child(ctx, restricted, "/bin/sh", "-c", output), child(ctx, open, "/bin/sh", "-c", output))
	return []row{r, printed}, err
}

// proxy compares a download through the proxy with one that goes straight to the
// server.
func (b *bench) proxy(ctx context.Context) ([]row, error) {
	const size = 100_000_000
	const gigabit = 125e6 // bytes a second
	piece := make([]byte, 64<<10)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		for sent := 0; sent < size; sent += len(piece) {
			if r.URL.Path == "/paced" {
				time.Sleep(time.Until(began.Add(time.Duration(float64(sent) / gigabit * float64(time.Second)))))
			}
			if _, err := w.Write(piece[:min(len(piece), size-sent)]); err != nil {
				return
			}
		}
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	rule, err := hosts.Parse(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	p, err := egress.Start(ctx, egress.Options{Hosts: hosts.List{rule}})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	address := "http://" + listener.Addr().String() + "/"
	tunnel := func(ctx context.Context, _, to string) (net.Conn, error) { return connect(ctx, p.Address(), to) }
	var rows []row
	plain := func() *http.Transport {
		return &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address()})}
	}
	most := target{AtMost: 1.1, Ratio: true}
	for _, way := range []struct {
		what, path, note string
		transport        *http.Transport
		target           target
	}{
		{"100 MB at 1 Gbit/s through a tunnel of the proxy", "paced", "", &http.Transport{DialContext: tunnel}, most},
		{"100 MB at 1 Gbit/s as a plain request to the proxy", "paced", "", plain(), most},
		{"100 MB through a tunnel, as fast as loopback goes", "", loopback, &http.Transport{DialContext: tunnel}, target{}},
		{"100 MB as a plain request, as fast as loopback goes", "", loopback, plain(), target{}},
	} {
		through, straight := &http.Client{Transport: way.transport}, &http.Client{Transport: &http.Transport{}}
		one, err := row{What: way.what, Comparison: "straight to the server", Target: way.target, Note: way.note}.compare(9,
			download(ctx, through, address+way.path), download(ctx, straight, address+way.path))
		if err != nil {
			return rows, err
		}
		rows = append(rows, one)
		way.transport.CloseIdleConnections()
	}
	return rows, nil
}

const loopback = "Client, proxy and server share two processors, and nothing else takes time: what is to be seen is one more copy."

// connect asks the proxy for a tunnel.
func connect(ctx context.Context, proxy, to string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to); err != nil {
		_ = c.Close()
		return nil, err
	}
	// The tunnel is silent until the client speaks: nothing of it is read here.
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the proxy says %s", answer.Status)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// download is the time it takes, in milliseconds.
func download(ctx context.Context, client *http.Client, address string) func() (float64, error) {
	return func() (float64, error) {
		began := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err == nil && (resp.StatusCode != http.StatusOK || n != 100_000_000) {
			err = fmt.Errorf("%s, %d bytes", resp.Status, n)
		}
		return ms(time.Since(began)), err
	}
}
