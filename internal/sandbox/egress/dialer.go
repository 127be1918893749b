package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

const (
	lookupTime = 10 * time.Second
	dialTime   = 20 * time.Second
	// maxAddresses bounds how many addresses of a name are tried.
	maxAddresses = 8
	// answerHeadBytes bounds the head of a server's answer, which may be a client's friend.
	answerHeadBytes = 256 << 10
)

// dialer decides where a client may go, and goes there.
type dialer struct {
	list   hosts.List
	proxy  func(*url.URL) (*url.URL, error)
	lookup func(context.Context, string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	own    []netip.Addr
}

func newDialer(o Options) *dialer {
	w := &dialer{list: o.Hosts, proxy: o.Upstream, lookup: o.Lookup, dial: o.Dial, own: ownAddresses()}
	if w.lookup == nil {
		w.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if w.dial == nil {
		dialer := &net.Dialer{KeepAlive: 30 * time.Second}
		dialer.SetMultipathTCP(false)
		w.dial = dialer.DialContext
	}
	return w
}

// ownAddresses are this machine's. A system that does not tell has none but
// loopback's.
func ownAddresses() []netip.Addr {
	var own []netip.Addr
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own
}

func (w *dialer) upstream(u *url.URL) (*url.URL, error) {
	if w.proxy == nil {
		return nil, nil
	}
	return readable(w.proxy)(u)
}

// readable takes out of a function's error what it may quote: the password in
// the address of the machine's own proxy.
func readable(proxy func(*url.URL) (*url.URL, error)) func(*url.URL) (*url.URL, error) {
	return func(u *url.URL) (*url.URL, error) {
		found, err := proxy(u)
		if err != nil {
			return nil, errors.New("the address of the machine's own proxy cannot be read")
		}
		return found, nil
	}
}

// decide reports by name, and by address where one was given, whether a client may
// go there. private: the name may resolve to a private or loopback address.
func (w *dialer) decide(t target) (private bool, err error) {
	allowed, private := w.list.Match(t.host, t.port)
	if !allowed {
		return false, &refusal{notAllowed}
	}
	addr, err := netip.ParseAddr(t.host)
	switch {
	case err == nil:
		return private, w.permit(addr, private, true)
	case metadataName(t.host):
		return false, &refusal{metadata}
	case !private && (t.host == "localhost" || strings.HasSuffix(t.host, ".localhost")):
		return false, &refusal{loopbackAddr}
	}
	return private, nil
}

// permit looks at an address. literal: it stood in the request.
func (w *dialer) permit(addr netip.Addr, private, literal bool) error {
	switch where(addr, w.own) {
	case public:
	case privateReach:
		if !private {
			return &refusal{privateAddr}
		}
	case thisMachine:
		if !private {
			return &refusal{loopbackAddr}
		}
	case linkReach:
		if !private || !literal {
			return &refusal{linkLocal}
		}
	case cloudReach:
		if !private || !literal {
			return &refusal{metadata}
		}
	default:
		return &refusal{noUnicast}
	}
	return nil
}

// connect goes to a target that was decided on. The name is resolved once, and
// the addresses that are tried are the ones that were looked at.
func (w *dialer) connect(ctx context.Context, t target, private bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addresses, err := w.resolve(ctx, t.host)
	if err != nil {
		return nil, err
	}
	var refused error
	var allowed []netip.AddrPort
	for _, addr := range addresses {
		if err := w.permit(addr.addr, private, addr.literal); err != nil {
			refused = err
		} else if len(allowed) < maxAddresses {
			allowed = append(allowed, netip.AddrPortFrom(addr.addr.Unmap(), uint16(t.port)))
		}
	}
	if len(allowed) == 0 {
		return nil, refused
	}
	conn, err := w.race(ctx, allowed)
	if err != nil {
		return nil, reword(err)
	}
	return conn, nil
}

type resolved struct {
	addr    netip.Addr
	literal bool
}

func (w *dialer) resolve(ctx context.Context, host string) ([]resolved, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []resolved{{addr, true}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addresses, err := w.lookup(ctx, host)
	if err != nil || len(addresses) == 0 {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound || err == nil {
			return nil, errors.New("no such host")
		}
		return nil, errors.New("the name cannot be resolved at the moment")
	}
	all := make([]resolved, 0, len(addresses))
	for _, a := range addresses {
		all = append(all, resolved{addr: a})
	}
	return all, nil
}

// reword takes addresses out of an error, which say to clients what a name means
// inside of a network.
func reword(err error) error {
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("connecting took too long")
	case errors.As(err, &op) && op.Err != nil:
		return fmt.Errorf("cannot connect: %w", op.Err)
	}
	return errors.New("cannot connect")
}

// transport sends requests that are not encrypted, each to its host, which
// was decided on, or with chained to the machine's own proxy.
func (w *dialer) transport(chained bool, idle time.Duration) *http.Transport {
	t := &http.Transport{
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    headerTime, // of a machine's proxy that is reached by https
		MaxResponseHeaderBytes: answerHeadBytes,
	}
	connect := w.connectTo
	if chained {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return w.upstream(r.URL) }
		connect = func(ctx context.Context, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTime)
			defer cancel()
			return w.dial(ctx, "tcp", address)
		}
	}
	t.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := connect(ctx, address)
		if err != nil {
			return nil, err
		}
		return &trackedConn{Conn: &idleConn{conn, idle}}, nil
	}
	return t
}

// connectTo decides on an address and connects to it.
func (w *dialer) connectTo(ctx context.Context, address string) (net.Conn, error) {
	t, err := parseAuthority(address, 0)
	if err != nil {
		return nil, err
	}
	private, err := w.decide(t)
	if err != nil {
		return nil, err
	}
	return w.connect(ctx, t, private)
}

// idleConn ends when nothing moves.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c *idleConn) Read(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c *idleConn) Write(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}
