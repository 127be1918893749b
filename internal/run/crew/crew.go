// Package crew is the agents that a run may ask, as they were asked for: who works, who takes over
// from it, and who reviews.
package crew

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
)

// Crew is what was said about the agents.
type Crew struct {
	Config  config.Config
	Local   bool                                   // the run was started on the command line
	Options func(name, model string) agent.Options // what every agent of the run has in common
}

// All are the agents, the one that works first.
func (c Crew) All() ([]agent.Options, error) {
	o, _, err := c.Worker()
	if err != nil {
		return nil, err
	}
	all := []agent.Options{o}
	if next, ok := c.Fallback(o); ok {
		all = append(all, next)
	}
	if reviewer, ok := c.Reviewer(o); ok {
		all = append(all, reviewer)
	}
	return all, nil
}

// Worker is the agent that works, with all that was said about it, and what is
// out of date in that.
func (c Crew) Worker() (o agent.Options, outdated []string, err error) {
	args, outdated := agent.Modern(c.Config.Agent.Name, c.Config.Agent.Args)
	exact, more := agent.Modern(c.Config.Agent.Name, c.Config.Agent.ExactArgs)
	o = c.Options(c.Config.Agent.Name, c.Config.Agent.Model)
	o.Command, o.Args, o.Exact, o.ExactArgs = c.Config.Agent.Command, args, c.Config.Agent.Exact, exact
	o.CommandAt = c.Config.Sources["agent-command"]
	o.Plain, o.Filter, o.TextScanFull = c.Config.Output.Format == "text", c.Config.Output.ResponseFilter, c.Config.Output.TextScanFull
	o.Effort, o.Provider, o.BaseURL, o.Settings = c.Config.Agent.Effort, c.Config.Provider.Name, c.Config.Provider.BaseURL, c.Config.Agent.Settings
	o.Filters, o.Delivery = c.Config.Agent.Filters, c.Config.Agent.Prompt
	if err := c.withKey(&o); err != nil {
		return o, nil, fmt.Errorf("agent %q: %w", o.Name, err)
	}
	return o, append(outdated, more...), nil
}

// Fallback is the agent that would take over; ok is false when there is none.
func (c Crew) Fallback(o agent.Options) (next agent.Options, ok bool) {
	if c.Config.Agent.Fallback == "" && c.Config.Agent.FallbackModel == "" {
		return o, false
	}
	return c.other(o, cmp.Or(c.Config.Agent.Fallback, c.Config.Agent.Name), c.Config.Agent.FallbackModel), true
}

// Reviewer is the agent that reviews; ok is false when that is the one that works.
func (c Crew) Reviewer(o agent.Options) (reviewer agent.Options, ok bool) {
	if c.Config.Tasks.ReviewAgent == "" && c.Config.Tasks.ReviewModel == "" {
		return o, false
	}
	name, model := cmp.Or(c.Config.Tasks.ReviewAgent, c.Config.Agent.Name), c.Config.Tasks.ReviewModel
	if name == c.Config.Agent.Name {
		model = cmp.Or(model, c.Config.Agent.Model)
	}
	return c.other(o, name, model), true
}

// CheckVersion compares what the CLI calls itself with what was asked for.
func (c Crew) CheckVersion(o agent.Options, version string) error {
	want := c.Config.Agent.Version
	if o.Name != c.Config.Agent.Name || want == "" || want == "latest" || len(o.Command) > 0 || slices.Contains(strings.FieldsFunc(version, notOfVersion), want) {
		return nil
	}
	return fmt.Errorf("agent-version: %s is asked for, and the %s that is installed calls itself %q: leave agent-version out, or set %s", want, o.Name, version, ralph.Option(c.Local, "agent-install", "auto"))
}

func notOfVersion(r rune) bool {
	return r != '.' && r != '-' && r != '+' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// other is an agent of another name or with another model than the one that
// works: what was said about that one only holds for the same CLI.
func (c Crew) other(o agent.Options, name, model string) agent.Options {
	if name == o.Name {
		o.Model = model
		return o
	}
	return c.Options(name, model)
}

// withKey puts the key that was given as an input where the agent looks for it.
func (c Crew) withKey(o *agent.Options) error {
	if !c.Config.Provider.APIKey.IsSet() {
		return nil
	}
	name, err := agent.KeyVariable(*o)
	if err != nil || name == "" {
		return err
	}
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	o.Env = append(o.Env, name+"="+c.Config.Provider.APIKey.Reveal())
	return nil
}

// FallbackInput is the input that asked for a fallback.
func (c Crew) FallbackInput() string {
	if c.Config.Agent.Fallback == "" {
		return "fallback-model"
	}
	return "fallback-agent"
}
