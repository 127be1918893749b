package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pipeSize     = 1 << 20         // what a plain user may ask for; the default is 64 KiB
	pipeDelay    = 2 * time.Second // for a pipe that stays open though its tree is gone
	deliverGrace = 2 * time.Second // for writers that are behind when the run is cancelled
)

// output takes what a child writes: one drain per pipe, which never waits for a
// writer, and one delivery per writer.
type output struct {
	start   time.Time
	limit   int64
	flooded chan struct{} // closed when the limit is passed
	total   atomic.Int64
	last    atomic.Int64 // nanoseconds after start

	drains     sync.WaitGroup
	deliveries sync.WaitGroup
	readers    []*os.File
	spools     []*spool

	mu  sync.Mutex
	err error
}

func newOutput(limit int64) *output {
	return &output{start: time.Now(), limit: limit, flooded: make(chan struct{})}
}

// take drains r into w, which may be nil.
func (o *output) take(r *os.File, w io.Writer, dir string, pool *sync.Pool) {
	o.readers = append(o.readers, r)
	s := newSpool(dir, pool)
	o.spools = append(o.spools, s)
	if w == nil {
		s.drop()
	} else {
		o.deliveries.Go(func() { o.deliver(s, w) })
	}
	o.drains.Go(func() { o.drain(r, s) })
}

func (o *output) drain(r *os.File, s *spool) {
	defer s.close()
	for {
		n, err := r.Read(s.space())
		if n > 0 {
			s.commit(o.count(n))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.rest(r, s)
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is in the pipe and waits for no more: the deadline may have
// passed while a writer or the disk kept the drain from reading.
func (o *output) rest(r *os.File, s *spool) {
	raw, err := r.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken < 2*pipeSize; { // whoever still writes is none of the tree
		n, space := 0, s.space()
		err := raw.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), space) }) // it does not block
		if err != nil || n <= 0 {
			return
		}
		taken += n
		s.commit(o.count(n))
	}
}

// count returns how many of n bytes are within the limit.
func (o *output) count(n int) int {
	o.last.Store(int64(time.Since(o.start)))
	after := o.total.Add(int64(n))
	before := after - int64(n)
	if o.limit <= 0 || after <= o.limit {
		return n
	}
	if before <= o.limit {
		close(o.flooded)
	}
	return int(max(0, o.limit-before))
}

// silence is how long nothing has been written.
func (o *output) silence() time.Duration {
	return time.Since(o.start) - time.Duration(o.last.Load())
}

func (o *output) deliver(s *spool, w io.Writer) {
	for data := s.next(); data != nil; data = s.next() {
		if _, err := w.Write(data); err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			s.drop()
			return
		}
		s.release(len(data))
	}
}

// finish is called when the tree is gone. It waits until everything is
// delivered, or until shortly after the run was cancelled.
func (o *output) finish(cancelled <-chan struct{}) {
	for _, r := range o.readers {
		_ = r.SetReadDeadline(time.Now().Add(pipeDelay))
	}
	done := make(chan struct{})
	go func() {
		o.drains.Wait()
		o.deliveries.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-cancelled:
		select {
		case <-done:
		case <-time.After(deliverGrace):
			for _, s := range o.spools {
				s.drop()
			}
			<-done
		}
	}
	for i, s := range o.spools {
		_ = o.readers[i].Close()
		_ = s.recycle()
	}
}
