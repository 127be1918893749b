package network

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
func (o Options) keyTaken() error {
	if len(o.Config.Agent.FromFile) == 0 {
		return nil
	}
	for _, a := range o.Agents {
		if _, ok := agent.KeyProxy(a); ok {
			continue
		}
		if _, ok := agent.KeyProxy(o.withoutFile(a)); ok {
			return fmt.Errorf("%s in a file of the repository would hand the key to the agent: give it as an input of the workflow or as a flag, or set key-proxy: off", strings.Join(o.Config.Agent.FromFile, ", "))
		}
	}
	return nil
}

// withoutFile are the options of an agent without what a file of the repository
// said of it.
func (o Options) withoutFile(a agent.Options) agent.Options {
	for _, name := range o.Config.Agent.FromFile {
		switch name {
		case "agent-args":
			a.Args = nil
		case "agent-exact-args":
			a.Exact, a.ExactArgs = false, nil
		case "agent-settings":
			a.Settings = ""
		case "mcp-config":
			a.MCP = ""
		case "provider":
			a.Provider = ""
		}
	}
	return a
}

// openKeyProxy starts a server that adds an agent's key, where the agent can do with
// one.
func (n *Network) openKeyProxy(ctx context.Context, o Options, a agent.Options) error {
	d, ok := agent.KeyProxy(a)
	key := keyProxyOf(a)
	if _, open := n.keyProxies[key]; open || !ok {
		return nil
	}
	upstream, err := url.Parse(d.Upstream)
	if err != nil {
		return err
	}
	opened, err := egress.StartKeyProxy(ctx, egress.KeyProxyOptions{
		Upstream: upstream, Key: secret.New(variable(a.Env, d.KeyVariable)), Header: d.Header, Scheme: d.Scheme,
		Endpoints: d.Endpoints, Proxy: egress.Environment(o.Getenv), Placeholder: o.Credentials.Placeholders[len(n.keyProxies)].Reveal(),
	})
	if err != nil {
		return err
	}
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

// ThroughKeyProxy are the options of an agent that has no key of its own, where there is a
// key proxy for it.
func (n *Network) ThroughKeyProxy(o agent.Options) agent.Options {
	if n == nil {
		return o
	}
	d, ok := n.keyProxies[keyProxyOf(o)]
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
