package installation

import (
	"context"
	"os"
	"slices"

	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Installation is what Begin installs. A nil one is over, and was for nobody.
type Installation struct {
	Options // in Environ, the agents are on PATH

	names  []string // of the agents that are installed beside what the run does; none: nothing is
	root   string   // below which children find them, once they are there
	checks []func(context.Context) error
	cancel context.CancelFunc

	over chan struct{} // closed at its end
	err  error         // then
	log  proc.Head     // then: what npm printed
}

// Beside is the folder in which agents are being installed; empty: none are.
func (s *Installation) Beside() string {
	if s == nil {
		return ""
	}
	return s.root
}

// beside begins to install agents, and reports whether it does: their folders have to be
// known, for PATH, and what runs beside it must be kept from writing there.
func (s *Installation) beside(ctx context.Context, root string, list []wantedAgent) bool {
	if abi, _ := confine.Available(); abi == 0 || s.Isolation == config.IsolationOff {
		return false
	}
	var names, bins []string
	for _, w := range list {
		in, ok := install.Place(root, w.pkg)
		if !ok {
			return false
		}
		names, bins = append(names, w.name), append(bins, in.Bin)
	}
	if err := os.MkdirAll(root, 0o755); err != nil { // it is opened for children now
		return false
	}
	for _, bin := range bins {
		s.Environ = with(s.Environ, bin)
	}
	s.names, s.root, s.over, s.log = names, root, make(chan struct{}), proc.Head{Max: 256 << 10}
	ctx, s.cancel = context.WithCancel(ctx)
	go func() {
		defer close(s.over)
		log := s.Redact.Writer(&s.log)
		defer log.Close()
		for _, w := range list {
			if _, s.err = s.install(ctx, root, w, log, nil); s.err != nil {
				return
			}
		}
	}()
	return true
}

// Close ends what is still being installed.
func (s *Installation) Close() {
	if s.Beside() != "" {
		s.cancel()
		<-s.over
	}
}

// Wait waits for agents that are being installed, and makes the checks that had to wait for
// them.
func (s *Installation) Wait(ctx context.Context) error {
	if s.Beside() == "" {
		return nil
	}
	select {
	case <-s.over:
	default:
		s.Show.Say("Waiting for the installation of the agent.")
		select {
		case <-s.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.log.Len() > 0 {
		end := s.Show.Section("Installation of the agent")
		show := s.Show.Foreign("install")
		_, _ = show.Write(s.log.Bytes())
		_ = show.Close() // it shows; it decides nothing
		end()
	}
	if s.err != nil {
		return s.err
	}
	for _, check := range s.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// WhenInstalled makes a check now, or when the agent of that name is installed.
func (s *Installation) WhenInstalled(ctx context.Context, name string, check func(context.Context) error) error {
	if s.Beside() != "" && slices.Contains(s.names, name) {
		s.checks = append(s.checks, check)
		return nil
	}
	return check(ctx)
}
