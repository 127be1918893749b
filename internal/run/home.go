package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/crew"
	"github.com/org/ralph-action/internal/run/session"
	"github.com/org/ralph-action/internal/run/supervised"
)

// housed is an agent with a home of its own, made when it is asked: another agent
// of the run, whose files it would take for its user's, may have written to the
// usual one.
type housed struct {
	crew.CLI
	box     *sandboxed
	options agent.Options
	name    string // of the home
	always  bool   // a new home for each turn; else one for all of them
	own     ralph.Agent
}

// apart gives an agent a home of its own where agents have one of ours.
func (s *sandboxed) apart(a crew.CLI, o agent.Options, name string, always bool) crew.CLI {
	if s.isolation == config.IsolationOff || s.box != nil {
		return a
	}
	switch a := a.(type) {
	case *agent.CLI:
		return &housed{CLI: a, box: s, options: o, name: name, always: always}
	case *session.Agent:
		a.CLI = s.apart(a.CLI, o, name, always)
	case *supervised.Agent:
		a.Home = func(o agent.Options) (agent.Options, error) {
			o, _, err := s.ownHome(o, name)
			return o, err
		}
	}
	return a
}

// Run asks the agent in its home.
func (h *housed) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	if h.own == nil || h.always {
		own, remove, err := h.moveIn()
		if err != nil {
			return ralph.Turn{}, fmt.Errorf("a home for the agent: %w", err)
		}
		h.own = own
		if h.always {
			defer remove()
		}
	}
	return h.own.Run(ctx, p, emit)
}

// moveIn makes the home and the agent that lives in it.
func (h *housed) moveIn() (ralph.Agent, func(), error) {
	o, remove, err := h.box.ownHome(h.options, h.name)
	if err != nil {
		return nil, nil, err
	}
	a, err := agent.New(o)
	return a, remove, err
}

// ownHome makes a home, and gives the options of the agent that lives in it. Nobody
// else runs now, and nobody could know its name.
func (s *sandboxed) ownHome(o agent.Options, name string) (agent.Options, func(), error) {
	t := s.temp
	home, err := os.MkdirTemp(t.home, name+"-")
	if err != nil {
		return o, nil, err
	}
	scratch, err := os.MkdirTemp(t.tmp, name+"-")
	if err != nil {
		return o, nil, err
	}
	remove := func() {
		_ = os.RemoveAll(home)
		_ = os.RemoveAll(scratch)
	}
	if id := s.identity; !id.IsZero() {
		for _, dir := range []string{home, scratch} {
			if err := os.Chown(dir, id.UID, id.GID); err != nil {
				return o, nil, err
			}
		}
	}
	if err := s.writeGitConfig(home, s.person); err != nil {
		return o, nil, err
	}
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "TMPDIR=")
	})
	o.Env = append(o.Env, "HOME="+home, "TMPDIR="+scratch)
	o.Scratch = filepath.Clean(scratch)
	return o, remove, nil
}
