package catalog

// Doc is what the documents say of an agent, each text a cell of a table in
// Markdown. `go generate ./...` writes the tables.
type Doc struct {
	Key  string // README.md: its key, as a variable
	Cost string // README.md: where the cost of a turn is from

	Tried, NotSeen string // docs/agents.md: how the version was tried
	Login          string // docs/agents.md: what a login of the CLI's own is
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
