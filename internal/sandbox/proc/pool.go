package proc

import (
	"context"
	"errors"
	"sync"
)

// Pool runs commands side by side. A supervisor ends one tree at a time, so each
// command has one of its own: the first, or another with the same options that is
// started when it is needed and goes on to the next command.
type Pool struct {
	first *Supervisor
	mu    sync.Mutex
	busy  bool // the first is
	idle  []*Supervisor
	more  []*Supervisor // all but the first
}

// NewPool makes a Pool. The first supervisor remains its owner's.
func NewPool(first *Supervisor) *Pool { return &Pool{first: first} }

// Run is [Supervisor.Run], from several goroutines at once. A limit of memory is one of
// each tree.
func (p *Pool) Run(ctx context.Context, c Command) (Exit, error) {
	s, err := p.take(ctx)
	if err != nil {
		return Exit{}, err
	}
	defer p.give(s)
	exit, err := s.Run(ctx, c)
	if s != p.first && errors.Is(err, ErrLost) {
		err = p.first.abandon(err)
	}
	return exit, err
}

// Close ends the supervisors that Run started.
func (p *Pool) Close() error {
	var errs []error
	for _, s := range p.more {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (p *Pool) take(ctx context.Context) (*Supervisor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy {
		p.busy = true
		return p.first, nil
	}
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return s, nil
	}
	o := p.first.options
	o.Reaper = false // the first ends what others lose
	s, err := Start(context.WithoutCancel(ctx), o)
	if err == nil {
		p.more = append(p.more, s)
	}
	return s, err
}

func (p *Pool) give(s *Supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == p.first {
		p.busy = false
		return
	}
	p.idle = append(p.idle, s)
}

// abandon gives up a supervisor because another one was lost, and ends what that had
// started if that falls to it. It waits for a command that still runs.
func (s *Supervisor) abandon(reason error) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.lost == nil {
		s.lost = s.client.abandon(reason)
	}
	return s.lost
}
