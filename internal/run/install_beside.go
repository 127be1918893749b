package run

import (
	"context"
	"os"
	"slices"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// installation is agents that are installed beside setup and the baseline.
type installation struct {
	names  []string
	root   string // below which children find them, once they are there
	checks []func(context.Context) error

	over chan struct{} // closed at its end
	err  error         // then
	log  proc.Head     // then: what npm printed
}

// installBeside begins to install agents, and reports whether it does: their folders have
// to be known, for PATH, and what runs beside it must be kept from writing there.
func (s *sandboxed) installBeside(ctx context.Context, root string, list []wantedAgent) bool {
	if abi, _ := confine.Available(); abi == 0 || s.isolation == config.IsolationOff {
		return false
	}
	c := &installation{root: root, over: make(chan struct{}), log: proc.Head{Max: 256 << 10}}
	var bins []string
	for _, w := range list {
		in, ok := install.Place(root, w.pkg)
		if !ok {
			return false
		}
		c.names, bins = append(c.names, w.name), append(bins, in.Bin)
	}
	if err := os.MkdirAll(root, 0o755); err != nil { // it is opened for children now
		return false
	}
	for _, bin := range bins {
		s.useProgram(bin)
	}
	s.coming = c
	ctx, cancel := context.WithCancel(ctx)
	s.undo.atEnd(func() { cancel(); <-c.over })
	go func() {
		defer close(c.over)
		log := s.rec.redact.Writer(&c.log)
		defer log.Close()
		for _, w := range list {
			if _, c.err = s.installAgent(ctx, root, w, log, nil); c.err != nil {
				return
			}
		}
	}()
	return true
}

// agentsInstalled waits for agents that are being installed, and looks whether they can
// work.
func (s *sandboxed) agentsInstalled(ctx context.Context) error {
	c := s.coming
	if c == nil {
		return nil
	}
	select {
	case <-c.over:
	default:
		s.rec.out.Say("Waiting for the installation of the agent.")
		select {
		case <-c.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if c.log.Len() > 0 {
		end := s.rec.out.Section("Installation of the agent")
		show := s.rec.out.Foreign("install")
		_, _ = show.Write(c.log.Bytes())
		_ = show.Close() // it shows; it decides nothing
		end()
	}
	if c.err != nil {
		return invalid(c.err)
	}
	for _, check := range c.checks {
		if err := check(ctx); err != nil {
			return invalid(err)
		}
	}
	return nil
}

// whenInstalled makes a check now, or when the agent is installed.
func (s *sandboxed) whenInstalled(ctx context.Context, name string, check func(context.Context) error) error {
	if c := s.coming; c != nil && slices.Contains(c.names, name) {
		c.checks = append(c.checks, check)
		return nil
	}
	return check(ctx)
}
