package proc

import (
	"context"
	"io"
	"sync"
	"time"
)

// Hold returns a stream to w that waits until live is closed: half a MiB of what is
// written to it in memory, the rest in a file of dir without a name. No write waits:
// if that file cannot be written, the rest is lost. Close waits for live, writes the rest
// and closes w; errors of w are w's business. When ctx ends, what is not written shortly
// after is lost: saving the work comes first.
func Hold(ctx context.Context, w io.WriteCloser, live <-chan struct{}, dir string) io.WriteCloser {
	select {
	case <-live:
		return w
	default:
	}
	if dir == "" {
		dir = "/tmp"
	}
	h := &held{w: w, spool: newSpool(dir, &sync.Pool{New: func() any { return new(chunk) }})}
	h.spool.lossy = true
	h.stop = context.AfterFunc(ctx, func() { time.AfterFunc(deliverGrace, h.spool.drop) })
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
	stop  func() bool
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
	h.stop()
	_ = h.spool.recycle()
	return h.w.Close()
}
