package egress

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
)

// minPlaceholder is the length below which a placeholder could be guessed.
const minPlaceholder = 16

// KeyProxyOptions are what a key proxy leads to, and who may use it for what.
type KeyProxyOptions struct {
	// Upstream is the address of the API, https or http, without a user. A request
	// for /path at the key proxy is one for Upstream's path + /path.
	Upstream *url.URL
	// Key is added to each request in the field Header, behind Scheme and a space
	// where Scheme is not empty: "x-api-key", or "Authorization" with "Bearer".
	Key    secret.String
	Header string
	Scheme string
	// Placeholder is what a client has in the key's place; a random one when empty.
	// It is what tells the agent from other programs on the machine.
	Placeholder string
	// Endpoints are the requests below Upstream that the key is good for, each a method
	// and a path, "POST /v1/messages". "{name}" stands for a part of a path without "/"
	// and ":". Empty: all.
	Endpoints []string
	// Proxy is the machine's own proxy for a URL, as [Options.Upstream].
	Proxy func(*url.URL) (*url.URL, error)
	// Transport sends the requests; nil is one with the system's roots and Proxy.
	Transport http.RoundTripper
	// Connections is how many there may be at the same time, 128 when 0.
	Connections int
}

// KeyProxy is a server on a port of 127.0.0.1 that sends requests on to one API, with
// a key that clients never see. Its methods are safe for concurrent use.
type KeyProxy struct {
	o         KeyProxyOptions
	endpoints []endpoint
	server    *http.Server
	transport http.RoundTripper
	redactor  *secret.Redactor
	address   string
	slots     slots
	buffers   sync.Pool
	kept      atomic.Int64
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// StartKeyProxy opens a key proxy. It ends with ctx, or by Close.
func StartKeyProxy(ctx context.Context, o KeyProxyOptions) (*KeyProxy, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("key proxy: %w", err)
	}
	endpoints, err := parseEndpoints(o.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("key proxy: %w", err)
	}
	o.Scheme = strings.TrimSpace(o.Scheme)
	if o.Placeholder == "" {
		o.Placeholder = "ralph-" + rand.Text()
	}
	if o.Connections <= 0 {
		o.Connections = 128
	}
	listener, err := listen(ctx, "127.0.0.1", 0)
	if err != nil {
		return nil, fmt.Errorf("key proxy: %w", err)
	}
	k := &KeyProxy{o: o, endpoints: endpoints, transport: o.Transport, redactor: secret.NewRedactor(o.Key), address: listener.Addr().String(), slots: make(slots, o.Connections)}
	if k.transport == nil {
		k.transport = keyProxyTransport(o.Proxy)
	}
	k.buffers.New = newBuffer
	ctx, k.cancel = context.WithCancel(ctx)
	k.server = newServer(ctx, duplex(&k.kept, k.serve), headerTime, k.slots)
	k.running.Go(func() { _ = k.server.Serve(limited{listener, k.slots, ctx.Done()}) })
	context.AfterFunc(ctx, func() { _ = k.server.Close() })
	return k, nil
}

func (o KeyProxyOptions) check() error {
	switch {
	case o.Upstream == nil || o.Upstream.Host == "" || o.Upstream.Scheme != "https" && o.Upstream.Scheme != "http":
		return errors.New("the address of the API begins with https:// or http://")
	case o.Upstream.User != nil || o.Upstream.RawQuery != "" || o.Upstream.Fragment != "":
		return errors.New("the address of the API has no user, query or fragment")
	case !o.Key.IsSet() || strings.ContainsFunc(o.Key.Reveal(), func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errors.New("the key is empty, or has characters that no HTTP field may have")
	case o.Header == "":
		return errors.New("no field for the key")
	case o.Placeholder != "" && len(o.Placeholder) < minPlaceholder:
		return fmt.Errorf("the placeholder is shorter than %d characters", minPlaceholder)
	case o.Placeholder == o.Key.Reveal():
		return errors.New("the placeholder is the key")
	}
	return nil
}

// keyProxyTransport speaks HTTP/2 where the API does, verifies it with the system's
// roots, and waits for an answer as long as the client does: models think for
// minutes.
func keyProxyTransport(proxy func(*url.URL) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}
	dialer.SetMultipathTCP(false)
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &trackedConn{Conn: conn}, nil
		},
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: headerTime,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 30 * time.Second, PingTimeout: 45 * time.Second,
			MaxReceiveBufferPerStream: 1 << 20, MaxReceiveBufferPerConnection: 32 << 20, // what a client that does not read can make us hold
		},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: answerHeadBytes,
	}
	if proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return readable(proxy)(r.URL) }
	}
	return t
}

// URL is what stands for the API's address: http://127.0.0.1:PORT.
func (k *KeyProxy) URL() string { return "http://" + k.address }

// Port is the port of loopback that clients have to be let to.
func (k *KeyProxy) Port() int {
	t, _ := parseAuthority(k.address, 0)
	return t.port
}

// Placeholder is what a client sends in the key's place.
func (k *KeyProxy) Placeholder() string { return k.o.Placeholder }

// Close ends all connections, and returns when they have ended.
func (k *KeyProxy) Close() {
	k.cancel()
	_ = k.server.Close()
	k.running.Wait()
	k.slots.wait()
	if idle, ok := k.transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// serve sends one request on. The order says what a stranger learns: nothing but
// that the placeholder is missing.
func (k *KeyProxy) serve(w http.ResponseWriter, r *http.Request, q *requestBody) {
	u, err := k.destination(r)
	switch {
	case !k.knows(r.Header):
		answer(w, http.StatusUnauthorized, "this address is for the agent alone: the placeholder of the key is missing")
	case r.Header.Get("Upgrade") != "":
		// codex tries a WebSocket first, and takes this status as no failure
		answer(w, http.StatusUpgradeRequired, "no WebSocket here; use plain requests")
	case err != nil:
		answer(w, http.StatusForbidden, err.Error())
	default:
		k.send(w, r, q, u)
	}
}

func (k *KeyProxy) send(w http.ResponseWriter, r *http.Request, q *requestBody, u *url.URL) {
	out, cancel := upstreamRequest(r, u, q)
	removeCredentials(out.Header)
	out.Header.Set("Accept-Encoding", "identity") // so that the key is found in bodies
	out.Header.Set(k.o.Header, strings.TrimSpace(k.o.Scheme+" "+k.o.Key.Reveal()))
	response, err := k.transport.RoundTrip(out)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
	}
	defer cancel()
	q.answered()
	if err != nil {
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		answer(w, http.StatusBadGateway, k.redactor.Text(u.Host+" does not answer: "+clean(err.Error())))
		return
	}
	if place := response.Header.Get("Location"); 300 <= response.StatusCode && response.StatusCode < 400 && response.StatusCode != http.StatusNotModified {
		answer(w, http.StatusBadGateway, k.redactor.Text(u.Host+" redirects to "+clean(place)+"; base-url has to be where the API is"))
		return
	}
	k.redact(response)
	buffer := k.buffers.Get().(*[copyBytes]byte)
	defer k.buffers.Put(buffer)
	body := k.redactor.Writer(w)
	relay(w, q, response, body, buffer[:])
	_ = body.Close()
}

// redact takes the key out of the head of an answer. Its length is left open,
// because the key may be in the body, too; cookies are not for clients.
func (k *KeyProxy) redact(response *http.Response) {
	for name, values := range response.Header {
		if strings.Contains(strings.ToLower(name), strings.ToLower(k.o.Key.Reveal())) { // names lose their case on the way
			delete(response.Header, name)
			continue
		}
		for i, value := range values {
			values[i] = k.redactor.Text(value)
		}
	}
	response.Header.Del("Set-Cookie")
	if response.Request == nil || response.Request.Method != http.MethodHead {
		response.Header.Del("Content-Length")
	}
}

// knows reports whether the placeholder stands where one of the usual clients puts a key.
func (k *KeyProxy) knows(h http.Header) bool {
	for _, name := range []string{k.o.Header, "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		for _, value := range h.Values(name) {
			if scheme, rest, found := strings.Cut(value, " "); found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, k.o.Scheme)) {
				value = strings.TrimSpace(rest)
			}
			if subtle.ConstantTimeCompare([]byte(value), []byte(k.o.Placeholder)) == 1 {
				return true
			}
		}
	}
	return false
}
