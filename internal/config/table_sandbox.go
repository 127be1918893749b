package config

import (
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

const (
	kilobyte = int64(1000)
	megabyte = 1000 * kilobyte
	gigabyte = 1000 * megabyte
	terabyte = 1000 * gigabyte
)

func sandboxRows() []row {
	return []row{
		{Input{Name: "isolation", Kind: Choice, Enum: []string{"auto", "strict", "off", "docker-sandbox"}, Default: "auto", Placeholder: "LEVEL",
			Help: "How the agent is sandboxed: `auto` (as far as the machine can), `strict` (fully, or the run is refused), `off`, or, for claude run locally, `docker-sandbox`."},
			func(l *loader, v value) { l.c.Sandbox.Isolation = Isolation(l.choice(v)) }},
		{Input{Name: "allowed-hosts", Kind: Names, Max: 200, DefaultDoc: "none besides the agent's API, the package registries of the repository's languages, and the forge", Guarded: true, Placeholder: "HOST",
			Help: "Hosts that the agent, the guardrails and `setup` may reach besides: `example.com`, `*.example.com`, `10.0.0.5:8080`, `tcp://database:5432` (found at that port of localhost), `!example.com` (never), or `*` for an open network. Separated by commas or line ends."},
			func(l *loader, v value) { l.c.Sandbox.AllowedHosts = l.hosts(v) }},
		{Input{Name: "default-hosts", Kind: Bool, Default: "true",
			Help: "Let the registries of the repository's languages and the forge be reached. The agent's own API always is."},
			func(l *loader, v value) { l.c.Sandbox.DefaultHosts = l.boolean(v) }},
		{Input{Name: "key-proxy", Kind: Choice, Enum: []string{"auto", "off"}, Default: "auto", Guarded: true, Placeholder: "WHEN",
			Help: "Keep the provider's key away from the agent: it talks to a key proxy on loopback that adds it. `auto`: where the agent is sandboxed and its CLI supports it; `off`: the key is in the agent's environment."},
			func(l *loader, v value) { l.c.Provider.KeyProxy = l.choice(v) == "auto" }},
		{Input{Name: "pass-env", Kind: Names, Max: 100, Guarded: true, Placeholder: "NAME",
			Help: "Environment variables that the agent, the guardrails and `setup` may see, by name."},
			func(l *loader, v value) { l.c.Sandbox.PassEnv = l.envNames(v) }},
		{Input{Name: "max-memory", Kind: Size, Min: 64 * megabyte, Max: 100 * terabyte, Default: "0", Zero: "no limit", Guarded: true, Placeholder: "SIZE",
			Help: "Memory that the agent, or a guardrail, may use with everything it starts; beyond it, it is ended."},
			func(l *loader, v value) { l.c.Limits.Memory = l.size(v) }},
		{Input{Name: "max-processes", Kind: Count, Min: 16, Max: 4_000_000, DefaultDoc: "4096; 16384 where the agent is the user who started ralph", Guarded: true, Placeholder: "N",
			Help: "Processes and threads that the agent's user may have."},
			func(l *loader, v value) { l.c.Limits.Processes = int(l.count(v)) }},
		{Input{Name: "min-free-disk", Kind: Size, Min: megabyte, Max: 100 * terabyte, Default: "200MB", Zero: "not watched", Guarded: true, Placeholder: "SIZE",
			Help: "The agent, or a guardrail, is ended when less than this is free on the disk, so that its work can still be saved."},
			func(l *loader, v value) { l.c.Limits.FreeDisk = l.size(v) }},
	}
}

func contentRows() []row {
	return []row{
		{Input{Name: "protected-paths", Kind: Names, Max: 500, Default: "default", Guarded: true, Placeholder: "PATTERN",
			Help: "Files that only people may change, as patterns of a .gitignore, separated by commas or line ends. `default` stands for the built-in list: workflows and actions, CODEOWNERS, .gitmodules, git hooks, the configuration of ralph, agents and editors."},
			func(l *loader, v value) { l.c.Content.ProtectedPaths = l.patterns(v) }},
		{Input{Name: "protected-paths-policy", Kind: Choice, Enum: []string{"leave-out", "block", "draft", "allow"}, Default: "leave-out", Guarded: true, Placeholder: "WHAT",
			Help: "What happens when a run changes one: the change is left out and the rest is published as a draft (`leave-out`), nothing more is published until it is taken back (`block`), it is published and the pull request stays a draft (`draft`), or it is only named (`allow`)."},
			func(l *loader, v value) { l.c.Content.ProtectedPolicy = ContentPolicy(l.choice(v)) }},
		{Input{Name: "secret-scan", Kind: Choice, Enum: []string{"block", "draft", "off"}, Default: "block", Guarded: true, Placeholder: "WHAT",
			Help: "What happens when something in the form of a known kind of token or key is about to be published: nothing is (`block`), or the pull request stays a draft (`draft`). Secrets of the run itself are always looked for, and always block."},
			func(l *loader, v value) { l.c.Content.SecretScan = ContentPolicy(l.choice(v)) }},
		{Input{Name: "secret-scan-allow", Kind: Names, Max: 200, Guarded: true, Placeholder: "PATTERN",
			Help: "Files in which such forms are expected, such as `testdata/`, as patterns of a .gitignore, separated by commas or line ends."},
			func(l *loader, v value) { l.c.Content.SecretScanAllow = l.patterns(v) }},
		{Input{Name: "max-changed-files", Kind: Count, Default: "2000", Max: 10_000_000, Zero: "no limit", Guarded: true, Placeholder: "N",
			Help: "Files that the whole pull request may change."},
			func(l *loader, v value) { l.c.Content.MaxFiles = int(l.count(v)) }},
		{Input{Name: "max-changed-bytes", Kind: Size, Default: "100MB", Min: kilobyte, Max: 100 * terabyte, Zero: "no limit", Guarded: true, Placeholder: "SIZE",
			Help: "Size of the files that the whole pull request adds or changes, together."},
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
			l.report(v.where, "%s", strings.TrimSpace(line))
		}
		return nil
	}
	return list
}

// units are what sizes are written with, the longest first.
func units() []struct {
	name string
	size int64
} {
	return []struct {
		name string
		size int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", kilobyte}, {"MB", megabyte}, {"GB", gigabyte}, {"TB", terabyte},
	}
}

// bytesText prints a size as people type it.
func bytesText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TB", terabyte}, {"GB", gigabyte}, {"MB", megabyte}, {"KB", kilobyte}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
