package proc_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// wantNetwork skips a test where the kernel cannot restrict the network, with its reason.
func wantNetwork(t *testing.T) {
	t.Helper()
	if ok, reason := confine.NetworkAvailable(); !ok {
		t.Skip("no network restriction here: " + reason)
	}
}

// listener serves echoes and counts who came.
func listener(t *testing.T, network, address string) (net.Listener, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	came := new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				if _, err := c.Read(b); err == nil {
					_, _ = c.Write(b)
				}
			}()
		}
	}()
	return l, came
}

func tcpListener(t *testing.T) (netip.AddrPort, *atomic.Int64) {
	t.Helper()
	l, came := listener(t, "tcp4", "127.0.0.1:0")
	return l.Addr().(*net.TCPAddr).AddrPort(), came
}

// refusals is a Options.Refused that keeps what it is told.
type refusals struct {
	mu   sync.Mutex
	list []string
}

func (r *refusals) add(address, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, address+": "+reason)
}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// network leaves the sandbox what the spec allows of the network.
func (r *sandbox) network(n confine.Network) {
	r.options.Policy.Network = &n
}

func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	r := newSandbox(t)
	forbidden, came := tcpListener(t)
	proxy, _ := tcpListener(t)
	named, _ := tcpListener(t)
	s := netSpec{
		Forbidden: forbidden, Proxy: proxy, Named: named, Folder: r.work,
		Inside: filepath.Join(r.work, "inside"), Outside: filepath.Join(r.outside, "socket"), Link: filepath.Join(r.work, "link"),
		Seqpacket: filepath.Join(r.work, "seqpacket"), Abstract: "@" + newMark(),
	}
	var counts []*atomic.Int64
	for _, path := range []string{s.Outside, s.Abstract} {
		_, n := listener(t, "unix", path)
		counts = append(counts, n)
	}
	listener(t, "unix", s.Inside)
	listener(t, "unixpacket", s.Seqpacket)
	for _, path := range []string{s.Outside, s.Inside, s.Seqpacket} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		s.Link: s.Outside, s.Link + "-in": s.Inside, s.Link + "-near": "inside", s.Link + "-loop": "link-loop", s.Link + "-dir": r.outside,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	var told refusals
	r.options.Refused = told.add
	r.network(confine.Network{Proxies: []netip.AddrPort{proxy}, Ports: []uint16{named.Port()}, Sockets: []string{r.work}})
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := program("network", newMark(), string(text))
	c.Dir = r.work
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	c.Limits.Time = 2 * time.Minute
	exit, err := start(t, r.options).Run(t.Context(), c)
	if err != nil || exit.Code != 0 {
		t.Fatalf("Run() = %+v, %v, it said %q and %q", exit, err, out.String(), errs.String())
	}
	var said map[string]string
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatalf("it said %q: %v", out.String(), err)
	}
	want := map[string]string{
		"tcp: proxy": "ok", "tcp: proxy, ::ffff:127": "ok", "tcp: named port": "ok", "tcp: nobody listens": "ECONNREFUSED",
		"mptcp": "EPROTONOSUPPORT", "sctp": "EPROTONOSUPPORT",
		"packet": "EAFNOSUPPORT", "vsock": "EAFNOSUPPORT", "alg": "EAFNOSUPPORT",
		"netlink: routes": "ok", "netlink: sock_diag": "EPROTONOSUPPORT", "netlink: audit": "EPROTONOSUPPORT", "interfaces": "ok",
		"fast open: sendto": "ENOTSUP", "fast open: sendmsg": "ENOTSUP", "fast open: sendmmsg": "ENOTSUP",
		"fast open: by connect": "EPERM", "route: of an option": "EPERM", "route: of an option, IPv6": "EPERM", "route: by a device": "EPERM",
		"unix: inside": "ok", "unix: seqpacket": "ok", "unix: relative": "ok", "unix: pair": "ok", "unix: link inside": "ok", "unix: near link": "ok", "unix: loop": "ELOOP",
		"unix: missing": "ENOENT", "unix: missing outside": "ENOENT",
		"unix: address of TCP": "EINVAL", "tcp: address of unix": "EAFNOSUPPORT", "tcp: address of IPv6": "EAFNOSUPPORT",
		"connect: no memory": "EFAULT", "connect: no length": "EINVAL", "connect: huge length": "EINVAL", "connect: negative length": "EINVAL",
		"connect: closed": "EBADF", "connect: negative": "EBADF", "connect: unspecified": "EAFNOSUPPORT", "connect: a pipe": "ENOTSOCK",
		"io_uring": "ENOSYS", "bpf": "EPERM", "userfaultfd": "EPERM", "perf": "EPERM", "keys": "EPERM", "file handles": "EPERM", "pidfd_getfd": "EPERM",
		"local, blocking": "ok", "local, nonblocking": "ok", "local, go": "ok", "local, refused": "ECONNREFUSED",
		"local, watched": "ok", "local, bound": "ok", "local, many open": "ok", "local, free port": "ok", "local, options": "ok", "local, signals": "ok", "unix: bound": "ok",
		"x32": "ENOSYS",
	}
	for name, got := range said {
		expected := want[name]
		if expected == "" {
			expected = "EACCES"
		}
		if got != expected {
			t.Errorf("%s = %s, want %s", name, got, expected)
		}
	}
	if came.Load() != 0 || counts[0].Load() != 0 || counts[1].Load() != 0 {
		t.Errorf("connections that came through: %d, %d, %d, want none", came.Load(), counts[0].Load(), counts[1].Load())
	}
	for _, line := range []string{
		"192.0.2.1:443: not through the proxy",
		"169.254.169.254:80: not through the proxy",
		"[2001:db8::1]:443: not through the proxy",
		forbidden.String() + ": a server that was not started in the sandbox",
		"127.0.0.53:53: name service",
		"unix:" + s.Outside + ": outside of the folders with sockets",
		"unix:" + s.Link + ": outside of the folders with sockets",
		"unix:" + s.Link + "-dir/socket: a link leads out of the folders with sockets",
		"unix:@" + s.Abstract[1:] + ": no abstract sockets",
	} {
		if n := len(slices.DeleteFunc(told.all(), func(s string) bool { return s != line })); n != 1 {
			t.Errorf("Refused was told %d times of %q, want once; it was told %q", n, line, told.all())
		}
	}
}

// sandboxed runs a program under a network policy and returns its result.
func sandboxed(t *testing.T, n confine.Network, refused func(address, reason string), name string, args ...string) string {
	t.Helper()
	wantNetwork(t)
	r := newSandbox(t)
	r.network(n)
	r.options.Refused = refused
	c := program(name, newMark(), args...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	c.Limits = proc.Limits{Time: 2 * time.Minute, Grace: 100 * time.Millisecond}
	exit, err := start(t, r.options).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Exited || exit.Code > 0 {
		t.Fatalf("Run(%s) = %+v, %v, it said %q", name, exit, err, out.String())
	}
	return out.String()
}

// A server of somebody else that begins to listen after the sandboxed process was started is as
// far out of its reach as one that was there before.
func TestServersThatStartLater(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	r := newSandbox(t)
	r.network(confine.Network{})
	var told refusals
	r.options.Refused = told.add
	c := program("network-later", newMark())
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin, c.Stdout, c.Stderr = in, said, os.Stderr
	c.Limits.Time = time.Minute
	done := make(chan error, 1)
	s := start(t, r.options)
	go func() {
		_, err := s.Run(t.Context(), c)
		_ = said.Close()
		done <- err
	}()
	lines := bufio.NewScanner(ready)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the sandboxed process said %q, %v", lines.Text(), <-done)
	}
	later, came := tcpListener(t)
	fmt.Fprintln(to, later)
	_ = to.Close()
	if !lines.Scan() || lines.Text() != "result: EACCES" || came.Load() != 0 {
		t.Errorf("a connect to a server that began later: %q, %d came, want EACCES", lines.Text(), came.Load())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if want := later.String() + ": a server that was not started in the sandbox"; !slices.Contains(told.all(), want) {
		t.Errorf("Refused was told %q, want %q", told.all(), want)
	}
}

func TestGrandchildrenAreRestrictedToo(t *testing.T) {
	t.Parallel()
	forbidden, came := tcpListener(t)
	proxy, _ := tcpListener(t)
	n := confine.Network{Proxies: []netip.AddrPort{proxy}}
	if got := trimResult(sandboxed(t, n, nil, "network-grandchild", forbidden.String())); got != "EACCES" || came.Load() != 0 {
		t.Errorf("a grandchild's connect = %q, want EACCES", got)
	}
	if got := trimResult(sandboxed(t, n, nil, "network-grandchild", proxy.String())); got != "ok" {
		t.Errorf("a grandchild's connect to the proxy = %q, want ok", got)
	}
}

// TestHiddenMemory: whose address cannot be read gets no connection.
func TestHiddenMemory(t *testing.T) {
	t.Parallel()
	proxy, came := tcpListener(t)
	var told refusals
	got := trimResult(sandboxed(t, confine.Network{Proxies: []netip.AddrPort{proxy}}, told.add, "network-hides", proxy.String()))
	if got != "EACCES" || came.Load() != 0 || len(told.all()) != 1 {
		t.Errorf("connect of a program that hides its memory = %q, told %q, want EACCES, told once", got, told.all())
	}
}

func TestForeignArchitecture(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	r := newSandbox(t)
	r.network(confine.Network{})
	c := program("network-int80", newMark())
	var out strings.Builder
	c.Stdout = &out
	exit, err := start(t, r.options).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if exit.Code != 0 {
		t.Skipf("this kernel runs no 32-bit system calls: %+v", exit)
	}
	if got := trimResult(out.String()); got != "ENOSYS" {
		t.Errorf("a 32-bit system call = %q, want ENOSYS", got)
	}
}

// TestAddressesThatAreRaced: threads that rewrite the address while it is being
// connected to never reach what is forbidden.
func TestAddressesThatAreRaced(t *testing.T) {
	t.Parallel()
	forbidden, came := tcpListener(t)
	allowed, reached := tcpListener(t)
	out := sandboxed(t, confine.Network{Proxies: []netip.AddrPort{allowed}}, nil, "network-race", forbidden.String(), allowed.String())
	var count map[string]int
	if err := json.Unmarshal([]byte(out), &count); err != nil {
		t.Fatalf("it said %q: %v", out, err)
	}
	t.Logf("raced: %v", count)
	if came.Load() != 0 {
		t.Errorf("%d of 2000 raced connects reached the forbidden address", came.Load())
	}
	if count["ok"]+count["EACCES"]+count["ECONNREFUSED"] != 2000 || count["ok"] == 0 || count["EACCES"] == 0 || reached.Load() == 0 {
		t.Errorf("raced connects = %v, want some of each", count)
	}
}

func TestManyConnects(t *testing.T) {
	t.Parallel()
	out := sandboxed(t, confine.Network{}, nil, "network-many")
	var count map[string]int
	if err := json.Unmarshal([]byte(out), &count); err != nil || count["ok"] != 1000 {
		t.Errorf("a thousand connects = %q, %v, want all of them ok", out, err)
	}
}

// TestCallersThatDieInTheMiddle: neither they nor a server that does not answer
// keep others waiting, or anything alive.
func TestCallersThatDieInTheMiddle(t *testing.T) {
	t.Parallel()
	proxy, _ := tcpListener(t)
	out := sandboxed(t, confine.Network{Proxies: []netip.AddrPort{proxy}}, nil, "network-dies", proxy.String())
	if got := trimResult(out); got != "ok" {
		t.Errorf("a connect beside them = %q, want ok", got)
	}
}

// TestRefusedFlood: a million refused connects would fill neither memory nor
// the link.
func TestRefusedFlood(t *testing.T) {
	t.Parallel()
	var told refusals
	sandboxed(t, confine.Network{}, told.add, "network-floods")
	if n := len(told.all()); n == 0 || n > 256 {
		t.Errorf("Refused was told of %d addresses, want 256 at most", n)
	}
}

// TestListenersOfEarlierChildren: what a child left is gone, and the next one's
// own servers are its own, on whatever port.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	r := newSandbox(t)
	r.network(confine.Network{})
	r.options.Policy.Strict = true
	s := start(t, r.options)
	for range 20 {
		exit, err := s.Run(t.Context(), shell("exit 3"))
		if err != nil || exit.Code != 3 {
			t.Fatalf("Run() = %+v, %v, want code 3", exit, err)
		}
	}
	if reason := s.OpenNetwork(); reason != "" {
		t.Errorf("OpenNetwork() = %q, want that it is closed", reason)
	}
}

// TestNestedNotifiers: where somebody else watches system calls already there is no
// second notifier. A strict policy refuses, others say so.
func TestNestedNotifiers(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	for _, strict := range []bool{false, true} {
		out := sandboxed(t, confine.Network{}, nil, "network-nested", fmt.Sprint(strict))
		var said [3]string
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatalf("it said %q: %v", out, err)
		}
		const reason = "system calls are watched by a supervisor around us already"
		if strict != strings.Contains(said[0], reason) || strict == strings.Contains(said[1], reason) {
			t.Errorf("strict %v: Run() = %q, OpenNetwork() = %q, want the reason in one of them", strict, said[0], said[1])
		}
		if !strict && said[2] == "" {
			t.Error("Unprotected() is empty, want the reason")
		}
	}
}

// TestForkLoopInTheSandbox: a sandboxed process that takes every process it may have does not
// keep the notifier, nor the next start, from the threads they need. It is not
// parallel: as our own user, each fork loop takes what the other may have.
func TestForkLoopInTheSandbox(t *testing.T) {
	wantNetwork(t)
	r := newSandbox(t)
	r.network(confine.Network{})
	id, running := loneUser()
	r.options.Identity, r.options.MaxProcs = id, uint64(300+running)
	s := start(t, r.options)
	mark := newMark()
	c := program("fork-loop", mark)
	c.Limits = proc.Limits{Time: 500 * time.Millisecond, Grace: 20 * time.Millisecond}
	exit, err := s.Run(t.Context(), c)
	if err != nil || exit.Why != proc.TimedOut {
		t.Errorf("Run(fork-loop) = %+v, %v, want timed out", exit, err)
	}
	wantNoSurvivor(t, mark)
	for range 20 { // more than the threads that are kept
		if exit, err := s.Run(t.Context(), shell("exit 4")); err != nil || exit.Code != 4 {
			t.Fatalf("Run() after it = %+v, %v, want code 4", exit, err)
		}
	}
}
