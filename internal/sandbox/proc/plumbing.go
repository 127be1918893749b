package proc

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// plumbing is the child's three descriptors and our ends of them.
type plumbing struct {
	child [3]*os.File // the child's; closed by started
	out   *output
	feed  *os.File // our end of stdin; nil: none
	fed   sync.WaitGroup
}

// plumb makes the pipes. Nothing of ours is inherited: a child could open an
// inherited file anew through /proc and read it.
func (s *Supervisor) plumb(c Command) (*plumbing, error) {
	p := &plumbing{out: newOutput(c.Limits.OutputBytes)}
	watched := c.Limits.Silence > 0 || c.Limits.OutputBytes > 0
	same := sameWriter(c.Stdout, c.Stderr)
	err := errors.Join(
		p.input(c.Stdin, s.pipesOf(c)),
		s.outputPipe(p, 1, c.Stdout, watched, s.pipesOf(c)),
	)
	if same {
		p.child[2] = p.child[1]
	} else {
		err = errors.Join(err, s.outputPipe(p, 2, c.Stderr, watched, anonymous))
	}
	if err != nil {
		p.started()
		p.close()
		p.out.finish(nil)
		return nil, err
	}
	return p, nil
}

func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }() // values that cannot be compared are two writers
	return a == b
}

// pipesOf makes the pipes of a command's input and output. Without restrictions on files
// a name protects nothing.
func (s *Supervisor) pipesOf(c Command) pipes {
	if c.Speaks && s.options.Policy != nil {
		return pipesIn(s.spillDir)
	}
	return anonymous
}

func (p *plumbing) input(r io.Reader, pipes pipes) (err error) {
	if r == nil {
		p.child[0], err = os.Open(os.DevNull)
		return err
	}
	short, ok := r.(*strings.Reader)
	ok = ok && short.Len() <= pipeRoom
	child, ours, err := newPipe(!ok, pipes)
	if err != nil {
		return err
	}
	p.child[0] = child
	if ok {
		_, err := short.WriteTo(ours)
		return errors.Join(err, ours.Close())
	}
	p.feed = ours
	p.fed.Go(func() {
		// EPIPE is a child that does not want more, ErrClosed one that is gone.
		_, _ = io.Copy(onlyWriter{ours}, r)
		_ = ours.Close()
	})
	return nil
}

// pipeRoom fits into every new pipe: what is no longer is written before the
// child starts, and nobody has to feed it.
const pipeRoom = 4096

// onlyWriter hides the file's ReadFrom, which may move data in the kernel and
// then sits in a call that closing the file does not end.
type onlyWriter struct{ io.Writer }

func (s *Supervisor) outputPipe(p *plumbing, fd int, w io.Writer, watched bool, pipes pipes) error {
	if w == nil && !watched {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		p.child[fd] = null
		return err
	}
	ours, child, err := newOutputPipe(pipes)
	if err != nil {
		return err
	}
	p.child[fd] = child
	p.out.take(ours, w, s.spillDir, &s.chunks)
	return nil
}

// started closes the child's ends here; they live on in the child.
func (p *plumbing) started() {
	for i, f := range p.child {
		if f != nil && (i != 2 || f != p.child[1]) {
			_ = f.Close()
		}
	}
}

// close ends the feeding of stdin. A reader that blocks is left behind after a
// while, as os/exec's WaitDelay does.
func (p *plumbing) close() {
	if p.feed == nil {
		return
	}
	_ = p.feed.Close()
	done := make(chan struct{})
	go func() { p.fed.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(pipeDelay):
	}
}
