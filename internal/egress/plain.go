package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
)

// plainPort is where servers speak HTTP without TLS.
const plainPort = 80

// isPlain says of the first bytes through a tunnel that they are no TLS, at a port
// where servers take HTTP then.
func isPlain(first []byte, t target) bool {
	return t.port == plainPort && len(first) > 0 && (first[0] < recordTypeFirst || first[0] > recordTypeLast)
}

// plain hands on the requests in plain HTTP that a guest sends through a tunnel, each
// written anew. Their Host has to be allowed on the port, as the name in a TLS
// handshake has to be: else a server that many hosts share could be asked for one
// that is refused. Where raw, a request may change the protocol, and what follows
// goes on as it is.
func (p *Proxy) plain(server io.Writer, client net.Conn, first []byte, t target, raw bool) error {
	head := &io.LimitedReader{R: io.MultiReader(bytes.NewReader(first), client)}
	in := bufio.NewReader(head)
	for refuse := p.refusePlain; ; refuse = p.refuseLater {
		head.N = headerBytes
		r, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) && head.N > 0 {
			return nil // the copying that follows sees it again
		}
		if err != nil {
			return refuse(client, t.String(), badPlain)
		}
		head.N = math.MaxInt64
		to, err := parseAuthority(r.Host, plainPort)
		switch {
		case err != nil, r.ProtoMajor != 1, r.Method == http.MethodConnect:
			return refuse(client, t.String(), badPlain)
		case !p.mayName(to.host, t):
			return refuse(client, clean(to.host)+" behind "+t.String(), otherHost)
		}
		u := *r.URL
		u.Scheme, u.Host, u.User = "http", r.Host, nil
		out := outgoing(r, &u)
		out.Close = r.Close
		upgrade := r.Header.Get("Upgrade")
		if raw && upgrade != "" {
			out.Header.Set("Connection", "Upgrade")
			out.Header.Set("Upgrade", upgrade)
		}
		if err := out.Write(server); err != nil {
			return err
		}
		if raw && upgrade != "" {
			_, err := io.Copy(server, in)
			return err
		}
	}
}

// refuseLater ends a tunnel in which the answer to an earlier request may be under way.
func (p *Proxy) refuseLater(_ io.Writer, address, reason string) error {
	p.refusals.add(address, reason)
	return &refusal{reason}
}

// refusePlain says no to the first request in a tunnel, and ends that.
func (p *Proxy) refusePlain(client io.Writer, address, reason string) error {
	text := fmt.Sprintf("ralph: %s: %s\n", address, reason)
	_, _ = fmt.Fprintf(client, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
	return p.refuseLater(client, address, reason)
}
