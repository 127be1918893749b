package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// copyBytes is the size of a buffer for bodies.
const copyBytes = 64 << 10

func newBuffer() any { return new([copyBytes]byte) }

// request answers a request in absolute form (RFC 9112, 3.2.2). What goes on is
// written anew: the Host field is made of the address, whatever the client's
// said, and there is one length of the body.
func (p *Proxy) request(w http.ResponseWriter, r *http.Request, q *requestBody) {
	u, t, err := absolute(r)
	if err != nil {
		p.refuse(w, r.RequestURI, err)
		return
	}
	if _, err := p.dialer.decide(t); err != nil {
		p.refuse(w, t.String(), err)
		return
	}
	proxy, err := p.dialer.upstream(u)
	if err != nil {
		p.refuse(w, t.String(), err)
		return
	}
	transport := p.direct
	if proxy != nil {
		transport = p.chained
	}
	out, cancel := upstreamRequest(r, u, q)
	response, err := transport.RoundTrip(out)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
	}
	defer cancel()
	q.answered()
	if err != nil {
		if reasonOf(err) == "" && r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Err != nil { // with both addresses
			err = fmt.Errorf("the connection broke: %w", op.Err)
		}
		p.refuse(w, t.String(), err)
		return
	}
	buffer := p.buffers.Get().(*[copyBytes]byte)
	defer p.buffers.Put(buffer)
	relay(w, q, response, w, buffer[:])
}

// absolute reads the address of a request that is not encrypted.
func absolute(r *http.Request) (*url.URL, target, error) {
	const scheme = "http://"
	text := r.RequestURI
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return nil, target{}, &refusal{badRequest}
	}
	authority := text[len(scheme):]
	if i := strings.IndexAny(authority, "/?#\\"); i >= 0 {
		authority = authority[:i]
	}
	if r.URL.User != nil || r.URL.Opaque != "" || r.URL.Host != authority {
		return nil, target{}, &refusal{badAddress}
	}
	t, err := parseAuthority(authority, 80)
	if err != nil {
		return nil, target{}, err
	}
	u := *r.URL
	u.Scheme, u.Host = "http", t.String()
	if host, found := strings.CutSuffix(u.Host, ":80"); found {
		u.Host = host
	}
	return &u, t, nil
}

// upstreamRequest is a client's request for u, with the body q. cancel is called before the
// response is closed, which waits for a client that does not go on with its request.
func upstreamRequest(r *http.Request, u *url.URL, q *requestBody) (out *http.Request, cancel func()) {
	ctx, cancel := context.WithCancel(tracking(r.Context()))
	out = outgoing(r.WithContext(ctx), u)
	q.of(out)
	return out, cancel
}

// outgoing is a client's request for u, without what belongs to the connection it
// came by.
func outgoing(r *http.Request, u *url.URL) *http.Request {
	out := r.Clone(r.Context())
	out.URL, out.Host, out.RequestURI = u, u.Host, ""
	out.Close, out.TransferEncoding, out.Trailer = false, nil, nil
	removeHops(out.Header)
	out.Header.Del("Expect")
	if _, set := out.Header["User-Agent"]; !set {
		out.Header["User-Agent"] = nil // else Go's own
	}
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return out
}

// removeHops takes out the fields that are about one connection (RFC 9110, 7.6.1).
func removeHops(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}

// relay hands the answer to q on, each piece when it comes. body writes to w. A body
// that ends too early aborts the connection, so that it does not look whole.
func relay(w http.ResponseWriter, q *requestBody, response *http.Response, body io.Writer, buffer []byte) {
	if response.StatusCode < 200 {
		answer(w, http.StatusBadGateway, "the server changes the protocol, which is not supported")
		return
	}
	removeHops(response.Header)
	h := w.Header()
	h["Content-Type"], h["Date"] = nil, nil // else the standard library's
	for name, values := range response.Header {
		h[name] = values
	}
	if !q.isOver() {
		h.Set("Connection", "close")
	}
	w.WriteHeader(response.StatusCode)
	controller := http.NewResponseController(w)
	for {
		if err := controller.Flush(); err != nil {
			panic(http.ErrAbortHandler)
		}
		n, err := response.Body.Read(buffer)
		if _, err := body.Write(buffer[:n]); err != nil {
			panic(http.ErrAbortHandler)
		}
		if err == io.EOF { //nolint:errorlint // Read gives it as it is
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
