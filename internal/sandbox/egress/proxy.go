package egress

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

const (
	defaultConnections = 512
	defaultIdle        = time.Hour
	headerBytes        = 64 << 10
	headerTime         = 10 * time.Second
	// keepIdle is how long a client may keep a connection without a request: longer than
	// clients do (Go and reqwest 90 seconds, Bun five minutes), so that none sends a
	// request while its connection ends.
	keepIdle = 6 * time.Minute
)

// Options are what the proxy decides by.
type Options struct {
	// Hosts is the allow-list. An open one allows every public host here.
	Hosts hosts.List
	// Upstream is the machine's own proxy for a URL, or nil for none, as
	// http.ProxyFromEnvironment is. nil: there is none. The proxy's URL may have a
	// user and a password, which no client sees.
	Upstream func(*url.URL) (*url.URL, error)
	// Password is what clients have to show, as that of the user "ralph"; "": none. The
	// ports of tcp:// rules know none.
	Password string
	// Refused is told of each address (host:port; foreign text, cleaned) when it is
	// refused for the first time, from any goroutine. It may be nil.
	Refused func(address, reason string)

	// Connections is how many clients may have at the same time, 512 when 0. Further
	// ones wait.
	Connections int
	// Idle is how long nothing may move on a connection, an hour when 0. There is
	// no limit on how long one lasts.
	Idle time.Duration
	// HeaderTime is how long a client may take to send the head of a request, 10
	// seconds when 0.
	HeaderTime time.Duration

	// Lookup resolves a name; nil is the system's way.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that was decided on; nil is a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy is a running proxy. Its methods are safe for concurrent use.
type Proxy struct {
	dialer   *dialer
	server   *http.Server
	direct   *http.Transport
	chained  *http.Transport // through the machine's own proxy
	address  string
	ports    []int
	password string
	idle     time.Duration
	slots    slots
	refusals refusals
	open     connections
	buffers  sync.Pool
	kept     atomic.Int64
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Start listens on a port of 127.0.0.1 that the system chooses, and on the ports
// of the tcp:// rules. It fails when one of those is taken. The proxy ends with
// ctx, or by Close.
func Start(ctx context.Context, o Options) (*Proxy, error) {
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.HeaderTime <= 0 {
		o.HeaderTime = headerTime
	}
	listener, err := listen(ctx, "127.0.0.1", 0)
	if err != nil {
		return nil, fmt.Errorf("egress proxy: %w", err)
	}
	w := newDialer(o)
	p := &Proxy{
		dialer: w, direct: w.transport(false, o.Idle), chained: w.transport(true, o.Idle),
		address: listener.Addr().String(), ports: []int{listener.Addr().(*net.TCPAddr).Port},
		password: o.Password, idle: o.Idle, slots: make(slots, o.Connections),
	}
	p.refusals.tell = o.Refused
	p.buffers.New = newBuffer
	ctx, p.cancel = context.WithCancel(ctx)
	p.server = newServer(ctx, p.handler(), o.HeaderTime, p.slots)
	if err := p.forward(ctx, o.Hosts.Forwards()); err != nil {
		_ = listener.Close()
		p.Close()
		return nil, err
	}
	p.running.Go(func() { _ = p.server.Serve(limited{listener, p.slots, ctx.Done()}) })
	context.AfterFunc(ctx, p.shut)
	return p, nil
}

// newServer makes a server for clients that end with ctx.
func newServer(ctx context.Context, h http.Handler, headerTime time.Duration, s slots) *http.Server {
	return &http.Server{
		Handler:                      h,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  keepIdle,
		MaxHeaderBytes:               headerBytes,
		ErrorLog:                     log.New(io.Discard, "", 0), // what clients do wrong is no news
		ConnState:                    s.follow(ctx),
		DisableGeneralOptionsHandler: true,
	}
}

func listen(ctx context.Context, address string, port int) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
}

// Address is 127.0.0.1:PORT.
func (p *Proxy) Address() string { return p.address }

// Ports are the ports of loopback that clients have to be let to: the proxy's own of
// 127.0.0.1 first, and those of the tcp:// rules, of ::1 as well.
func (p *Proxy) Ports() []int { return slices.Clone(p.ports) }

// ByName reports whether the machine's own proxy stands behind this one, so that only
// names are judged: the addresses they resolve to are that proxy's affair.
func (p *Proxy) ByName() bool {
	u, err := p.dialer.upstream(&url.URL{Scheme: "https", Host: "public.example:443"})
	return u != nil || err != nil
}

// Env are the variables that programs find a proxy by. Node's fetch listens to
// NODE_USE_ENV_PROXY only, and reads ::1 as a port of an empty host, so that it
// needs brackets, as Python does; yarn from 2 on reads its own variables only, and
// refuses a YARN_NO_PROXY; claude knows no ranges in NO_PROXY.
func (p *Proxy) Env() []string {
	const direct = "localhost,127.0.0.1,::1,[::1],0.0.0.0"
	u := url.URL{Scheme: "http", Host: p.address}
	if p.password != "" {
		u.User = url.UserPassword(proxyUser, p.password)
	}
	address := u.String()
	return []string{
		"HTTP_PROXY=" + address, "HTTPS_PROXY=" + address, "ALL_PROXY=" + address, "NO_PROXY=" + direct,
		"http_proxy=" + address, "https_proxy=" + address, "all_proxy=" + address, "no_proxy=" + direct,
		"YARN_HTTP_PROXY=" + address, "YARN_HTTPS_PROXY=" + address, "NODE_USE_ENV_PROXY=1",
	}
}

// Refusals are what was refused so far, the most frequent first. At most 256
// addresses are told apart; the rest are counted as one.
func (p *Proxy) Refusals() []Refusal { return p.refusals.list() }

// Close ends all connections, and returns when their goroutines have ended.
func (p *Proxy) Close() {
	p.cancel()
	p.shut()
	p.running.Wait()
	p.slots.wait()
}

func (p *Proxy) shut() {
	_ = p.server.Close()
	p.open.closeAll()
	p.direct.CloseIdleConnections()
	p.chained.CloseIdleConnections()
}

// handler answers each request: a tunnel, or one in absolute form.
func (p *Proxy) handler() http.HandlerFunc {
	request := duplex(&p.kept, p.request)
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !p.knows(r.Header):
			// Some programs ask without it first, so this is none of the refusals.
			w.Header().Set("Proxy-Authenticate", `Basic realm="ralph"`)
			answer(w, http.StatusProxyAuthRequired, "this proxy is for one run alone; its address with the password is in HTTPS_PROXY")
		case r.Method == http.MethodConnect:
			p.tunnel(w, r)
		default:
			request(w, r)
		}
	}
}

// proxyUser is the name to the proxy's password.
const proxyUser = "ralph"

// knows reports whether a request has the proxy's password, in the form of RFC 7617.
func (p *Proxy) knows(h http.Header) bool {
	if p.password == "" {
		return true
	}
	scheme, encoded, _ := strings.Cut(h.Get("Proxy-Authorization"), " ")
	given, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	return err == nil && strings.EqualFold(scheme, "Basic") && subtle.ConstantTimeCompare(given, []byte(proxyUser+":"+p.password)) == 1
}

// refuse says no, with a line for whoever reads it.
func (p *Proxy) refuse(w http.ResponseWriter, address string, err error) {
	var no *refusal
	if errors.As(err, &no) {
		if no.reason != badRequest { // that names no address
			p.refusals.add(address, no.reason)
		}
		answer(w, no.status(), fmt.Sprintf("%s: %s", clean(address), no.reason))
		return
	}
	answer(w, http.StatusBadGateway, fmt.Sprintf("%s: %s", clean(address), clean(err.Error())))
}

// answer writes one line and ends the connection.
func answer(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Connection", "close")
	h.Set("X-Content-Type-Options", "nosniff")
	text = "ralph: " + text + "\n"
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) //nolint:gosec // G705: plain text, cleaned, and said to be no other
}
