package shop

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

func TestServer(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "tls": httptest.NewTLSServer} {
		s := start(Handler())
		t.Cleanup(s.Close)
		if got := get(t, s.Client(), s.URL+"/a"); got != "hello from /a" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAddresses: each way to say this machine.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ network, listen, dial string }{
		{"tcp", "127.0.0.1:0", "127.0.0.1"},
		{"tcp", "127.0.0.1:0", "localhost"},
		{"tcp4", "127.0.0.7:0", "127.0.0.7"},
		{"tcp", ":0", "127.0.0.1"},
		{"tcp", ":0", "[::1]"},
		{"tcp", ":0", "0.0.0.0"},
		{"tcp", ":0", "[::]"},
		{"tcp", ":0", ""},
		{"tcp6", "[::1]:0", "[::1]"},
		{"tcp", ":0", "[::ffff:127.0.0.1]"},
	} {
		for _, multipath := range []bool{false, true} {
			config := net.ListenConfig{}
			config.SetMultipathTCP(multipath)
			l, err := config.Listen(t.Context(), c.network, c.listen)
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			s := &http.Server{Handler: Handler(), ReadHeaderTimeout: time.Minute}
			go func() { _ = s.Serve(l) }()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			dialer := &net.Dialer{}
			dialer.SetMultipathTCP(multipath)
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, c.dial+":"+port)
			}}}
			if got := get(t, client, "http://shop/b"); got != "hello from /b" {
				t.Errorf("%+v: %q", c, got)
			}
			s.Close()
		}
	}
}

func TestMany(t *testing.T) {
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if got := get(t, c, fmt.Sprint(s.URL, "/", i)); got != fmt.Sprint("hello from /", i) {
				t.Errorf("%d: %q", i, got)
			}
		})
	}
	all.Wait()
}

func TestUnix(t *testing.T) {
	for _, dir := range []string{t.TempDir(), os.Getenv("HOME"), "."} {
		for _, network := range []string{"unix", "unixpacket"} {
			path := filepath.Join(dir, network+".sock")
			l, err := net.Listen(network, path)
			if err != nil {
				t.Errorf("%s %s: %v", network, path, err)
				continue
			}
			go func() {
				if c, err := l.Accept(); err == nil {
					_, _ = io.WriteString(c, "hello\n")
					c.Close()
				}
			}()
			c, err := net.Dial(network, path)
			if err != nil {
				t.Errorf("%s %s: %v", network, path, err)
				l.Close()
				continue
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
				t.Errorf("%s %s: %q, %v", network, path, line, err)
			}
			c.Close()
			l.Close()
		}
	}
}

// TestRefused: what a retry waits for.
func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := net.Dial("unix", filepath.Join(t.TempDir(), "none")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("no socket: %v", err)
	}
}

// TestLocalAddress: a client that says where it calls from.
func TestLocalAddress(t *testing.T) {
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	c, err := d.Dial("tcp4", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestInterfaces(t *testing.T) {
	list, err := net.Interfaces()
	if err != nil || len(list) == 0 {
		t.Errorf("interfaces: %v, %v", list, err)
	}
	if addresses, err := net.InterfaceAddrs(); err != nil || len(addresses) == 0 {
		t.Errorf("addresses: %v, %v", addresses, err)
	}
	if names, err := net.LookupHost("localhost"); err != nil {
		t.Errorf("localhost: %v, %v", names, err)
	}
}

// TestChild is a server in another process, that is ended.
func TestChild(t *testing.T) {
	if os.Getenv("SHOP_CHILD") != "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("address", l.Addr())
		_ = http.Serve(l, Handler())
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "SHOP_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	address := strings.TrimPrefix(strings.TrimSpace(line), "address ")
	if got := get(t, &http.Client{Timeout: 10 * time.Second}, "http://"+address+"/c"); got != "hello from /c" {
		t.Errorf("%q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
}

// TestDeadline: a server that never answers the handshake.
func TestDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &tls.Dialer{}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := d.DialContext(ctx, "tcp", l.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the deadline", err)
	}
}
