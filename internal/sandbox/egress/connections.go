package egress

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
)

// slots are the places for connections of clients.
type slots chan struct{}

func (s slots) release() { <-s }

// wait returns when all are free.
func (s slots) wait() {
	for range cap(s) {
		s <- struct{}{}
	}
	for range cap(s) {
		s.release()
	}
}

// follow gives back the place of each connection that a server closes. One that was
// taken while the server closed, which does not know of it yet, ends with ctx.
func (s slots) follow(ctx context.Context) func(net.Conn, http.ConnState) {
	return func(conn net.Conn, state http.ConnState) {
		switch {
		case state == http.StateClosed:
			s.release()
		case state == http.StateNew && ctx.Err() != nil:
			_ = conn.Close()
		}
	}
}

// limited takes a connection when a place is free, and leaves further ones to
// the kernel's queue. Connections are handed out as they are, so that bytes can be
// moved between two of them without a copy.
type limited struct {
	net.Listener
	slots slots
	done  <-chan struct{}
}

func (l limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.slots.release()
	}
	return conn, err
}

// connections are those that an http.Server does not know of.
type connections struct {
	mu   sync.Mutex
	all  map[io.Closer]struct{}
	over bool
}

// add keeps c until remove; false, with c closed, when all are closed already.
func (s *connections) add(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		_ = c.Close()
		return false
	}
	if s.all == nil {
		s.all = map[io.Closer]struct{}{}
	}
	s.all[c] = struct{}{}
	return true
}

// remove closes c.
func (s *connections) remove(c io.Closer) {
	s.mu.Lock()
	delete(s.all, c)
	s.mu.Unlock()
	_ = c.Close()
}

func (s *connections) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for c := range s.all {
		_ = c.Close()
	}
}
