package proc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
)

// How much longer than its grace a tree may take to end before the supervisor
// counts as lost. The killed need the processor, and perhaps the disk, to die: on
// a machine that is overloaded that takes a while, for which a run that was
// cancelled has no time.
const (
	beltDelay    = 5 * time.Second
	patientDelay = 15 * time.Second
)

// Supervisor runs commands, one at a time.
type Supervisor struct {
	turn     chan struct{} // holds a token while a command runs
	client   *client
	spillDir string
	chunks   sync.Pool
	lost     error // once set, no command runs any more
	options  Options
}

// Start makes a Supervisor. Its context bounds the start only; Close ends it.
func Start(ctx context.Context, o Options) (*Supervisor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.MaxProcs == 0 {
		o.MaxProcs = 16384
		if !o.Identity.IsZero() {
			o.MaxProcs = 4096
		}
	}
	if o.SpillDir == "" {
		o.SpillDir = "/tmp"
	}
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("start the process supervisor: %w", err)
	}
	s := &Supervisor{turn: make(chan struct{}, 1), client: c, spillDir: o.SpillDir, options: o}
	s.chunks.New = func() any { return new(chunk) }
	return s, nil
}

// Close ends the supervisor and whatever is left below it. It waits for a
// command that still runs.
func (s *Supervisor) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.lost != nil {
		return nil // Run has said it, and cleaned up
	}
	s.lost = errors.New("the process supervisor is closed")
	return s.client.close()
}

// OpenNetwork is why there is no network restriction although Policy.Network asks for
// one; empty: it holds, or was not asked for. It is known when a Run has returned.
func (s *Supervisor) OpenNetwork() string { return s.client.openNetwork() }

// Unprotected returns why a command that Speaks is not protected from the programs
// that it starts (see confine.Unprotected); empty if it is. What the supervisor found
// of the network counts, too, once a Run has returned.
func (s *Supervisor) Unprotected() (reason string) {
	if reason = confine.Unprotected(s.options.Policy); reason != "" {
		return reason
	}
	if s.options.Identity.IsZero() && s.writable(s.spillDir) {
		return "its output passes through " + s.spillDir + ", which its programs can write to"
	}
	return s.OpenNetwork()
}

// writable reports whether children may write to a folder. Links are followed, as
// the kernel follows them.
func (s *Supervisor) writable(dir string) bool {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return true
	}
	for _, open := range s.options.Policy.ReadWrite {
		if s.options.Namespaces != nil && slices.Contains(namespace.Private(), open) {
			continue // another folder
		}
		if open, err = filepath.EvalSymlinks(open); err != nil {
			continue // there is nothing to write to
		}
		if rel, err := filepath.Rel(open, target); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// job is what the client needs to know of a Command.
type job struct {
	Path  string
	Argv  []string
	Env   []string
	Dir   string
	Grace time.Duration

	MaxProcs uint64 // Options.MaxProcs
	// Linger: what the leader leaves behind goes on until the parent ends it.
	Linger bool
	// AnyDisk: the free space of disks is not looked at.
	AnyDisk bool
	// Speaks and Judges are the Command's.
	Speaks, Judges bool
}

// event is the client's word on the running job.
type event struct {
	kind   eventKind
	err    error // failed, lost
	why    Why   // limited
	status syscall.WaitStatus
	usage  usage
}

type eventKind int

const (
	failed  eventKind = iota + 1 // it could not be started, and nothing is left of it
	limited                      // it used more than it may, and is being ended
	left                         // it exited, others live: they are being ended, or linger
	over                         // its tree is gone
	lost                         // nothing is known any more
)

type usage struct {
	User, System time.Duration
	MaxRSS       int64 // bytes
}

// Run starts a command and returns when it and everything it started is gone.
// What outlives the command is ended, at once or when Command.Linger says.
// An error means that there was no child: it could not be started (then it wraps
// exec.ErrNotFound, fs.ErrNotExist or fs.ErrPermission where that is the reason),
// or that the supervisor was lost. A limit that was reached is no error.
func (s *Supervisor) Run(ctx context.Context, c Command) (Exit, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return Exit{Code: -1, Why: Cancelled}, nil
	}
	if s.lost != nil {
		return Exit{}, s.lost
	}
	if len(c.Argv) == 0 {
		return Exit{}, errors.New("start: no command")
	}
	path, err := LookPath(c.Argv[0], c.Env)
	if err != nil {
		return Exit{}, err
	}
	p, err := s.plumb(c)
	if err != nil {
		return Exit{}, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	err = s.client.start(job{Path: path, Argv: c.Argv, Env: c.Env, Dir: c.Dir, Grace: c.Limits.grace(), Linger: c.Linger != nil, AnyDisk: c.Limits.AnyDisk, Speaks: c.Speaks, Judges: c.Judges}, p.child)
	p.started()
	w := watch{client: s.client, limits: c.Limits, linger: c.Linger, out: p.out, finished: c.Finished}
	if err == nil {
		err = w.untilOver(ctx)
	}
	p.close()
	p.out.finish(ctx.Done())
	if err != nil {
		if errors.Is(err, ErrLost) {
			s.lost = err
			return Exit{}, err
		}
		return Exit{}, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	w.exit.Wall = time.Since(p.out.start)
	w.exit.OutputBytes, w.exit.OutputErr = p.out.total.Load(), p.out.err
	return w.exit, nil
}
