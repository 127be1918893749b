package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// firstBytes is what most handshakes fit into.
const firstBytes = 4 << 10

// The types of TLS records.
const recordTypeFirst, recordTypeLast = 20, 24

// readHello reads the first bytes a client sends through a tunnel, and gives them
// when they may go on. A TLS handshake that names a host (SNI) has to name the
// one the tunnel leads to, or another that is allowed on its port: else a server
// that many hosts share could be asked for one that is refused. A handshake
// without a name passes, as does one whose real name is encrypted (ECH) behind an
// allowed one, which cannot be told from the noise that browsers send in its
// place. What is no TLS passes; plain looks at it where it is HTTP.
func (p *Proxy) readHello(client net.Conn, early []byte, t target) ([]byte, error) {
	rest := bytes.NewReader(early)
	tape := &tape{src: io.MultiReader(rest, client)}
	all := func() []byte { return append(tape.all, early[len(early)-rest.Len():]...) }
	first := make([]byte, firstBytes)
	if n, err := tape.Read(first); n == 0 {
		if errors.Is(err, io.EOF) {
			return nil, nil // the copying that follows sees it again
		}
		return nil, err
	}
	if first[0] < recordTypeFirst || first[0] > recordTypeLast {
		return all(), nil
	}
	name, err := serverName(client, tape)
	reason := badHandshake
	if err == nil {
		if p.mayName(name, t) {
			return all(), nil
		}
		reason = otherName
		p.refusals.add(clean(name)+" behind "+t.String(), reason)
	} else {
		if tape.err != nil { // the client left, or was too slow
			return nil, tape.err
		}
		p.refusals.add(t.String(), reason)
	}
	_, _ = client.Write([]byte{21, 3, 3, 0, 2, 2, 112}) // a fatal alert: unrecognized_name
	return nil, &refusal{reason}
}

func (p *Proxy) mayName(name string, t target) bool {
	if name == "" {
		return true
	}
	if host, err := hosts.Canonical(name); err == nil && host == t.host {
		return true
	}
	allowed, _ := p.dialer.list.Match(name, t.port)
	return allowed
}

// serverName lets the standard library read the ClientHello, over as many records
// as it has.
func serverName(conn net.Conn, tape *tape) (name string, err error) {
	seen := errors.New("seen")
	tape.again = tape.all
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, seen
	}}
	if err = tls.Server(&playback{conn, tape}, config).Handshake(); errors.Is(err, seen) {
		return name, nil
	}
	return "", err
}

// tape keeps what was read, at most a ClientHello of the length that crypto/tls
// bounds.
type tape struct {
	src   io.Reader
	all   []byte
	again []byte // read once more, before the rest
	err   error  // of src
}

func (t *tape) Read(b []byte) (int, error) {
	if len(t.again) > 0 {
		n := copy(b, t.again)
		t.again = t.again[n:]
		return n, nil
	}
	n, err := t.src.Read(b)
	t.all = append(t.all, b[:n]...)
	t.err = err
	return n, err
}

// playback is a connection that is only listened to.
type playback struct {
	net.Conn
	tape *tape
}

func (p *playback) Read(b []byte) (int, error)  { return p.tape.Read(b) }
func (p *playback) Write(b []byte) (int, error) { return len(b), nil }
func (p *playback) Close() error                { return nil }
