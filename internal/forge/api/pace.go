package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

// GitHub documents 80 requests a minute and 500 an hour that create content
// ("Rate limits for the REST API"), for everything the token does. One run
// stays below.
const (
	perMinute = 70
	perHour   = 450
)

// pace spaces out requests that create something. It waits only while there is
// time: what would be due after the deadline is sent at once, and the forge
// decides.
type pace struct {
	mu   sync.Mutex
	sent []time.Time // the last perHour, oldest first; some lie ahead
}

func (p *pace) wait(ctx context.Context) error {
	if d := p.reserve(ctx, time.Now()); d > 0 {
		return Sleep(ctx, d)
	}
	return nil
}

// reserve takes a place and says how far ahead of now it is.
func (p *pace) reserve(ctx context.Context, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	for _, window := range []struct {
		size int
		long time.Duration
	}{{perMinute, time.Minute}, {perHour, time.Hour}} {
		if i := len(p.sent) - window.size; i >= 0 {
			if free := p.sent[i].Add(window.long); free.After(at) {
				at = free
			}
		}
	}
	if until, ok := ctx.Deadline(); ok && !at.Before(until) {
		at = now
	}
	i, _ := slices.BinarySearchFunc(p.sent, at, time.Time.Compare)
	p.sent = slices.Insert(p.sent, i, at)
	if extra := len(p.sent) - perHour; extra > 0 {
		p.sent = slices.Delete(p.sent, 0, extra)
	}
	return at.Sub(now)
}
