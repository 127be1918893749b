package proc

import (
	"io"
	"sync"
)

// Hold returns a stream to w that waits until live is closed: half a MiB of what is
// written to it in memory, the rest in a file of dir without a name. No write waits
// unless that file cannot be written. Close waits for live, writes the rest and closes
// w; errors of w are w's business.
func Hold(w io.WriteCloser, live <-chan struct{}, dir string) io.WriteCloser {
	select {
	case <-live:
		return w
	default:
	}
	if dir == "" {
		dir = "/tmp"
	}
	h := &held{w: w, spool: newSpool(dir, &sync.Pool{New: func() any { return new(chunk) }})}
	h.done.Go(func() {
		<-live
		for data := h.spool.next(); data != nil; data = h.spool.next() {
			_, _ = w.Write(data)
			h.spool.release(len(data))
		}
	})
	return h
}

type held struct {
	w     io.WriteCloser
	spool *spool
	done  sync.WaitGroup
}

func (h *held) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(h.spool.space(), rest)
		h.spool.commit(n)
		rest = rest[n:]
	}
	return len(p), nil
}

func (h *held) Close() error {
	h.spool.close()
	h.done.Wait()
	_ = h.spool.recycle()
	return h.w.Close()
}
