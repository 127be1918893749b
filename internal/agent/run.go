package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Run asks the agent once. The prompt goes to its stdin, whatever its size, or
// is an argument where the CLI takes it in no other way.
// When the agent says its final result, the process gets Limits.FinishGrace to
// end; what lingers is ended, and the turn counts by its result.
//
// The error is for what never will work: the program cannot be started, or a
// shell in front of it says so with 126 or 127.
func (c *CLI) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	started := time.Now()
	o, q, stdin, done, err := c.handOver(p)
	defer done()
	if err != nil {
		return ralph.Turn{}, err
	}
	outer := ctx
	ctx, o.Turn.GiveUp = context.WithCancel(ctx)
	defer o.Turn.GiveUp()
	refused := func() []string { return nil }
	if c.o.Refused != nil {
		refused = c.o.Refused()
		o.Turn.Denied = func() bool { return deniedHost(refused(), o) != "" }
	}
	now := *c // with the options of this turn
	now.o = o
	c = &now
	m := &meter{o: o}
	emit = m.watch(emit)
	finished := make(chan struct{})
	show := c.display(outer)
	d := show.around(c.newDecoder(p, emit, sync.OnceFunc(func() { close(finished) })))
	s := &stream{d: d, log: c.o.Log}
	stdout, stderr := c.masked(&pipe{s, d.Stdout}), c.masked(&pipe{s, d.Stderr})
	if c.driver.Merged(o) {
		stderr = stdout // one pipe for both keeps the order
	}

	exit, err := c.o.Process.Run(ctx, proc.Command{
		Speaks:   true,
		Judges:   judges(c.o),
		Argv:     driver.CommandLine(c.driver, o, q),
		Dir:      c.o.Dir,
		Env:      c.driver.Environ(o),
		Stdin:    strings.NewReader(stdin),
		Stdout:   stdout,
		Stderr:   stderr,
		Limits:   c.o.Limits,
		Linger:   c.o.Linger,
		Finished: finished,
	})
	_ = stdout.Close() // flushes into a stream that cannot fail
	if stderr != stdout {
		_ = stderr.Close()
	}
	s.close()
	show.finish(outer)
	if err != nil {
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			return ralph.Turn{}, fmt.Errorf("agent %q: %w", c.o.Name, err)
		}
		exit.Why, exit.Code = proc.Cancelled, -1
	}
	turn := d.Turn()
	turn.Agent = c.o.Name
	if turn.Model == "" && !c.o.Exact {
		turn.Model = c.o.Model
	}
	turn.Started, turn.Duration = started, time.Since(started)
	turn.ExitCode, turn.OutputBytes = driver.ExitCode(exit), exit.OutputBytes
	turn.Outlived = exit.Outlived
	if c.driver.Ways(o).Totals {
		turn.Usage.Tokens = c.totals.since(turn.Session, turn.Usage.Tokens)
	}
	if notFound := turn.ExitCode == 126 || turn.ExitCode == 127; notFound && exit.Why == proc.Exited && !d.Done() && turn.Tools == 0 && exit.OutputBytes <= maxComplaint {
		return ralph.Turn{}, fmt.Errorf("agent %q: cannot be started: %s; is %s right, and installed?",
			c.o.Name, driver.WithWords(driver.ExitText(turn.ExitCode), d.LastWords()), commandAt(c.o))
	}
	turn.Failure = c.failure(outer, exit, d)
	turn.Failure = Denied(turn.Failure, refused(), o)
	if f := turn.Failure; f != nil && (f.RetryAt.UTC().Year() < 2000 || f.RetryAt.UTC().Year() > 9999) {
		f.RetryAt = time.Time{} // no date that anything could be done with
	}
	m.settle(&turn)
	emit(ralph.Event{Kind: ralph.EventResult, At: time.Now(), Turn: &turn})
	return turn, nil
}

// maxComplaint is what a shell has to say at most about a program it cannot
// start, in bytes. Who says more has worked, whatever its last command was.
const maxComplaint = 1 << 10

// failure joins why the process ended with what the stream said. A final
// result stands, whatever ended the process afterwards. Where it was cancelled and
// ctx goes on, the decoder gave the turn up.
func (c *CLI) failure(ctx context.Context, exit proc.Exit, d driver.Decoder) *ralph.Failure {
	if exit.Why == proc.Exited || exit.Why == proc.Cancelled && ctx.Err() == nil {
		return d.Failure(driver.ExitCode(exit))
	}
	if d.Done() {
		return d.Failure(0)
	}
	switch exit.Why {
	case proc.TimedOut:
		return &ralph.Failure{Kind: ralph.FailureTimeout, Message: fmt.Sprintf("no result within iteration-timeout (%v)", c.o.Limits.Time)}
	case proc.Silent:
		return &ralph.Failure{Kind: ralph.FailureIdle, Message: fmt.Sprintf("no output for idle-timeout (%v)", c.o.Limits.Silence)}
	case proc.Flooded:
		return &ralph.Failure{Kind: ralph.FailureFlood, Message: fmt.Sprintf("more than %d bytes of output", c.o.Limits.OutputBytes)}
	case proc.OverMemory:
		return &ralph.Failure{Kind: ralph.FailureMemory, Message: "it used more memory than max-memory allows"}
	case proc.DiskFull:
		return &ralph.Failure{Kind: ralph.FailureDisk, Message: "the disk is nearly full (min-free-disk)"}
	case proc.Cancelled:
		if ended := (*ralph.Ended)(nil); errors.As(context.Cause(ctx), &ended) {
			return &ended.Failure
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &ralph.Failure{Kind: ralph.FailureTimeout, Message: "max-duration ended the turn"}
		}
		return &ralph.Failure{Kind: ralph.FailureCancelled, Message: "the run was cancelled"}
	default:
		return d.Failure(driver.ExitCode(exit))
	}
}

// stream hands the child's output to the log and to the decoder, one piece at
// a time and nothing after the end.
type stream struct {
	d   driver.Decoder
	log io.Writer

	mu     sync.Mutex
	closed bool // nothing may be emitted after Run returned
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.d.Close()
	s.closed = true
}

// masked puts the mask in front of a pipe.
func (c *CLI) masked(p *pipe) io.WriteCloser {
	if c.o.Mask == nil {
		return p
	}
	return c.o.Mask(p)
}

// pipe is one of the child's two outputs.
type pipe struct {
	*stream
	decode func(p []byte)
}

func (w *pipe) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(p), nil
	}
	if w.log != nil {
		_, _ = w.log.Write(p) // a full disk must not end the agent
	}
	w.decode(p)
	return len(p), nil
}

// Close has nothing to flush.
func (*pipe) Close() error { return nil }

// judges reports whether the verdict of the turn at hand will be believed.
func judges(o Options) bool { return o.Judges != nil && o.Judges() }

// handOver prepares how a prompt reaches the CLI: o and q are for its argv, the
// returned text is for its stdin. done is called when the turn is over.
func (c *CLI) handOver(p ralph.Prompt) (o Options, q ralph.Prompt, stdin string, done func(), err error) {
	o = c.o
	var files []driver.File
	done = func() {
		for _, f := range files {
			f.Remove()
		}
	}
	w := c.driver.Ways(o)
	if o.System != "" && !w.System {
		p.Text = o.System + "\n\n" + p.Text
	}
	q = p
	if w.Logged && o.PromptLog != nil {
		o.PromptLog(fmt.Sprintf("prompt_%03d.txt", p.Iteration), p.Text)
	}
	o.Turn.Files = maps.Clone(o.Turn.Files)
	for _, e := range c.extras {
		f := driver.NewFile(c.scratch, o.Scratch, e.Name)
		files = append(files, f)
		if err := f.Write(e.Text); err != nil {
			return o, q, "", done, fmt.Errorf("agent %q: %s: %w", o.Name, e.Name, err)
		}
		o.Turn.Files[e.Name] = f.Path
	}
	// What is in a file may be the word of a program that the agent ran.
	if w.Answer && o.Plain && !o.Exact && c.scratch != nil && !judges(o) {
		o.Turn.Answer = driver.NewFile(c.scratch, o.Scratch, "answer.txt")
		files = append(files, o.Turn.Answer)
	}
	if !w.Argument {
		return o, q, p.Text, done, nil
	}
	if len(p.Text) <= driver.MaxArgument && !w.File {
		return o, q, "", done, nil
	}
	if w.Inline {
		return o, q, "", done, fmt.Errorf("agent %q: its prompt is an argument, and %d bytes are too long for one (%d)", o.Name, len(p.Text), driver.MaxArgument)
	}
	if c.scratch == nil && w.File {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt in a file, and there is no folder for one", o.Name)
	}
	if c.scratch == nil {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt as an argument, and %d bytes are too long for one (%d) without a folder for a file", o.Name, len(p.Text), driver.MaxArgument)
	}
	task := driver.NewFile(c.scratch, o.Scratch, "task.txt")
	files = append(files, task)
	if err := task.Write(p.Text); err != nil {
		return o, q, "", done, fmt.Errorf("agent %q: prompt: %w", o.Name, err)
	}
	if w.File {
		q.Text = task.Path
		return o, q, "", done, nil
	}
	q.Text = "Your whole task stands in the file " + task.Path + "\nRead all of that file first, then do what it says, as if it stood here."
	return o, q, "", done, nil
}

// Argv is the command line for a prompt, for showing it: where the prompt is an
// argument it says <prompt>, and <file> for the file an answer is left in.
func (c *CLI) Argv(p ralph.Prompt) []string {
	o := c.o
	if c.scratch != nil && c.driver.Ways(o).Answer {
		o.Turn.Answer.Path = "<file>"
	}
	if c.driver.Ways(o).Argument {
		p.Text = "<the prompt>"
		argv := driver.CommandLine(c.driver, o, p)
		for i := range argv {
			if argv[i] == p.Text {
				argv[i] = "<prompt>"
			}
		}
		return argv
	}
	return driver.CommandLine(c.driver, o, p)
}

// CanResume returns an error for a user to read if this agent, with its arguments, cannot
// go on in an earlier session. cline has an option for it, which 3.0 refuses together
// with --json, and its stream does not tell the session's id.
func (c *CLI) CanResume() error {
	some, none := ralph.Prompt{Resume: "some"}, ralph.Prompt{}
	switch {
	case !catalog.Of(c.o.Name).Sessions:
		names := slices.DeleteFunc(Known(), func(name string) bool { return !catalog.Of(name).Sessions })
		return fmt.Errorf("agent %q: cannot go on in a session; agents that can are %s", c.o.Name, strings.Join(names, ", "))
	case c.o.Plain:
		return fmt.Errorf("agent %q: cannot go on in a session in text mode, which does not tell the session's id", c.o.Name)
	case slices.Equal(driver.CommandLine(c.driver, c.o, some), driver.CommandLine(c.driver, c.o, none)):
		return errors.New("agent-args: they choose the session themselves, or leave no place for one; leave out their own --resume, --continue, resume or threads")
	}
	return nil
}

// totals are the tokens of whole sessions, for CLIs that report those of the
// session instead of the turn's.
type totals struct {
	mu sync.Mutex
	of map[string]ralph.Tokens
}

// since is what a session has used since the turn before, and remembers what
// it has used now. Of a session that is new here it is all, also when it began
// elsewhere.
func (t *totals) since(session string, now ralph.Tokens) ralph.Tokens {
	if session == "" || now.Unknown {
		return now
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.of[session]
	if known || len(t.of) < driver.MaxOpen {
		t.of[session] = now
	}
	if now.Input < before.Input || now.Output < before.Output || now.CacheRead < before.CacheRead || now.CacheWrite < before.CacheWrite {
		return now // the CLI began to count anew
	}
	return driver.Less(now, before)
}
