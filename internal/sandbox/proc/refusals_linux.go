package proc

import "time"

const (
	refusalQueue = 1024        // what is told meanwhile is dropped when it is full
	flushTime    = time.Second // for a callback that takes its time
)

// refusals calls Options.Refused from a goroutine of its own.
type refusals struct {
	queue chan refusal
}

type refusal struct {
	address, reason string
	flushed         chan<- struct{} // not nil: a mark, not a refusal
}

func newRefusals(tell func(address, reason string)) *refusals {
	if tell == nil {
		return nil
	}
	r := &refusals{queue: make(chan refusal, refusalQueue)}
	go func() {
		for x := range r.queue {
			if x.flushed != nil {
				close(x.flushed)
			} else {
				tell(x.address, x.reason)
			}
		}
	}()
	return r
}

func (r *refusals) add(address, reason string) {
	if r == nil {
		return
	}
	select {
	case r.queue <- refusal{address: address, reason: reason}:
	default:
	}
}

// flush waits until all that was added has been told, but not for ever.
func (r *refusals) flush() {
	if r == nil {
		return
	}
	late := time.NewTimer(flushTime)
	defer late.Stop()
	flushed := make(chan struct{})
	select {
	case r.queue <- refusal{flushed: flushed}:
	case <-late.C:
		return
	}
	select {
	case <-flushed:
	case <-late.C:
	}
}

func (r *refusals) close() {
	if r != nil {
		close(r.queue)
	}
}
