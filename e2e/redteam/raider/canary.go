//go:build e2e && linux

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Contact is something that arrived.
type Contact struct {
	Where string // "tcp 192.0.2.1:80"
	Data  string
}

// Places is what the canary listens at; it stands for the whole world outside.
type Places struct {
	Addresses []string          // put on the loopback device first
	TCP       []string          // host:port
	UDP       []string          // host:port
	Unix      []string          // paths, or @names
	Datagram  []string          // the same, for datagrams
	DNS       []string          // host:port; UDP only
	Names     map[string]string // of the DNS; "a,b": one after the other. "*.x": below x
	Forward   map[string]string // host:port: path of a socket
	Contacts  string            // file that the contacts go to
	Ready     string            // file that is made when all is listening
	Settle    string            // path of a socket: see settle.go
}

type watcher struct {
	mu     sync.Mutex
	out    *os.File
	asked  map[string]int
	knocks []func(word string) error // at each place, for settle
	seen   map[string]chan struct{}  // words of knocks that are awaited
	active int                       // connections that are served
	idle   sync.Cond                 // active is 0
}

// canary listens at all places of the file it is given and writes down what
// arrives, until it is killed.
func canary(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var p Places
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	out, err := os.OpenFile(p.Contacts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	w := &watcher{out: out, asked: map[string]int{}, seen: map[string]chan struct{}{}}
	w.idle.L = &w.mu
	for _, a := range p.Addresses {
		if err := addAddress(a); err != nil {
			return fmt.Errorf("address %s: %w", a, err)
		}
	}
	for _, at := range p.TCP {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		w.place("tcp", at)
		go w.accept(l, func(c net.Conn) { w.serve(c, "tcp "+at) })
	}
	for _, path := range p.Unix {
		l, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(path, "@") {
			mode := os.FileMode(0o666)
			if strings.HasSuffix(path, "docker.sock") { // as on a runner whose user is in the group
				mode = 0o660
				if err := os.Chown(path, 0, 1001); err != nil {
					return err
				}
			}
			if err := os.Chmod(path, mode); err != nil {
				return err
			}
		}
		w.place("unix", path)
		go w.accept(l, func(c net.Conn) { w.serve(c, "unix "+path) })
	}
	for _, path := range p.Datagram {
		c, err := net.ListenPacket("unixgram", path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(path, "@") {
			if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // whoever reaches it may knock
				return err
			}
		}
		w.place("unixgram", path)
		go w.receive(c, path, p)
	}
	for _, at := range append(append([]string(nil), p.UDP...), p.DNS...) {
		c, err := net.ListenPacket("udp", at)
		if err != nil {
			return err
		}
		w.place("udp", at)
		go w.receive(c, at, p)
	}
	for at, to := range p.Forward {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		w.place("tcp", at)
		go w.accept(l, func(c net.Conn) { w.forward(c, to) })
	}
	settled, err := net.Listen("unix", p.Settle)
	if err != nil {
		return err
	}
	go w.answerSettled(settled)
	if err := os.WriteFile(p.Ready, nil, 0o644); err != nil {
		return err
	}
	select {}
}

func (w *watcher) note(where string, data []byte) {
	if w.knocked(data) {
		return
	}
	line, err := json.Marshal(Contact{where, strings.ToValidUTF8(string(data), "?")})
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.Write(append(line, '\n'))
}

func (w *watcher) accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		w.busy(1)
		go func() {
			defer w.busy(-1)
			serve(c)
		}()
	}
}

const welcome = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\nConnection: close\r\n\r\n{\"canary\": \"RT-OK\"}\n"

func (w *watcher) serve(c net.Conn, where string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	data := readRequest(c)
	w.note(where, data)
	if len(data) == 0 {
		return
	}
	_, _ = io.WriteString(c, welcome)
	// A body, or a second request in the same connection.
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	buf := make([]byte, 64<<10)
	if n, _ := c.Read(buf); n > 0 {
		w.note(where, append(data, buf[:n]...))
	}
}

// readRequest reads to the end of a head, of the stream or of what is bearable.
func readRequest(c net.Conn) []byte {
	var data []byte
	buf := make([]byte, 16<<10)
	for len(data) < 64<<10 && !bytes.Contains(data, []byte("\r\n\r\n")) {
		n, err := c.Read(buf)
		data = append(data, buf[:n]...)
		if err != nil {
			break
		}
		// What is no HTTP comes as one piece: a greeting of TLS, a word.
		_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	}
	return data
}

func (w *watcher) receive(c net.PacketConn, at string, p Places) {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		w.note(c.LocalAddr().Network()+" "+at, buf[:n])
		if answer := w.resolve(buf[:n], p.Names); answer != nil {
			_, _ = c.WriteTo(answer, from)
		}
	}
}

// resolve answers a question for an address, RFC 1035; nil: it is none.
func (w *watcher) resolve(q []byte, names map[string]string) []byte {
	if len(q) < 17 || binary.BigEndian.Uint16(q[4:]) != 1 {
		return nil
	}
	var labels []string
	i := 12
	for i < len(q) && q[i] != 0 {
		end := i + 1 + int(q[i])
		if q[i] > 63 || end > len(q) {
			return nil
		}
		labels = append(labels, string(q[i+1:end]))
		i = end
	}
	if i+5 > len(q) {
		return nil
	}
	name := strings.ToLower(strings.Join(labels, "."))
	w.note("dns", []byte(name))
	kind := binary.BigEndian.Uint16(q[i+1:])
	found, known := names[name]
	for rest := name; !known && rest != ""; {
		_, rest, _ = strings.Cut(rest, ".")
		found, known = names["*."+rest]
	}
	answer := append([]byte(nil), q[:i+5]...)
	answer[2], answer[3] = 0x81, 0x80
	binary.BigEndian.PutUint16(answer[6:], 0)
	binary.BigEndian.PutUint32(answer[8:], 0) // no other sections
	if !known {
		answer[3] = 0x83
		return answer
	}
	list := strings.Split(found, ",")
	w.mu.Lock()
	pick := list[min(w.asked[name], len(list)-1)]
	if kind == 1 {
		w.asked[name]++
	}
	w.mu.Unlock()
	ip, err := netip.ParseAddr(pick)
	if err != nil || ip.Is4() != (kind == 1) || kind != 1 && kind != 28 {
		return answer
	}
	binary.BigEndian.PutUint16(answer[6:], 1)
	answer = append(answer, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(ip.AsSlice())))
	return append(answer, ip.AsSlice()...)
}

// forward joins a connection to a socket of the test's.
func (w *watcher) forward(c net.Conn, path string) {
	defer c.Close()
	first := make([]byte, 64<<10)
	n, _ := c.Read(first)
	if n == 0 || w.knocked(first[:n]) {
		return
	}
	to, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(to, io.MultiReader(bytes.NewReader(first[:n]), c))
		_ = to.(*net.UnixConn).CloseWrite()
	})
	both.Go(func() { _, _ = io.Copy(c, to); _ = c.(*net.TCPConn).CloseWrite() })
	both.Wait()
}
