package proc

import (
	"context"
	"fmt"
	"time"
)

// secondLook is how long after a limit it is looked at again: when this process,
// or the machine, was paused, what happened meanwhile has yet to be read.
const secondLook = 100 * time.Millisecond

// watch follows one command to its end and enforces its limits.
type watch struct {
	client   *client
	limits   Limits
	linger   func() time.Duration
	out      *output
	finished <-chan struct{}

	exit     Exit
	gone     bool // the leader exited by itself
	ending   bool
	lingered <-chan time.Time // the time of linger is over; nil: nobody lingers
	belt     *time.Timer
	delay    time.Duration // of belt
	late     bool          // half of it is over
}

// untilOver returns when the tree is gone. The error is the client's.
func (w *watch) untilOver(ctx context.Context) error {
	var (
		limit, stop  = timer(w.limits.Time)
		quiet, stop2 = timer(w.limits.Silence)
		hanging      <-chan time.Time
		overdue      <-chan time.Time // limit, looked at again
		hushed       bool             // quiet has been found once
		cancelled    = ctx.Done()
		flooded      = w.out.flooded
		finished     = w.finished
	)
	defer stop()
	defer stop2()
	w.belt = time.NewTimer(0)
	w.belt.Stop()
	defer w.belt.Stop()
	for {
		if w.gone { // these were the leader's
			limit, overdue, quiet, finished, hanging = nil, nil, nil, nil, nil
		}
		select {
		case e := <-w.client.events:
			if done, err := w.handle(e); done {
				return err
			}
		case <-limit:
			overdue = time.After(secondLook)
		case <-overdue:
			w.end(TimedOut)
		case <-quiet:
			rest := w.limits.Silence - w.out.silence()
			if rest <= 0 && hushed {
				w.end(Silent)
				break
			}
			hushed = rest <= 0
			quiet = time.After(max(rest, secondLook))
		case <-flooded:
			flooded = nil
			w.end(Flooded)
		case <-finished:
			finished, quiet = nil, nil
			hanging, _ = timer(w.limits.FinishGrace)
		case <-hanging:
			w.end(Lingered)
		case <-w.lingered:
			w.exit.Outlived = !w.ending
			w.end(Exited)
		case <-cancelled:
			cancelled = nil
			w.end(Cancelled)
		case <-w.belt.C:
			if w.late {
				return w.client.abandon(fmt.Errorf("%w: it does not answer", ErrLost))
			}
			w.late = true
			w.belt.Reset(w.delay / 2)
		}
	}
}

// timer fires never for a zero duration.
func timer(d time.Duration) (<-chan time.Time, func() bool) {
	if d <= 0 {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

func (w *watch) handle(e event) (done bool, err error) {
	switch e.kind {
	case limited:
		w.limited(e.why)
		return false, nil
	case left:
		w.leaderLeft()
		return false, nil
	case over:
		w.exit.Code, w.exit.Signal = -1, 0
		if e.status.Signaled() {
			w.exit.Signal = e.status.Signal()
		} else {
			w.exit.Code = e.status.ExitStatus()
		}
		w.exit.User, w.exit.System, w.exit.MaxRSS = e.usage.User, e.usage.System, e.usage.MaxRSS
		return true, nil
	case lost:
		return true, w.client.abandon(e.err)
	}
	return true, e.err
}

// leaderLeft lets those who are left linger, when that was asked for.
func (w *watch) leaderLeft() {
	w.gone, w.exit.Leftover = true, true
	switch {
	case w.ending: // the end is on its way
	case w.linger == nil: // the client ends them
		w.buckle(w.limits.grace(), patientDelay)
	default:
		if w.lingered, _ = timer(w.linger()); w.lingered == nil {
			w.end(Exited)
		}
	}
}

// limited notes that the client ends the tree because of what it uses together.
func (w *watch) limited(why Why) {
	switch {
	case w.ending:
		return
	case w.gone:
		w.exit.Outlived = true
	default:
		w.exit.Why = why
	}
	w.ending = true
	w.buckle(w.limits.grace(), patientDelay)
}

// end asks for the end of the tree, for the first reason there is. A
// cancellation still shortens the grace of an end that has begun.
func (w *watch) end(why Why) {
	if w.ending && why != Cancelled {
		return
	}
	if !w.ending && !w.gone {
		w.exit.Why = why
	}
	grace, delay := w.limits.grace(), patientDelay
	if why == Cancelled {
		grace, delay = min(grace, cancelledGrace), beltDelay
	}
	w.ending = true
	w.buckle(grace, delay)
	w.client.end(grace)
}

// buckle starts the time in which the tree has to be gone. The belt comes in two
// halves: of a pause it loses one, and the client has the other to be heard.
func (w *watch) buckle(grace, delay time.Duration) {
	w.delay, w.late = delay, false
	w.belt.Reset(grace + delay/2)
}
