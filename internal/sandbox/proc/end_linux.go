package proc

import "time"

const (
	orphanTime = 2 * time.Second
	lookAgain  = 100 * time.Millisecond
	sweepTime  = time.Second // at a time; between two the socket is listened to
)

// endTree begins the end, or brings it forward.
func (in *supervised) endTree(grace time.Duration) {
	at := time.Now().Add(grace)
	if in.asked != nil {
		if at.Before(in.killAt) {
			in.killAt = at
			in.press()
		}
		return
	}
	in.killAt, in.asked = at, map[int]bool{}
	leader := in.leader
	if in.exited && in.linger && !groupLives(leader) {
		leader = 0 // its number may be another group's by now
	}
	terminate(leader, in.asked)
	in.again.Reset(min(grace, lookAgain))
}

// press is the end's clock.
func (in *supervised) press() {
	if in.asked == nil {
		return
	}
	rest := time.Until(in.killAt)
	if rest > 0 {
		terminate(0, in.asked)
		in.again.Reset(min(rest, lookAgain))
		return
	}
	if !sweep(sweepTime, in.reaped) {
		in.again.Reset(lookAgain) // the parent loses patience before we do
		return
	}
	in.finish()
}

// orphaned ends everything because the parent is gone.
func (in *supervised) orphaned() {
	if in.leader == 0 {
		return
	}
	in.endTree(min(in.grace, orphanTime))
	for in.leader != 0 {
		select {
		case <-in.child:
			in.collect()
		case <-in.refused: // nobody to tell
		case <-in.again.C:
			in.press()
		}
	}
}
