package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lingerTime is how long a client may pause that still sends its request when the
	// answer is out, and lingerMost how long it may go on at all.
	lingerTime, lingerMost = time.Second, 10 * time.Second
	// keptBytes bounds what is kept of one request, and keptAll of all at a time, so
	// that it can be asked again.
	keptBytes, keptAll = 8 << 20, 64 << 20
)

// duplex lets h read what is left of a request when its answer has begun. A server
// of net/http closes the body then, while a transport looks for its end once more
// after the last byte. Finding it closed, the transport gives up the connection that
// the answer comes by: answers were lost whose requests the server had taken, and
// charged for.
//
// What duplex leaves open, it ends: where the answer is out and the body is not, the
// server would wait for the rest as long as the client likes, and lose its place in
// what comes behind it. h has to end the connection then; relay and answer do.
func duplex(kept *atomic.Int64, h func(http.ResponseWriter, *http.Request, *requestBody)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			h(w, r, nil)
			return
		}
		controller := http.NewResponseController(w)
		_ = controller.EnableFullDuplex() // no server here speaks HTTP/2, which is the failure it has
		q := &requestBody{src: r.Body, all: kept, keep: true}
		defer func() {
			if !q.isOver() {
				_ = controller.SetReadDeadline(time.Unix(1, 0)) // for who reads, and for the server, which looks for the end
			}
			q.end()
		}()
		h(w, r, q)
		if !q.isOver() && controller.Flush() == nil {
			q.linger(controller)
		}
	}
}

// requestBody is the body of a client's request, for the time of the request. A nil one
// is empty, and over.
type requestBody struct {
	all    *atomic.Int64 // bytes kept of all requests
	over   atomic.Bool   // its end was seen
	answer atomic.Bool   // it came

	mu      sync.Mutex
	src     io.Reader
	read    int // bytes of src so far
	stopped bool
	keep    bool
	kept    []byte // what was read so far, where keep
	turn    int    // how often it was asked again
}

func (q *requestBody) isOver() bool { return q == nil || q.over.Load() }

// of makes q the body of what a transport sends. It may ask again on another
// connection, and does where it knows that the server took up nothing of it.
func (q *requestBody) of(out *http.Request) {
	if q == nil {
		return
	}
	out.Body = &bodyReader{q: q}
	out.GetBody = func() (io.ReadCloser, error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.keep {
			return nil, errors.New("the connection ended, and the request is too long to be sent again")
		}
		q.turn++
		return &bodyReader{q: q, turn: q.turn}, nil
	}
}

// answered lets go of what was kept, now or when a Read that waits for the client
// comes back. Where the request was asked again, it stays, because it may not have
// been said to its end.
func (q *requestBody) answered() {
	if q == nil {
		return
	}
	q.answer.Store(true)
	if q.mu.TryLock() {
		q.letGo()
		q.mu.Unlock()
	}
}

func (q *requestBody) letGo() {
	if q.answer.Load() && q.turn == 0 {
		q.drop()
	}
}

func (q *requestBody) drop() {
	q.all.Add(-int64(len(q.kept)))
	q.keep, q.kept = false, nil
}

// end lets nobody read any more. A Read that waits for the client has to be woken
// before.
func (q *requestBody) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.drop()
}

// linger takes what a client sends yet, so that it reads the answer: a connection
// that is closed before is reset.
func (q *requestBody) linger(controller *http.ResponseController) {
	rest, buffer := &bodyReader{q: q, turn: -1}, make([]byte, 4<<10)
	for end := time.Now().Add(lingerMost); time.Now().Before(end) && !q.isOver(); {
		if controller.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
			return
		}
		if _, err := rest.Read(buffer); err != nil {
			return
		}
	}
}

// bodyReader reads a request from its beginning, or, with turn -1, what is left of it.
type bodyReader struct {
	q    *requestBody
	turn int
	at   int
}

func (a *bodyReader) Close() error { return nil } // which is for the server to do

func (a *bodyReader) Read(p []byte) (int, error) {
	q := a.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if a.turn >= 0 && (a.turn != q.turn || a.at < q.read && !q.keep) {
		return 0, errors.New("the request is sent by another connection")
	}
	if a.turn >= 0 && a.at < q.read {
		n := copy(p, q.kept[a.at:])
		a.at += n
		return n, nil
	}
	switch {
	case q.over.Load():
		return 0, io.EOF
	case q.stopped:
		return 0, context.Canceled
	}
	n, err := q.src.Read(p)
	if err == io.EOF { //nolint:errorlint // Read gives it as it is
		q.over.Store(true)
	}
	q.read += n
	a.at = q.read
	if q.keep {
		q.kept = append(q.kept, p[:n]...)
		if q.all.Add(int64(n)) > keptAll || len(q.kept) > keptBytes {
			q.drop()
		}
	}
	q.letGo()
	return n, err
}
