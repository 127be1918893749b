package egress_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

func TestManyConnections(t *testing.T) {
	t.Parallel()
	const many = 512
	w := newWorld()
	w.put("a.example", publicAddress, 8443, echo(t))
	p := w.start(t, egress.Options{}, "a.example:8443")
	all := make([]net.Conn, many)
	var opened sync.WaitGroup
	for i := range all {
		opened.Go(func() { all[i] = connect(t, p, "a.example:8443") })
	}
	opened.Wait()
	for i, c := range all {
		fmt.Fprintf(c, "%06d", i)
	}
	for i, c := range all {
		got := make([]byte, 6)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != fmt.Sprintf("%06d", i) {
			t.Fatalf("connection %d: %q, %v", i, got, err)
		}
	}
	// one more waits until another ends
	more := dial(t, p.Address())
	io.WriteString(more, "CONNECT a.example:8443 HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = more.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := more.Read(make([]byte, 1)); err == nil {
		t.Errorf("connection %d was served beside the others: %d bytes", many+1, n)
	}
	all[0].Close()
	_ = more.SetReadDeadline(time.Now().Add(60 * time.Second))
	if _, err := io.ReadFull(more, make([]byte, 12)); err != nil {
		t.Errorf("connection %d when another had ended: %v", many+1, err)
	}
}

// Who sends nothing, or a byte now and then, is sent away.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	w := newWorld()
	p := w.start(t, egress.Options{HeaderTime: time.Second, Connections: 2}, "a.example")
	silent, slow := dial(t, p.Address()), dial(t, p.Address())
	go func() {
		for {
			if _, err := io.WriteString(slow, "X"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for name, c := range map[string]net.Conn{"silent": silent, "slow": slow} {
		if _, err := io.ReadAll(c); err != nil {
			if network, ok := err.(net.Error); ok && network.Timeout() {
				t.Errorf("the %s client still has its place", name)
			}
		}
	}
	if status, _ := ask(t, p.Address(), "CONNECT b.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"); status != 403 {
		t.Errorf("behind them: %d, want 403", status)
	}
}

func TestHeadTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld()
	p := w.start(t, egress.Options{}, "a.example")
	c := dial(t, p.Address())
	go func() {
		io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: ")
		io.Copy(c, strings.NewReader(strings.Repeat("x", 1<<20)))
	}()
	answer := make([]byte, 12)
	if _, err := io.ReadFull(c, answer); err == nil && string(answer) != "HTTP/1.1 431" {
		t.Errorf("a head of 1 MiB: %q, want 431", answer)
	}
}

// When the proxy closes, every connection ends, whatever it was doing, and so do
// all goroutines.
func TestCloseEndsEverything(t *testing.T) { //nolint:paralleltest // it counts goroutines
	w := newWorld()
	hang := make(chan struct{})
	w.put("a.example", publicAddress, 443, echo(t))
	w.put("a.example", publicAddress, 80, listen(t, func(c net.Conn) { <-hang }))
	defer close(hang)
	list, err := hosts.ParseList([]string{"*.example"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := egress.Start(t.Context(), egress.Options{Hosts: list, Lookup: w.lookup, Dial: func(c ctx, network, address string) (net.Conn, error) {
		if strings.HasSuffix(address, ":444") { // a server that does not answer
			<-c.Done()
			return nil, c.Err()
		}
		return w.dial(c, network, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	waiting := []net.Conn{
		dial(t, p.Address()),
		connect(t, p, "a.example:443"),
		dial(t, p.Address()),
		dial(t, p.Address()),
		dial(t, p.Address()),
	}
	io.WriteString(waiting[2], "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
	io.WriteString(waiting[3], "CONNECT a.example:444 HTTP/1.1\r\nHost: a.example\r\n\r\n")
	io.WriteString(waiting[4], "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100\r\n\r\nnot all")
	eventually(t, "both requests at the server, the dead one tried", func() bool {
		n := 0
		for _, address := range w.went() {
			if strings.HasSuffix(address, ":80") {
				n++
			}
		}
		return n == 2
	})
	p.Close()
	for i, c := range waiting {
		if _, err := io.ReadAll(c); err != nil {
			if network, ok := err.(net.Error); ok && network.Timeout() {
				t.Errorf("connection %d is still open", i)
			}
		}
	}
	if _, err := net.Dial("tcp", p.Address()); err == nil {
		t.Error("the port is still open")
	}
	eventually(t, "no goroutine of a proxy left", func() bool { return stacks("egress.(*Proxy)")+stacks("egress.join") == 0 })
	p.Close() // again is no harm
}

func TestContextEndsTheProxy(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("a.example", publicAddress, 443, echo(t))
	list, _ := hosts.ParseList([]string{"a.example"})
	c, cancel := withCancel(t)
	p, err := egress.Start(c, egress.Options{Hosts: list, Lookup: w.lookup, Dial: w.dial})
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, p, "a.example:443")
	cancel()
	if _, err := io.ReadAll(conn); err != nil {
		if network, ok := err.(net.Error); ok && network.Timeout() {
			t.Error("the tunnel outlived the context")
		}
	}
	p.Close()
}

func TestEnv(t *testing.T) {
	t.Parallel()
	p := newWorld().start(t, egress.Options{})
	env := p.Env()
	address := "http://" + p.Address()
	if !strings.HasPrefix(p.Address(), "127.0.0.1:") || len(p.Ports()) != 1 || p.Address() != fmt.Sprintf("127.0.0.1:%d", p.Ports()[0]) {
		t.Errorf("Address() = %q, Ports() = %v", p.Address(), p.Ports())
	}
	for _, want := range []string{
		"HTTP_PROXY=" + address, "HTTPS_PROXY=" + address, "ALL_PROXY=" + address, "http_proxy=" + address, "https_proxy=" + address,
		"all_proxy=" + address, "NO_PROXY=localhost,127.0.0.1,::1,[::1],0.0.0.0", "no_proxy=localhost,127.0.0.1,::1,[::1],0.0.0.0",
		"YARN_HTTP_PROXY=" + address, "YARN_HTTPS_PROXY=" + address, "NODE_USE_ENV_PROXY=1",
	} {
		if !strings.Contains("\n"+strings.Join(env, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("Env() = %q, want %q in it", env, want)
		}
	}
}

// A proxy with a password is for those who know it: whoever does not learns nothing of
// the hosts, and no host is asked.
func TestPassword(t *testing.T) {
	t.Parallel()
	const password = "9XJ4-only-this-run"
	asked := 0
	w := newWorld()
	w.put("a.example", publicAddress, 80, web(t, func(_ http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("the server got %q", r.Header)
		}
	}))
	p := w.start(t, egress.Options{Password: password}, "a.example")
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, head := range []string{
		"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n", "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n",
		"CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n", "GET / HTTP/1.1\r\nHost: a.example\r\n",
	} {
		for _, field := range []string{
			"", "Authorization: " + basic("ralph:"+password), "Proxy-Authorization: " + basic("ralph:"), "Proxy-Authorization: " + basic(password),
			"Proxy-Authorization: " + basic("x:"+password), "Proxy-Authorization: " + basic("ralph:"+password+"x"), "Proxy-Authorization: Bearer " + password, "Proxy-Authorization: Basic ?",
		} {
			status, body := ask(t, p.Address(), head+strings.TrimPrefix(field+"\r\n", "\r\n")+"\r\n")
			if status != http.StatusProxyAuthRequired || strings.Contains(body, password) {
				t.Errorf("%s with %q: %d %q, want 407", head, field, status, body)
			}
		}
	}
	if asked != 0 || len(p.Refusals()) != 0 {
		t.Errorf("a server was asked %d times, refused were %v, want nothing", asked, p.Refusals())
	}
	// pip shows it as others do, and before Python 3.12 in a CONNECT of HTTP/1.0 without a host.
	for _, head := range []string{"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n", "CONNECT a.example:80 HTTP/1.0\r\n"} {
		c := dial(t, p.Address())
		io.WriteString(c, head+"Proxy-Authorization: "+basic("ralph:"+password)+"\r\n\r\n")
		status, err := bufio.NewReader(c).ReadString('\n')
		if !strings.Contains(status, " 200 ") || err != nil {
			t.Errorf("%s with the password: %q, %v, want 200", head, status, err)
		}
	}
	asked = 0
	address := ""
	for _, kv := range p.Env() {
		if value, ok := strings.CutPrefix(kv, "http_proxy="); ok {
			address = value
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}}
	response, err := c.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK || asked != 1 {
		t.Errorf("with the address of Env(): %s, asked %d times, want 200, once", response.Status, asked)
	}
}

func TestForwards(t *testing.T) {
	t.Parallel()
	w := newWorld()
	port := freePort(t)
	w.put("db.internal", "10.0.0.7", port, echo(t))
	p := w.start(t, egress.Options{}, fmt.Sprintf("tcp://db.internal:%d", port), "tcp://localhost:6379")
	if ports := p.Ports(); len(ports) != 3 || ports[1] != port || ports[2] != 6379 {
		t.Errorf("Ports() = %v, want its own, %d and 6379", ports, port)
	}
	c := dial(t, fmt.Sprintf("127.0.0.1:%d", port))
	io.WriteString(c, "select 1")
	c.CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "select 1" {
		t.Errorf("through the port: %q, %v", got, err)
	}
	if went := w.went(); len(went) != 1 || went[0] != fmt.Sprintf("10.0.0.7:%d", port) {
		t.Errorf("connections to %v, want one to the server", went)
	}
}

// A service's port is found where it is: on this machine, or beside it, at the port by
// which a workflow knows it, and by 127.0.0.1 and ::1 alike.
func TestServices(t *testing.T) {
	t.Parallel()
	here, free, far := echo(t), freePort(t), freePort(t)
	published := dial(t, here).RemoteAddr().(*net.TCPAddr).Port
	list, said := egress.Services(t.Context(), []hosts.Service{
		{Name: "postgres", Port: 5432, Published: published}, {Name: "localhost", Port: 6379, Published: free},
		{Name: "gone.invalid", Port: 80, Published: far}, {Name: "quiet"},
	})
	if want := fmt.Sprintf("tcp://localhost:%d tcp://localhost:6379", published); list.String() != want {
		t.Errorf("Services() = %s, want %s", list, want)
	}
	for i, want := range []string{
		fmt.Sprintf("postgres on localhost:%d", published), fmt.Sprintf("localhost on localhost:%d", free),
		fmt.Sprintf("gone.invalid on localhost:%d (not reachable: nothing listens there, and no container of that name is on this network)", far),
		"quiet (not reachable: the job's ports: publish none of its ports)",
	} {
		if len(said) != 4 || said[i] != want {
			t.Errorf("Services() says %q, want %q", said, want)
		}
	}

	w := newWorld()
	w.put("redis", "172.18.0.3", 6379, here)
	w.put("web", "172.18.0.4", far, here)
	rules := hosts.List{hosts.Service{Name: "redis", Port: 6379, Published: free}.Beside(), hosts.Service{Name: "web", Port: far, Published: far}.Beside()}
	p, err := egress.Start(t.Context(), egress.Options{Hosts: rules, Lookup: w.lookup, Dial: w.dial})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if ports := p.Ports(); len(ports) != 3 || ports[1] != free || ports[2] != far {
		t.Errorf("Ports() = %v, want its own, %d and %d", ports, free, far)
	}
	for _, address := range []string{fmt.Sprintf("127.0.0.1:%d", free), fmt.Sprintf("[::1]:%d", free), fmt.Sprintf("127.0.0.1:%d", far)} {
		c := dial(t, address)
		io.WriteString(c, "PING")
		c.CloseWrite()
		if got, err := io.ReadAll(c); string(got) != "PING" {
			t.Errorf("through %s: %q, %v", address, got, err)
		}
	}
	if want := []string{"172.18.0.3:6379", "172.18.0.3:6379", fmt.Sprintf("172.18.0.4:%d", far)}; !slices.Equal(w.went(), want) {
		t.Errorf("connections to %v, want %v", w.went(), want)
	}
	for _, at := range []hosts.Service{{Name: "redis", Port: 6379}, {Name: "redis", Port: free}, {Name: "localhost", Port: free}} {
		if allowed, _ := rules.Match(at.Name, at.Port); allowed != (at.Port == 6379) {
			t.Errorf("Match(%s, %d) = %v", at.Name, at.Port, allowed)
		}
	}
}

func TestForwardOfAnAddressThatMayNotBe(t *testing.T) {
	t.Parallel()
	w := newWorld()
	port := freePort(t)
	w.put("db.internal", "169.254.169.254", port, echo(t))
	p := w.start(t, egress.Options{}, fmt.Sprintf("tcp://db.internal:%d", port))
	c := dial(t, fmt.Sprintf("127.0.0.1:%d", port))
	if got, _ := io.ReadAll(c); len(got) > 0 || len(w.went()) > 0 {
		t.Errorf("got %q, connections to %v", got, w.went())
	}
	if list := p.Refusals(); len(list) != 1 || list[0].Address != fmt.Sprintf("tcp://db.internal:%d", port) {
		t.Errorf("Refusals() = %v, want the server", list)
	}
}

func TestForwardPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	list, _ := hosts.ParseList([]string{fmt.Sprintf("tcp://db.internal:%d", port)})
	p, err := egress.Start(t.Context(), egress.Options{Hosts: list})
	if err == nil {
		p.Close()
		t.Fatal("Start with a port that is taken: no error")
	}
	if want := fmt.Sprintf("allowed-hosts: tcp://db.internal:%d needs port %d of 127.0.0.1", port, port); !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A connection that comes while the proxy or a key proxy closes is closed with it, not when
// the time for a head is over.
func TestCloseWhileClientsConnect(t *testing.T) {
	t.Parallel()
	for range 30 {
		p := newWorld().start(t, egress.Options{})
		d := keyProxy(t, egress.KeyProxyOptions{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}, nil)
		var coming sync.WaitGroup
		begin := make(chan struct{})
		for _, address := range []string{p.Address(), strings.TrimPrefix(d.URL(), "http://")} {
			coming.Go(func() {
				<-begin
				for {
					c, err := net.Dial("tcp", address)
					if err != nil {
						return
					}
					defer c.Close()
				}
			})
		}
		close(begin)
		start := time.Now()
		p.Close()
		d.Close()
		if took := time.Since(start); took > time.Minute {
			t.Fatalf("closing took %v", took)
		}
		coming.Wait()
	}
}
