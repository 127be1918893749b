package agent

import (
	"bytes"
	"io"
	"sync"
)

// lineQueue is a queue of lines between an agent that must never wait and a reader
// that may be slow. When it is full it drops whole lines until half of it is
// free, and says how much that was. One goroutine writes, one reads.
type lineQueue struct {
	limit int
	slow  func(dropped int64) // called by the reader

	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	read    int // of buf
	line    int // where the line at hand starts in buf; negative when it was read in part
	full    bool
	skip    bool // the line at hand is dropped
	dropped int64
	closed  bool // nothing more is written
	left    bool // nothing more is read
}

func newLineQueue(limit int, slow func(int64)) *lineQueue {
	q := &lineQueue{limit: limit, slow: slow}
	q.changed.L = &q.mu
	return q
}

// write queues p or drops it; it never waits.
func (q *lineQueue) write(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left || q.closed {
		return
	}
	for len(p) > 0 {
		if q.full {
			p = q.drop(p)
			continue
		}
		room := q.limit - (len(q.buf) - q.read)
		if len(p) <= room {
			q.add(p)
			break
		}
		n := bytes.LastIndexByte(p[:room], '\n') + 1
		q.add(p[:n])
		p = p[n:]
		q.full, q.skip = true, true
		switch {
		case q.line >= q.read: // the line's beginning is still here, if it has one
			q.dropped += int64(len(q.buf) - q.line)
			q.buf = q.buf[:q.line]
		default:
			q.add([]byte("\n")) // so that the next line is one
		}
	}
	q.changed.Broadcast()
}

// drop skips the rest of a line, or ends the dropping when there is room again.
func (q *lineQueue) drop(p []byte) []byte {
	if !q.skip && len(q.buf)-q.read <= q.limit/2 {
		q.full = false
		return p
	}
	n := bytes.IndexByte(p, '\n') + 1
	q.skip = n == 0
	if n == 0 {
		n = len(p)
	}
	q.dropped += int64(n)
	return p[n:]
}

func (q *lineQueue) add(p []byte) {
	if q.read > 0 && cap(q.buf)-len(q.buf) < len(p) {
		q.buf = q.buf[:copy(q.buf, q.buf[q.read:])]
		q.line -= q.read
		q.read = 0
	}
	if n := bytes.LastIndexByte(p, '\n') + 1; n > 0 {
		q.line = len(q.buf) + n
	}
	q.buf = append(q.buf, p...)
}

// Read waits for data. It ends when there will be none, or when leave was
// called.
func (q *lineQueue) Read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.dropped > 0 && (!q.full || q.closed) && !q.left {
			n := q.dropped
			q.dropped = 0
			q.mu.Unlock()
			q.slow(n)
			q.mu.Lock()
			continue
		}
		switch {
		case q.left:
			return 0, io.EOF
		case q.read < len(q.buf):
			n := copy(p, q.buf[q.read:])
			q.read += n
			return n, nil
		case q.closed:
			return 0, io.EOF
		}
		q.changed.Wait()
	}
}

// close says that nothing more is written.
func (q *lineQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// leave says that nobody reads any more. It returns how many bytes nobody has
// read, and whether the writing was over.
func (q *lineQueue) leave() (unread int64, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	unread = q.dropped + int64(len(q.buf)-q.read)
	q.left, q.buf, q.read = true, nil, 0
	q.changed.Broadcast()
	return unread, q.closed
}
