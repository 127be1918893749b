package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// trackedConn is a connection to a server by which a transport of net/http hears what the
// server said before it left. Some answer an upload early and close: what is written
// then fails, and for that a transport would give up the answer, too. The rest of such
// a request goes nowhere instead, and what is read says how it ended.
type trackedConn struct {
	net.Conn
	begun atomic.Bool // something of the request was written
	left  atomic.Bool
}

// tracking tells each tracked connection of a request that this one begins.
func tracking(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		for conn := info.Conn; conn != nil; {
			if h, ok := conn.(*trackedConn); ok {
				h.begun.Store(false)
				return
			}
			secured, ok := conn.(interface{ NetConn() net.Conn }) // TLS, also inside of a proxy's
			if !ok {
				return
			}
			conn = secured.NetConn()
		}
	}})
}

func (c *trackedConn) Write(p []byte) (int, error) {
	if c.left.Load() {
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.begun.Store(true)
	}
	// a request of which nothing was written has no answer, and can be asked again
	if err != nil && c.begun.Load() && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
		c.left.Store(true)
		return len(p), nil
	}
	return n, err
}

// Read: an answer without a length may have been cut when the server left.
func (c *trackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF && c.left.Load() { //nolint:errorlint // Read gives it as it is
		err = syscall.ECONNRESET
	}
	return n, err
}
