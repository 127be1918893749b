package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

// Hosts are the patterns of hosts that an agent has to reach for its models, its
// login and the MCP servers it is given, as allowed-hosts has them: host,
// host:port where the port is not 443, or *.suffix; sorted, each once. Loopback
// is none of them. What a CLI asks besides (updates, telemetry, market places) is
// left out, and so is what the programs it starts ask. Sources: the strings of
// the CLIs in the versions their files name, and what they asked for in a turn.
func Hosts(o Options) []string {
	var all []string
	if f, ok := drivers()[o.Name]; ok {
		all = f.Hosts(o)
	}
	if o.BaseURL != "" {
		all = append(all, driver.HostOf(o.BaseURL))
	}
	if !o.Exact {
		all = append(all, hostsIn(o.MCP, o.Env)...)
		all = append(all, hostsIn(o.Settings, o.Env)...)
	}
	all = slices.DeleteFunc(all, func(host string) bool { return host == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// hostsIn are those of the addresses in JSON of the user's: the strings behind
// names that end with url, whatever their case. Variables are put in for ${NAME}.
func hostsIn(text string, env []string) []string {
	var v any
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	var all []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(name, member)
			}
		case []any:
			for _, member := range v {
				walk(name, member)
			}
		case string:
			if strings.HasSuffix(strings.ToLower(name), "url") && driver.Expand(&v, env) == nil {
				all = append(all, driver.HostOf(v))
			}
		}
	}
	walk("", v)
	return all
}
