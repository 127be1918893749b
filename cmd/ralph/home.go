package main

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
)

// housed is an agent with a home of its own, made when it is asked: another agent
// of the run, whose files it would take for its user's, may have written to the
// usual one.
type housed struct {
	cli
	job     *job
	options agent.Options
	name    string // of the home
	always  bool   // a new home for each turn; else one for all of them
	own     ralph.Agent
}

// apart gives an agent a home of its own where agents have one of ours.
func (j *job) apart(a cli, o agent.Options, name string, always bool) cli {
	plain, ok := a.(*agent.CLI)
	if !ok || j.cfg.Isolation == config.IsolationOff || j.box != nil {
		return a
	}
	return &housed{cli: plain, job: j, options: o, name: name, always: always}
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

// moveIn makes the home and the agent that lives in it. Nobody else runs now, and
// nobody could know its name.
func (h *housed) moveIn() (ralph.Agent, func(), error) {
	t := h.job.temp
	home, err := os.MkdirTemp(t.home, h.name+"-")
	if err != nil {
		return nil, nil, err
	}
	scratch, err := os.MkdirTemp(t.tmp, h.name+"-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() {
		_ = os.RemoveAll(home)
		_ = os.RemoveAll(scratch)
	}
	if id := h.job.identity; !id.IsZero() {
		for _, dir := range []string{home, scratch} {
			if err := os.Chown(dir, id.UID, id.GID); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := h.job.writeGitConfig(home, h.job.person); err != nil {
		return nil, nil, err
	}
	o := h.options
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "TMPDIR=")
	})
	o.Env = append(o.Env, "HOME="+home, "TMPDIR="+scratch)
	o.Scratch = filepath.Clean(scratch)
	a, err := agent.New(o)
	return a, remove, err
}
