package filter

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	filterTime   = time.Second // for one line
	filterMemory = 256 << 20   // by which the heap may grow during one line
	guardTick    = 10 * time.Millisecond
	guardSample  = 100 * time.Millisecond // how old the size of the heap before a job may be
)

// guard ends what takes too long or too much memory. It looks every tick, so
// that the many short jobs cost it nothing but a timer that never fires.
type guard struct {
	Time   time.Duration
	Memory uint64

	mu      *sync.Mutex
	timer   *time.Timer
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running bool
	started time.Time
	heap    uint64    // before the job
	sampled time.Time // when heap was
}

func newGuard() guard { return guard{Time: filterTime, Memory: filterMemory, mu: &sync.Mutex{}} }

// start begins a job, which has to watch the context.
func (g *guard) start() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.ctx.Err() != nil {
		g.ctx, g.cancel = context.WithCancelCause(context.Background())
	}
	g.running, g.started = true, time.Now()
	if g.started.Sub(g.sampled) > guardSample {
		g.heap, g.sampled = heapSize(), g.started
	}
	if g.timer == nil {
		g.timer = time.AfterFunc(guardTick, g.look)
	} else {
		g.timer.Reset(guardTick)
	}
	return g.ctx
}

// stop ends a job.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	g.timer.Stop()
}

func (g *guard) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running {
		return
	}
	switch {
	case heapSize() > g.heap+g.Memory:
		g.cancel(errFilterMemory)
	case time.Since(g.started) > g.Time:
		g.cancel(ErrTime)
	default:
		g.timer.Reset(guardTick)
	}
}

// heapSize is the memory of all objects, garbage that was not collected yet
// included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
