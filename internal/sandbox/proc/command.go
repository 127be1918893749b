package proc

import (
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
)

// Options is what all children of one Supervisor have in common. The supervisor is
// this binary, started again with the first argument sandbox-init.
type Options struct {
	Identity confine.Identity // zero: our own user and groups; else without supplementary groups
	Policy   *confine.Policy  // nil: none
	MaxProcs uint64           // RLIMIT_NPROC of the children, threads count; 0: 4096 for a user of their own, else 16384
	Env      []string         // environment of the supervisor itself, never of a child; no secrets
	SpillDir string           // where output waits that its writer is too slow for; empty: /tmp

	// Refused is told of every connection the policy refused, each address and
	// reason once for a child and 256 of them at most; from one goroutine at a
	// time, and before Run returns. It must not wait for anything.
	Refused func(address, reason string)

	// Linux only. A tree that passes the first two is ended, at once or within a
	// second; they are looked at five times a second.
	Memory    int64    // bytes of resident memory a tree may have together; 0: no limit
	FreeDisk  int64    // bytes that must stay free where DiskPaths lie, and room for files; 0: not watched
	DiskPaths []string // paths children can reach, on the file systems that are watched
	FileSize  int64    // bytes of one file a child writes; 0: no limit

	// Reaper makes this process a sub-reaper too, so that the children of a
	// supervisor that was killed fall to it and are ended here. Only for a
	// process that starts nothing but this one Supervisor: the others would be
	// ended as well.
	Reaper bool

	// Namespaces are where the supervisor lives, with our own user; nil: beside us. They
	// end with it whatever it started, so that there is nothing to reap.
	Namespaces *namespace.Namespaces
}

// Command is one child to run.
type Command struct {
	Argv           []string // looked up in the PATH of Env
	Dir            string
	Env            []string        // all of it; nothing is inherited
	Stdin          io.Reader       // nil: empty. A child may leave it unread
	Stdout, Stderr io.Writer       // nil: dropped. The same value for both: one pipe, in order
	Finished       <-chan struct{} // closed by the caller when the child has said its last word; FinishGrace runs from then
	Limits         Limits

	// Speaks is set for a child whose standard output is believed, an agent's.
	// What it starts with another output can neither signal nor trace it, and
	// behind restrictions on files nobody opens its input and output anew through /proc.
	Speaks bool

	// Judges is set for a child that speaks and whose verdict is believed: it
	// reaches no server that its own tools brought up.
	Judges bool

	// Linger is asked, once and from Run's goroutine, when the leader exited by
	// itself and others of its tree still live: how long they may go on. Nil or
	// an answer of 0 ends them at once, with Limits.Grace. While they go on,
	// cancellation and Limits.OutputBytes end them; Time, Silence and
	// FinishGrace were the leader's. Nothing else is heeded while it thinks.
	Linger func() time.Duration
}

// Limits of one child; a zero limit means none.
type Limits struct {
	Time        time.Duration // from its start to its end
	Silence     time.Duration // without a byte of output
	FinishGrace time.Duration // after Finished
	Grace       time.Duration // from SIGTERM to SIGKILL; 0: 5 s. Never more than 2 s when the run is cancelled
	OutputBytes int64         // of both streams together; what is beyond is dropped
	AnyDisk     bool          // Options.FreeDisk does not end it: it saves work when the disk is nearly full
}

const (
	defaultGrace   = 5 * time.Second
	cancelledGrace = 2 * time.Second
)

func (l Limits) grace() time.Duration {
	if l.Grace > 0 {
		return l.Grace
	}
	return defaultGrace
}

// Exit is how a child ended, and with it everything it had started.
type Exit struct {
	Code         int            // -1 when a signal ended it
	Signal       syscall.Signal // 0 when it exited
	Why          Why
	Wall         time.Duration
	User, System time.Duration // of the whole tree
	MaxRSS       int64         // bytes, of the largest process; never below the supervisor's own few MiB
	OutputBytes  int64         // written by the child, dropped bytes included
	OutputErr    error         // a writer failed, and the child's output was dropped from there on
	Leftover     bool          // others of the tree lived when the leader exited by itself
	Outlived     bool          // they were still there when the time of Linger was over, and were ended
}

// Why tells who ended a child.
type Why int

const (
	Exited     Why = iota // itself
	TimedOut              // Limits.Time
	Silent                // Limits.Silence
	Flooded               // Limits.OutputBytes
	Lingered              // Limits.FinishGrace: it had finished and did not exit
	Cancelled             // the context
	OverMemory            // Options.Memory
	DiskFull              // Options.FreeDisk
)

func (w Why) String() string {
	names := [...]string{
		Exited: "exited", TimedOut: "timed out", Silent: "silent", Flooded: "flooded", Lingered: "lingered", Cancelled: "cancelled",
		OverMemory: "over its memory limit", DiskFull: "disk full",
	}
	if w < 0 || int(w) >= len(names) {
		return "unknown"
	}
	return names[w]
}

// ErrLost is wrapped by Run and Close when the supervisor died or stopped
// answering. With Options.Reaper everything it had started is gone by then.
var ErrLost = errors.New("the process supervisor was lost")
