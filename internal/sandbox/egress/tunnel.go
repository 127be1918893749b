package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// chunkBytes is how much is moved between two looks at the clock.
const chunkBytes = 1 << 20

// lastWords is how long what a server said may take to its client when nothing more
// goes the other dialer: some answer an upload and leave.
const lastWords = 2 * time.Second

// tunnel answers CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	t, err := parseAuthority(r.RequestURI, 0)
	if err != nil {
		p.refuse(w, r.RequestURI, err)
		return
	}
	server, err := p.dialer.tunnelTo(r.Context(), t)
	if err != nil {
		p.refuse(w, t.String(), err)
		return
	}
	if !p.open.add(server) {
		return
	}
	defer p.open.remove(server)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer p.slots.release() // the http.Server no longer does
	if !p.open.add(client) {
		return
	}
	defer p.open.remove(client)
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered()) // nobody reads there any more
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var answered chan int
	if private, _ := p.dialer.decide(t); private && t.port == plainPort { // a person has named this very host
		l := listenTo(server)
		server, answered = l, l.status
	}
	join(client, server, p.idle, func() error {
		hello, err := p.readHello(client, early, t)
		if err != nil {
			return err
		}
		if isPlain(hello, t) {
			return p.plain(server, client, hello, t, answered)
		}
		_, err = server.Write(hello)
		return err
	})
}

// tunnelTo connects to a target that a client asked for, if it may.
func (w *dialer) tunnelTo(ctx context.Context, t target) (net.Conn, error) {
	private, err := w.decide(t)
	if err != nil {
		return nil, err
	}
	proxy, err := w.upstream(&url.URL{Scheme: "https", Host: t.String()})
	switch {
	case err != nil:
		return nil, err
	case proxy != nil:
		return w.chain(ctx, proxy, t)
	}
	return w.connect(ctx, t, private)
}

// join moves bytes both ways until both have ended, one failed, or nothing moved
// for the time idle. Where one side stops sending, the other may go on. first
// sends what comes before from client to server.
func join(client, server net.Conn, idle time.Duration, first func() error) {
	flow := &flow{idle: idle}
	flow.touch()
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	var back sync.WaitGroup
	back.Go(func() {
		if flow.copy(client, server) != nil {
			end()
		}
	})
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { flow.watch(done, end) })
	if first() != nil {
		end()
	} else if flow.copy(server, client) != nil {
		timer := time.AfterFunc(lastWords, end)
		defer timer.Stop()
	}
	back.Wait()
	close(done)
	watch.Wait()
}

// flow knows when something moved last, in either direction.
type flow struct {
	idle  time.Duration
	moved atomic.Int64 // Unix nanoseconds
}

func (f *flow) touch() { f.moved.Store(time.Now().UnixNano()) }

func (f *flow) left() time.Duration {
	return f.idle - time.Since(time.Unix(0, f.moved.Load()))
}

// watch calls end when nothing moved for too long.
func (f *flow) watch(done <-chan struct{}, end func()) {
	timer := time.NewTimer(f.idle)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		left := f.left()
		if left <= 0 {
			end()
			return
		}
		timer.Reset(left)
	}
}

// copy moves bytes until src ends, and then says so to dst. Between two TCP
// connections the kernel moves them. The deadline of reading wakes it to tell what
// moved; it is watch that ends an idle tunnel, also one where writing
// is stuck.
func (f *flow) copy(dst, src net.Conn) error {
	for {
		_ = src.SetReadDeadline(time.Now().Add(f.idle / 2))
		n, err := io.CopyN(dst, src, chunkBytes)
		if n > 0 {
			f.touch()
		}
		switch {
		case errors.Is(err, io.EOF):
			half, ok := dst.(interface{ CloseWrite() error })
			if !ok {
				return err
			}
			return half.CloseWrite()
		case errors.Is(err, os.ErrDeadlineExceeded) && f.left() > 0:
		case err != nil:
			return err
		}
	}
}
