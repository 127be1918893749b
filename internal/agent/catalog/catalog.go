// Package catalog holds what is known of each agent CLI as data: its package,
// the files it reads of a repository, its variables, its abilities, and what the
// documents say of it. It imports nothing of ours, so that everything may read it.
package catalog

import "slices"

// Agent is a row of the catalogue.
type Agent struct {
	Name  string
	About string // the column "What it is" of README.md

	Package string // at registry.npmjs.org; empty: a program of the user's
	Program string // what the package puts on PATH
	Version string // the one that was tested, which is installed unless another is asked for
	InImage string // for the tables: "yes" if the default image has it; empty if none does
	Size    string // on disk, for people

	// Variables name what the agent is handed of the environment. The first group holds
	// its keys, the usual one first.
	Variables []Variables
	// Providers are whose models the CLI can ask, and where each key is looked for. The first one
	// is asked where nothing else is said.
	Providers []Provider
	// AnyProvider reports that there are more than Providers lists.
	AnyProvider bool
	// Address is where the model answers where nothing else is said, and
	// AddressVariable changes it. Both may be empty.
	Address, AddressVariable string
	// SideHosts are asked for other things than models and logins; the CLI works
	// without them.
	SideHosts []string

	// Programs are the paths of a repository by which the CLI starts programs (hooks,
	// MCP servers, plugins, skills) or grants rights, and Prose those it reads as
	// instructions, both as patterns of .gitignore. Prose within Programs is left out
	// of them by a pattern that begins with "!".
	Programs, Prose []string

	Sessions bool // it can go on in an earlier session
	Hooks    bool // it runs hooks of ours
	// LateUsage reports that what a turn used is known at its end only, and
	// UnnamedModel that the stream does not say which model answered.
	LateUsage, UnnamedModel bool
	// Bypass are the arguments with which it acts without asking for permission and
	// outside of a sandbox of its own, and Unasked reports that it always does.
	Bypass  []string
	Unasked bool
	// Overrides are words in arguments and settings by which the user may name another
	// address, key or provider than the options do.
	Overrides []string

	Doc Doc
}

// Variables are those of one way to log in.
type Variables struct {
	For    string // for people, such as "on Bedrock"; empty for the usual way
	Keys   []string
	Others []string // that choose and describe the provider
}

// Provider is whose models a CLI asks.
type Provider struct {
	Name    string // a value of the input provider
	Key     string // the variable with its key; empty: it takes none, or which one is not known
	Address string // of its API as the CLI has it; empty: it has none
}

// Own reports whether the agent is a program of the user's.
func (a Agent) Own() bool { return a.Name != "" && a.Package == "" }

// Keys are the variables that hold a key for the agent, the usual one first.
func (a Agent) Keys() []string {
	if len(a.Variables) == 0 {
		return nil
	}
	return slices.Clone(a.Variables[0].Keys)
}

// Credentials are all variables that the agent is handed, its keys first. General cloud
// identities (AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, …) are not among
// them: they open far more than a model, so they take a pass-env.
func (a Agent) Credentials() []string {
	all := a.Keys()
	for i, v := range a.Variables {
		if i > 0 {
			all = append(all, v.Keys...)
		}
		all = append(all, v.Others...)
	}
	return all
}

// Provider is the row of a provider; empty for one that is not listed.
func (a Agent) Provider(name string) Provider {
	if i := slices.IndexFunc(a.Providers, func(p Provider) bool { return p.Name == name }); i >= 0 {
		return a.Providers[i]
	}
	return Provider{}
}

// ProviderNames are the providers that are listed.
func (a Agent) ProviderNames() []string {
	names := make([]string, len(a.Providers))
	for i, p := range a.Providers {
		names[i] = p.Name
	}
	return names
}

// Of is the row of an agent; empty for one that is not known.
func Of(name string) Agent {
	all := All()
	if i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name }); i >= 0 {
		return all[i]
	}
	return Agent{}
}

// Names are the agents in the order of the catalogue.
func Names() []string { return names(All()) }

// CLIs are the agents that are somebody's CLI, in the order in which they are
// looked for.
func CLIs() []string { return names(slices.DeleteFunc(All(), Agent.Own)) }

func names(all []Agent) []string {
	list := make([]string, len(all))
	for i, a := range all {
		list[i] = a.Name
	}
	return list
}

// Programs are the paths of a repository by which agents and editors start programs
// or grant rights, those of CLIs that no [Agent] runs included.
func Programs() []string {
	var paths []string
	for _, a := range All() {
		paths = append(paths, a.Programs...)
	}
	return unique(append(paths,
		".cursor/", "!**/.cursor/rules/", ".windsurf/", "!**/.windsurf/rules/", ".kiro/", "!**/.kiro/steering/", ".aider.conf.yml"))
}

// Prose are the paths that agents read as instructions, those of CLIs that no
// [Agent] runs included.
func Prose() []string {
	var paths []string
	for _, a := range All() {
		paths = append(paths, a.Prose...)
	}
	return unique(append(paths,
		"**/.cursor/rules/", "**/.windsurf/rules/", "**/.kiro/steering/", ".cursorrules", ".windsurfrules", ".roorules", ".goosehints", ".aiexclude",
		".agents/", ".continue/", ".goose/", ".junie/", ".qwen/", ".roo/", "QWEN.md", "WARP.md"))
}

// unique leaves out what stands in the list before.
func unique(list []string) []string {
	var all []string
	for _, s := range list {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Doc is what the documents say of an agent, each text a cell of a table in
// Markdown. `go generate ./...` writes the tables.
type Doc struct {
	Key  string // README.md: its key, as a variable
	Cost string // README.md: where the cost of a turn is from

	Tried, NotSeen string // docs/agents.md: how the version was tried
	Hosts          []Hosts

	Takes Takes
	Holds Holds
}

// Hosts are those an agent asks, by whose models they are.
type Hosts struct{ For, Hosts string }

// Takes is what an agent can be given. The tag of a field is the head of its row in
// docs/agents.md.
type Takes struct {
	Model    string "row:\"`model`\""
	Effort   string "row:\"`effort`\""
	Provider string "row:\"`provider`\""
	BaseURL  string "row:\"`base-url`\""
	System   string "row:\"`append-system-prompt`\""
	MCP      string "row:\"`mcp-config`\""
	Settings string "row:\"`agent-settings`\""
}

// Holds is how an agent is limited and how it continues.
type Holds struct {
	Budget  string `row:"budget"`
	Limit   string `row:"usage limit"`
	Session string `row:"continues a session"`
}
