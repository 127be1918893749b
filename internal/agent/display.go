package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	displayQueue = 8 << 20 // bytes that wait for the display filter
	displayGrace = 5 * time.Second
	// displayHurry is its grace when the run is cancelled: a runner gives ten
	// seconds for everything.
	displayHurry  = time.Second
	displayOutput = 1 << 30 // bytes it may print in a turn
	maxStderrLine = 64 << 10
)

// display is a shell command of the user's that gets what the agent prints,
// raw, and shows it in its own way. Nobody waits for it: what it does not read
// in time is dropped, whole lines of it, and it is told how much.
type display struct {
	queue  *lineQueue
	out    *noteWriter
	cancel context.CancelFunc
	done   chan struct{}
}

func checkDisplay(o Options) error {
	switch {
	case o.Display == "":
		return nil
	case o.DisplayProcess == nil:
		return errors.New("display filter: no process runner")
	case bytes.IndexByte([]byte(o.Display), 0) >= 0:
		return errors.New("display filter: contains a NUL character")
	}
	return nil
}

// display starts the command; nil when there is none, or the run is over. It has the agent's
// surroundings without its credentials.
func (c *CLI) display(ctx context.Context) *display {
	if c.o.Display == "" || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	out := &noteWriter{w: c.o.DisplayOut}
	d := &display{queue: newLineQueue(displayQueue, out.slow), out: out, cancel: cancel, done: make(chan struct{})}
	command := proc.Command{
		Argv:   []string{"sh", "-c", c.o.Display},
		Dir:    c.o.Dir,
		Env:    driver.Without(c.o.Env, Credentials(c.o.Name)...),
		Stdin:  d.queue,
		Stdout: out, Stderr: out,
		Limits: proc.Limits{Grace: c.o.Limits.Grace, OutputBytes: displayOutput},
	}
	go func() {
		defer close(d.done)
		exit, err := c.o.DisplayProcess.Run(ctx, command)
		left, over := d.queue.leave()
		switch {
		case err != nil:
			out.note(fmt.Sprintf("the display filter cannot be started: %s", driver.OneLine(err.Error())))
		case left > 0 && exit.Why == proc.Cancelled:
			out.note(fmt.Sprintf("the display filter did not end in time and was ended; %d bytes it had not read are not shown", left))
		case exit.Why == proc.Flooded:
			out.note(fmt.Sprintf("the display filter printed more than %d bytes and was ended", displayOutput))
		case exit.Why == proc.Cancelled:
			out.note("the display filter did not end in time and was ended")
		case left > 0 || !over:
			out.note("the display filter " + driver.ExitText(driver.ExitCode(exit)) + " before it had read everything; the rest is not shown")
		}
	}()
	return d
}

// around makes a decoder's input pass by the display.
func (d *display) around(inner driver.Decoder) driver.Decoder {
	if d == nil {
		return inner
	}
	return &shown{Decoder: inner, queue: d.queue}
}

// finish ends the command's input, and after a grace the command.
func (d *display) finish(ctx context.Context) {
	if d == nil {
		return
	}
	d.queue.close()
	grace := time.NewTimer(displayGrace)
	defer grace.Stop()
	cancelled := ctx.Done()
	for waiting := true; waiting; {
		select {
		case <-d.done:
			waiting = false
		case <-cancelled:
			cancelled = nil
			grace.Reset(displayHurry)
		case <-grace.C:
			waiting = false
		}
	}
	d.cancel()
	<-d.done
}

// shown passes an agent's output by the display before it is decoded. Both
// outputs become one, whose lines stay whole: a line of stderr waits for the
// end of the line that stdout is in.
type shown struct {
	driver.Decoder
	queue  *lineQueue
	within bool // a line of stdout
	errs   []byte
}

func (s *shown) Stdout(p []byte) {
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 {
		s.queue.write(p[:end])
		s.within = false
		s.pass()
	}
	if end < len(p) {
		s.queue.write(p[end:])
		s.within = true
	}
	s.Decoder.Stdout(p)
}

func (s *shown) Stderr(p []byte) {
	s.errs = append(s.errs, p...)
	s.pass()
	s.Decoder.Stderr(p)
}

func (s *shown) Close() {
	s.queue.write(s.errs)
	s.errs = nil
	s.Decoder.Close()
}

// pass hands on the whole lines of stderr, or more when it is too much to keep.
func (s *shown) pass() {
	n := bytes.LastIndexByte(s.errs, '\n') + 1
	if len(s.errs) > maxStderrLine {
		n = len(s.errs)
	} else if s.within {
		return
	}
	s.queue.write(s.errs[:n])
	s.errs = s.errs[:copy(s.errs, s.errs[n:])]
}

// noteWriter takes the command's output and our own notes about it. Its errors
// are dropped: nobody else could read them.
type noteWriter struct {
	mu sync.Mutex
	w  io.Writer // nil: nowhere
}

func (w *noteWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.w != nil {
		_, _ = w.w.Write(p)
	}
	return len(p), nil
}

func (w *noteWriter) note(text string) { _, _ = fmt.Fprintf(w, "ralph: %s\n", text) }

func (w *noteWriter) slow(n int64) {
	w.note(fmt.Sprintf("the display filter is too slow: %d bytes were not shown", n))
}

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

// close ends the writing.
func (q *lineQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// leave ends the reading. It returns how many bytes nobody has
// read, and whether the writing was over.
func (q *lineQueue) leave() (unread int64, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	unread = q.dropped + int64(len(q.buf)-q.read)
	q.left, q.buf, q.read = true, nil, 0
	q.changed.Broadcast()
	return unread, q.closed
}
