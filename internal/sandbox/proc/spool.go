package proc

import (
	"os"
	"sync"
)

const (
	chunkSize = 128 << 10
	minRead   = 32 << 10
	maxChunks = 4 // half a MiB waits in memory, the rest in a file
)

// spool is a queue of bytes between a pipe that must never stall and a writer
// that may. It keeps half a MiB in memory and the rest in an unlinked file. Only
// when that file cannot be written the pipe has to wait. One goroutine puts
// (space, commit, close), one takes (next, release).
type spool struct {
	dir  string
	pool *sync.Pool // of *chunk

	mu      sync.Mutex
	changed sync.Cond
	chunks  []*chunk // older than the file's content
	file    *os.File
	from    int64 // the file's unread part
	to      int64
	writing bool  // commit is in the file, outside the lock
	noFile  error // why there is no file
	closed  bool
	dropped bool // nobody will take the rest
	lossy   bool // without a file, the rest is dropped: nobody may take it for long

	target *chunk // where commit puts; nil: the file. The putting side's own
	spare  *chunk // what is read before it goes to the file. The putting side's own
	page   *chunk // what is read back from the file. The taking side's own
}

type chunk struct {
	data [chunkSize]byte
	r, w int
}

func newSpool(dir string, pool *sync.Pool) *spool {
	s := &spool{dir: dir, pool: pool}
	s.changed.L = &s.mu
	return s
}

func (s *spool) newChunk() *chunk {
	c := s.pool.Get().(*chunk)
	c.r, c.w = 0, 0
	return c
}

// space returns memory for the next read.
func (s *spool) space() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = nil
	if s.from == s.to && !s.dropped {
		s.target = s.tail()
	}
	if s.target != nil {
		return s.target.data[s.target.w:]
	}
	if s.spare == nil {
		s.spare = s.newChunk()
	}
	return s.spare.data[:]
}

// tail returns a chunk with room at the end of the queue, nil when memory is full.
func (s *spool) tail() *chunk {
	for {
		if n := len(s.chunks); n > 0 {
			last := s.chunks[n-1]
			if last.r == last.w {
				last.r, last.w = 0, 0
			}
			if chunkSize-last.w >= minRead {
				return last
			}
		}
		if len(s.chunks) < maxChunks {
			c := s.newChunk()
			s.chunks = append(s.chunks, c)
			return c
		}
		if s.noFile == nil || s.dropped {
			return nil
		}
		s.changed.Wait()
	}
}

// commit queues the first n bytes of what space returned.
func (s *spool) commit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n == 0 || s.dropped:
	case s.target != nil:
		s.target.w += n
	default:
		s.spill(n)
	}
	s.changed.Broadcast()
}

// spill appends to the file, without the lock. If that fails the data waits for
// all before it to be taken and is queued in memory.
func (s *spool) spill(n int) {
	if s.file == nil && s.noFile == nil {
		s.file, s.noFile = unlinkedFile(s.dir)
	}
	if s.noFile == nil {
		s.writing = true
		s.mu.Unlock()
		_, err := s.file.WriteAt(s.spare.data[:n], s.to)
		s.mu.Lock()
		s.writing = false
		if err == nil {
			s.to += int64(n)
			return
		}
		s.noFile = err
	}
	s.dropped = s.dropped || s.lossy
	for !s.dropped && (s.from < s.to || len(s.chunks) >= maxChunks) {
		s.changed.Wait()
	}
	s.spare.r, s.spare.w = 0, n
	s.chunks = append(s.chunks, s.spare)
	s.spare = nil
}

// close says that nothing more is put.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

// drop gives up what has not been taken, now and later.
func (s *spool) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.changed.Broadcast()
}

// next waits for data; nil is the end. What it returns stays valid until
// release.
func (s *spool) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.dropped {
		if len(s.chunks) > 0 {
			head := s.chunks[0]
			if head.r < head.w {
				return head.data[head.r:head.w]
			}
			if len(s.chunks) > 1 {
				s.chunks = s.chunks[1:]
				s.pool.Put(head)
				s.changed.Broadcast()
				continue
			}
		}
		if s.from < s.to {
			return s.readBack()
		}
		if s.closed {
			return nil
		}
		s.changed.Wait()
	}
	return nil
}

func (s *spool) readBack() []byte {
	if s.page == nil {
		s.page = s.newChunk()
	}
	size, from := min(int64(chunkSize), s.to-s.from), s.from
	s.mu.Unlock()
	n, err := s.file.ReadAt(s.page.data[:size], from)
	s.mu.Lock()
	if err != nil && n == 0 {
		s.noFile, s.dropped = err, true
		return nil
	}
	return s.page.data[:n]
}

// release gives back what next returned.
func (s *spool) release(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chunks) > 0 && s.chunks[0].r < s.chunks[0].w {
		s.chunks[0].r += n
	} else {
		s.from += int64(n)
		if s.from == s.to && !s.writing && s.file.Truncate(0) == nil {
			s.from, s.to = 0, 0
		}
	}
	s.changed.Broadcast()
}

// recycle ends the spool; both sides are done with it.
func (s *spool) recycle() error {
	for _, c := range append(s.chunks, s.spare, s.page) {
		if c != nil {
			s.pool.Put(c)
		}
	}
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}

func unlinkedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".ralph-output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
