package run

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/sandbox/egress"
)

// keyTaken refuses a file of the repository by which the key would have to be the
// agent's: somebody else may have written it.
func (s *sandboxed) keyTaken(all []agent.Options) error {
	if len(s.cfg.Agent.FromFile) == 0 {
		return nil
	}
	for _, o := range all {
		if _, ok := agent.KeyProxy(o); ok {
			continue
		}
		if _, ok := agent.KeyProxy(s.withoutFile(o)); ok {
			return fmt.Errorf("%s in a file of the repository would hand the key to the agent: give it as an input of the workflow or as a flag, or set key-proxy: off", strings.Join(s.cfg.Agent.FromFile, ", "))
		}
	}
	return nil
}

// withoutFile are the options of an agent without what a file of the repository
// said of it.
func (s *sandboxed) withoutFile(o agent.Options) agent.Options {
	for _, name := range s.cfg.Agent.FromFile {
		switch name {
		case "agent-args":
			o.Args = nil
		case "agent-exact-args":
			o.Exact, o.ExactArgs = false, nil
		case "agent-settings":
			o.Settings = ""
		case "mcp-config":
			o.MCP = ""
		case "provider":
			o.Provider = ""
		}
	}
	return o
}

// openKeyProxy starts a server that adds an agent's key, where the agent can do with
// one.
func (s *sandboxed) openKeyProxy(ctx context.Context, n *network, o agent.Options) error {
	d, ok := agent.KeyProxy(o)
	key := keyProxyOf(o)
	if _, open := n.keyProxies[key]; open || !ok {
		return nil
	}
	upstream, err := url.Parse(d.Upstream)
	if err != nil {
		return err
	}
	opened, err := egress.StartKeyProxy(context.WithoutCancel(ctx), egress.KeyProxyOptions{
		Upstream: upstream, Key: secret.New(variable(o.Env, d.KeyVariable)), Header: d.Header, Scheme: d.Scheme,
		Endpoints: d.Endpoints, Proxy: egress.Environment(s.getenv), Placeholder: s.Credentials.Placeholders[len(n.keyProxies)].Reveal(),
	})
	if err != nil {
		return err
	}
	s.undo.atEnd(opened.Close)
	n.keyProxies[key] = opened
	return nil
}

// keyProxyOf tells the keyProxies of a run apart; empty for an agent that needs none.
func keyProxyOf(o agent.Options) string {
	d, ok := agent.KeyProxy(o)
	if !ok {
		return ""
	}
	return strings.Join([]string{d.Upstream, d.Header, d.KeyVariable}, " ")
}

// throughDoor are the options of an agent that has no key of its own, where
// there is a key proxy for it.
func (s *sandboxed) throughKeyProxy(o agent.Options) agent.Options {
	if s.network == nil {
		return o
	}
	d, ok := s.network.keyProxies[keyProxyOf(o)]
	if !ok {
		return agent.OneKey(o)
	}
	return agent.ThroughKeyProxy(o, d.URL(), d.Placeholder())
}

// variable is the value of a variable in an environment; the last one counts.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n, value, _ := strings.Cut(kv, "="); n == name {
			return value
		}
	}
	return ""
}
