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
	"strings"
	"sync"
	"sync/atomic"
)

// plainPort is where servers speak HTTP without TLS, and securePort where they speak it
// with TLS, but may take it without.
const plainPort, securePort = 80, 443

// isPlain reports whether the first bytes through a tunnel are no TLS, at a port where
// servers take HTTP then.
func isPlain(first []byte, t target) bool {
	return (t.port == plainPort || t.port == securePort) && len(first) > 0 && (first[0] < recordTypeFirst || first[0] > recordTypeLast)
}

// plain hands on the requests in plain HTTP that a client sends through a tunnel, each
// written anew. Their Host has to be allowed on the port, as the name in a TLS
// handshake has to be: else a server that many hosts share could be asked for one
// that is refused. The first request may change the protocol where answered is not
// nil; it has the status of its answer, and with 101 what follows goes on as it is.
func (p *Proxy) plain(server io.Writer, client net.Conn, first []byte, t target, answered <-chan int) error {
	head := &io.LimitedReader{R: io.MultiReader(bytes.NewReader(first), client)}
	in := bufio.NewReader(head)
	for refuse := p.refusePlain; ; refuse, answered = p.refuseLater, nil {
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
		if answered == nil || keepsHost(upgrade) {
			upgrade = ""
		}
		if upgrade != "" {
			out.Header.Set("Connection", "Upgrade")
			out.Header.Set("Upgrade", upgrade)
		}
		if err := out.Write(server); err != nil {
			return err
		}
		if upgrade != "" && <-answered == http.StatusSwitchingProtocols {
			_, err := io.Copy(server, in)
			return err
		}
	}
}

// keepsHost reports whether one of the protocols of an Upgrade field is HTTP again, or
// TLS, in which further hosts could be named.
func keepsHost(upgrade string) bool {
	for name := range strings.SplitSeq(strings.ToLower(upgrade), ",") {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "h2") || strings.HasPrefix(name, "http") || strings.HasPrefix(name, "tls") {
			return true
		}
	}
	return false
}

// listened is a connection to a server by which one hears how the first request on it
// is answered.
type listened struct {
	net.Conn
	head   []byte
	once   sync.Once
	heard  atomic.Bool
	status chan int // of the first final answer, 0 where there is none; then closed
}

func listenTo(server net.Conn) *listened { return &listened{Conn: server, status: make(chan int, 1)} }

func (l *listened) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if !l.heard.Load() {
		l.hear(p[:n], err)
	}
	return n, err
}

// hear looks for the end of an answer's head. Answers that announce another one, as
// 100 does, are no final ones.
func (l *listened) hear(b []byte, err error) {
	l.head = append(l.head, b...)
	for {
		head, rest, whole := bytes.Cut(l.head, []byte("\r\n\r\n"))
		if !whole {
			break
		}
		var status int
		_, wrong := fmt.Sscanf(string(head), "HTTP/1.1 %3d", &status)
		if wrong != nil || status < 100 || status == http.StatusSwitchingProtocols || status >= 200 {
			l.tell(status)
			return
		}
		l.head = rest
	}
	if err != nil || len(l.head) > headerBytes {
		l.tell(0)
	}
}

func (l *listened) tell(status int) {
	l.once.Do(func() {
		l.heard.Store(true)
		l.status <- status
		close(l.status)
	})
}

// Close also ends the wait for an answer.
func (l *listened) Close() error {
	l.tell(0)
	return l.Conn.Close()
}

// CloseWrite says that nothing more is sent.
func (l *listened) CloseWrite() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return io.EOF
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
