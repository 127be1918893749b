package config

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/sandbox/hosts"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

const (
	kilobyte = int64(1000)
	megabyte = 1000 * kilobyte
	gigabyte = 1000 * megabyte
	terabyte = 1000 * gigabyte
)

func sandboxRows() []row {
	return []row{
		{Input{Name: "isolation", Core: true, Kind: Choice, Enum: []string{"auto", "strict", "off", "docker-sandbox"}, Default: "auto", Placeholder: "LEVEL",
			Help: "The sandbox around the agent: `auto` (what the machine can do), `strict` (all, or the run is refused), `off`, or, for claude run locally, `docker-sandbox`."},
			func(l *loader, v value) { l.c.Sandbox.Isolation = Isolation(l.choice(v)) }},
		{Input{Name: "allowed-hosts", Core: true, Kind: Names, Max: 200, DefaultDoc: "the agent's API, the registries of the repository's languages, and the forge", Guarded: true, Placeholder: "HOST",
			Help: "More hosts to allow, such as `*.example.com` or `10.0.0.5:8080`; `!example.com`: never; `*`: all."},
			func(l *loader, v value) { l.c.Sandbox.AllowedHosts = l.hosts(v) }},
		{Input{Name: "services", Kind: Text, Max: 64 << 10, NoFlag: true, NoFile: true,
			Help: "The expression `toJSON(job.services)`: opens the job's service containers at their published ports of localhost."},
			func(l *loader, v value) { l.c.Sandbox.Services = l.services(v) }},
		{Input{Name: "default-hosts", Kind: Bool, Default: "true",
			Help: "Allow the registries of the repository's languages and the forge."},
			func(l *loader, v value) { l.c.Sandbox.DefaultHosts = l.boolean(v) }},
		{Input{Name: "key-proxy", Kind: Choice, Enum: []string{"auto", "off"}, Default: "auto", Guarded: true, Placeholder: "WHEN",
			Help: "Hide the provider's key from the agent: `auto` (in the sandbox, if the CLI allows it) or `off`."},
			func(l *loader, v value) { l.c.Provider.KeyProxy = l.choice(v) == "auto" }},
		{Input{Name: "pass-env", Kind: Names, Max: 100, Guarded: true, Placeholder: "NAME",
			Help: "More environment variables for agent, guardrails and `setup`."},
			func(l *loader, v value) { l.c.Sandbox.PassEnv = l.envNames(v) }},
		{Input{Name: "cache-dirs", Kind: Names, Max: 50, DefaultDoc: "`auto` in a job, `none` locally", NoAction: true, Placeholder: "NAME",
			Help: "Caches of the machine to use: " + strings.Join(toolchain.CacheNames(), ", ") + "; `auto`: those whose tool is on PATH; `none`. What is written to them is thrown away."},
			func(l *loader, v value) { l.c.Sandbox.CacheDirs = l.cacheNames(v) }},
		{Input{Name: "max-memory", Kind: Size, Min: 64 * megabyte, Max: 100 * terabyte, Default: "0", Zero: "no limit", Guarded: true, Placeholder: "SIZE",
			Help: "Memory limit of the agent and of each guardrail."},
			func(l *loader, v value) { l.c.Limits.Memory = l.size(v) }},
		{Input{Name: "max-processes", Kind: Count, Min: 16, Max: 4_000_000, DefaultDoc: "4096; 16384 if the agent is you", Guarded: true, Placeholder: "N",
			Help: "Limit of the agent user's processes and threads."},
			func(l *loader, v value) { l.c.Limits.Processes = int(l.count(v)) }},
		{Input{Name: "min-free-disk", Kind: Size, Min: megabyte, Max: 100 * terabyte, Default: "200MB", Zero: "not watched", NoAction: true, Placeholder: "SIZE",
			Help: "End the agent or guardrail below this much free disk."},
			func(l *loader, v value) { l.c.Limits.FreeDisk = l.size(v) }},
	}
}

func contentRows() []row {
	return []row{
		{Input{Name: "protected-paths", Kind: Names, Max: 500, Default: "default", Guarded: true, Placeholder: "PATTERN",
			Help: "Files that only people may change, as .gitignore patterns. `default`: workflows and actions, CODEOWNERS, .gitmodules, git hooks, configuration of ralph, agents and editors."},
			func(l *loader, v value) { l.c.Content.ProtectedPaths = l.patterns(v) }},
		{Input{Name: "protected-paths-policy", Kind: Choice, Enum: []string{"leave-out", "block", "draft", "allow"}, Default: "leave-out", Guarded: true, Placeholder: "WHAT",
			Help: "When a run changes one: leave it out of a draft (`leave-out`), publish nothing (`block`), publish a `draft`, or only name it (`allow`)."},
			func(l *loader, v value) { l.c.Content.ProtectedPolicy = ContentPolicy(l.choice(v)) }},
		{Input{Name: "secret-scan", Kind: Choice, Enum: []string{"block", "draft", "off"}, Default: "block", Guarded: true, Placeholder: "WHAT",
			Help: "When something looks like a token or key: publish nothing (`block`), a `draft`, or do not look (`off`). The run's own secrets always block."},
			func(l *loader, v value) { l.c.Content.SecretScan = ContentPolicy(l.choice(v)) }},
		{Input{Name: "secret-scan-allow", Kind: Names, Max: 200, Guarded: true, Placeholder: "PATTERN",
			Help: "Files that may contain such text, as .gitignore patterns."},
			func(l *loader, v value) { l.c.Content.SecretScanAllow = l.patterns(v) }},
		{Input{Name: "max-changed-files", Kind: Count, Default: "2000", Max: 10_000_000, Zero: "no limit", Guarded: true, Placeholder: "N",
			Help: "Limit of changed files in the pull request."},
			func(l *loader, v value) { l.c.Content.MaxFiles = int(l.count(v)) }},
		{Input{Name: "max-changed-bytes", Kind: Size, Default: "100MB", Min: kilobyte, Max: 100 * terabyte, Zero: "no limit", Guarded: true, Placeholder: "SIZE",
			Help: "Total size of the pull request's added and changed files."},
			func(l *loader, v value) { l.c.Content.MaxBytes = l.size(v) }},
	}
}

// ContentPolicy says what becomes of work that holds something people should
// decide about.
type ContentPolicy string

// The values of protected-paths-policy and secret-scan.
const (
	ContentLeaveOut ContentPolicy = "leave-out"
	ContentBlock    ContentPolicy = "block"
	ContentDraft    ContentPolicy = "draft"
	ContentAllow    ContentPolicy = "allow"
	ContentOff      ContentPolicy = "off"
)

// hosts are entries of allowed-hosts.
func (l *loader) hosts(v value) hosts.List {
	list, err := hosts.ParseList(l.names(v))
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			l.Report(v.Where, "%s", strings.TrimSpace(line))
		}
		return nil
	}
	return list
}

// cacheNames are entries of cache-dirs.
func (l *loader) cacheNames(v value) []string {
	list := l.names(v)
	for _, n := range list {
		switch known := toolchain.CacheNames(); {
		case (n == CachesAuto || n == CachesNone) && len(list) > 1:
			l.Report(v.Where, "%s stands alone: leave the other names out", l.Quote(n))
		case n != CachesAuto && n != CachesNone && !slices.Contains(known, n):
			l.Report(v.Where, "%s is no cache that ralph knows: give %s, %s, or some of %s", l.Quote(n), CachesAuto, CachesNone, strings.Join(known, ", "))
		}
	}
	return list
}

// maxServices bounds the ports of services.
const maxServices = 100

// services are what the runner says of the job's service containers, as JSON: their
// ports in the container, and those of the machine that stand for them.
func (l *loader) services(v value) (list []hosts.Service) {
	const cure = "write services: ${{ toJSON(job.services) }}"
	var all map[string]struct{ Ports map[string]string }
	if err := json.Unmarshal([]byte(v.Text), &all); err != nil {
		l.Report(v.Where, "it is not what the runner says of the job's services: %s; %s", l.Scrub(jsonCause(v.Text, err)), cure)
		return nil
	}
	taken := map[int]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		host, err := hosts.Canonical(name)
		if _, address := netip.ParseAddr(host); err != nil || address == nil || host == "localhost" || strings.Contains(host, ".") {
			l.Report(v.Where, "%s is no name of a service; %s", l.Quote(name), cure)
			continue
		}
		if len(all[name].Ports) == 0 {
			list = append(list, hosts.Service{Name: host})
		}
		for _, port := range slices.Sorted(maps.Keys(all[name].Ports)) {
			s := hosts.Service{Name: host}
			published := all[name].Ports[port]
			var errHere error
			s.Port, err = hosts.Port(port)
			s.Published, errHere = hosts.Port(published)
			switch {
			case err != nil || errHere != nil:
				l.Report(v.Where, "the ports %s: %s of %s are no numbers from 1 to 65535; %s", l.Quote(port), l.Quote(published), host, cure)
			case taken[s.Published]:
				l.Report(v.Where, "port %d of localhost is there twice", s.Published)
			default:
				taken[s.Published] = true
				list = append(list, s)
			}
		}
	}
	if len(list) > maxServices {
		l.Report(v.Where, "%d ports are too many: at most %d", len(list), maxServices)
	}
	return list
}

// Words of cache-dirs that are no names of caches.
const (
	CachesAuto = "auto" // those whose tool is on PATH
	CachesNone = "none"
)
