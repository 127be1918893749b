package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// reachable are the hosts that sandboxed processes may reach. An agent with a key proxy asks
// there, and only at what else it was told to ask.
func (o Options) reachable() hosts.List {
	list := slices.Clone(o.Config.Sandbox.AllowedHosts)
	for _, a := range o.Agents {
		named, provider := agent.Hosts(a), a.Provider
		a = o.withoutFile(a)
		a.Provider = provider // its hosts are ours to know
		if trusted := agent.Hosts(a); slices.ContainsFunc(named, func(host string) bool { return !slices.Contains(trusted, host) }) {
			o.Note("Hosts that a file of the repository names (" + strings.Join(o.Config.Agent.FromFile, ", ") + ") are reached only where allowed-hosts names them, too.")
		}
		_, keyProxy := agent.KeyProxy(a)
		if keyProxy = keyProxy && o.Config.Provider.KeyProxy; keyProxy {
			a = agent.ThroughKeyProxy(a, "http://127.0.0.1:1", "ralph-placeholder")
		}
		ours := a
		ours.MCP, ours.Settings = "", ""
		if !keyProxy {
			ours.BaseURL, ours.Env = "", nil
		}
		builtin := agent.Hosts(ours)
		for _, host := range agent.Hosts(a) {
			if slices.Contains(builtin, host) {
				list = append(list, hosts.Builtin(host)...)
			} else if rule, err := hosts.Parse(host); err == nil { // written by a person, who may mean a private address
				list = append(list, rule)
			}
		}
	}
	if o.Config.Sandbox.DefaultHosts {
		list = append(list, forgeHosts(o.Server)...)
		if root, err := os.OpenRoot(o.Workspace); err == nil {
			list = append(list, hosts.Builtin(egress.Registries(root)...)...)
			_ = root.Close()
		}
	}
	return list
}

// forgeHosts are where the forge is read. A server of somebody's own may have a
// private address.
func forgeHosts(server string) hosts.List {
	const github = "https://github.com"
	server = cmp.Or(server, github)
	if server == github {
		return hosts.Builtin(egress.Forge(server)...)
	}
	var list hosts.List
	for _, host := range egress.Forge(server) {
		if rule, err := hosts.Parse(host); err == nil {
			list = append(list, rule)
		}
	}
	return list
}

// ForNPM is what npm reaches when it installs an agent: its registry, where native programs
// lie that packages fetch, and the hosts that the user allows.
func ForNPM(ctx context.Context, allowed hosts.List, environ []string) (*Network, error) {
	list := append(slices.Clone(allowed), hosts.Builtin(egress.Forge("https://github.com")...)...)
	list = append(list, hosts.Builtin("registry.npmjs.org")...)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "npm_config_") || !strings.HasSuffix(lower, "registry") {
			continue
		}
		if rule, err := hosts.Parse(value); err == nil {
			list = append(list, rule)
		}
	}
	p, err := egress.Start(context.WithoutCancel(ctx), egress.Options{Hosts: list, Upstream: egress.Environment(func(name string) string { return proc.Getenv(environ, name) }), Password: rand.Text()})
	if err != nil {
		return nil, err
	}
	return &Network{proxy: p, direct: map[string]ralph.Refused{}, ports: registryPorts(environ)}, nil
}

// registryPorts are the ports of this machine at which a registry is.
func registryPorts(environ []string) []uint16 {
	var o agent.Options
	for _, kv := range environ {
		if strings.HasPrefix(strings.ToLower(kv), "npm_config_") {
			o.Env = append(o.Env, kv)
		}
	}
	return loopbackPorts(o)
}

// Reachable are the hosts that sandboxed processes would reach, for people; empty: none.
func Reachable(o Options) string { return o.described(o.reachable()) }

// described are hosts for people, with those that only a key proxy asks.
func (o Options) described(list hosts.List) string {
	var asked []string
	for _, a := range o.Agents {
		d, ok := agent.KeyProxy(a)
		if u, err := url.Parse(d.Upstream); ok && err == nil && o.Config.Provider.KeyProxy {
			asked = append(asked, u.Hostname()+" (through ralph's key proxy)")
		}
	}
	slices.Sort(asked)
	if text := briefly(list); text != "" {
		asked = append(slices.Compact(asked), text)
	}
	return strings.Join(asked, ", ")
}

// briefly is a list of hosts for people, each once.
func briefly(list hosts.List) string {
	words := strings.Fields(list.String())
	slices.Sort(words)
	words = slices.Compact(words)
	const most = 30
	if len(words) > most {
		words = append(words[:most], fmt.Sprintf("and %d more", len(words)-most))
	}
	return strings.Join(words, ", ")
}

// buildsJava says that the workspace is built by a program of the JVM.
func buildsJava(dir string) bool {
	for _, name := range []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "build.sbt", "deps.edn", "project.clj"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// loopbackPorts are the ports of this machine that the user's own words name: a
// model server at localhost, for example.
func loopbackPorts(o agent.Options) []uint16 {
	var ports []uint16
	add := func(address string) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return
		}
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		if p, err := strconv.ParseUint(port, 10, 16); err == nil && !slices.Contains(ports, uint16(p)) {
			ports = append(ports, uint16(p))
		}
	}
	add(o.BaseURL)
	for _, kv := range o.Env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			add(value)
		}
	}
	for _, text := range []string{o.MCP, o.Settings} {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			eachString(v, add)
		}
	}
	return ports
}

// eachString visits the strings of a JSON value.
func eachString(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			eachString(member, visit)
		}
	case []any:
		for _, member := range v {
			eachString(member, visit)
		}
	case string:
		visit(v)
	}
}
