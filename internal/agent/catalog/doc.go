package catalog

// Doc is what the documents say of an agent, each text a cell of a table in
// Markdown. `go generate ./...` writes the tables.
type Doc struct {
	Key  string // README.md: its key, as a variable
	Cost string // README.md: where the cost of a turn is from

	// docs/agents.md: how the version was tried.
	Container, Alone, NotSeen string
	Login                     string // docs/agents.md: what a login of the CLI's own is
	Hosts                     []Hosts

	Reads Reads
	Takes Takes
	Holds Holds
}

// Hosts are those an agent asks, by whose models they are.
type Hosts struct{ For, Hosts string }

// Reads is what is read of an agent's output. The tag of a field is the head of its
// row in docs/agents.md.
type Reads struct {
	Prompt   string `row:"prompt"`
	Stream   string `row:"stream"`
	Words    string `row:"its own words"`
	Tools    string `row:"tool calls"`
	Tasks    string `row:"task list"`
	Tokens   string `row:"tokens"`
	Cost     string `row:"cost"`
	Evidence string `row:"evidence of work"`
}

// Takes is what an agent can be given.
type Takes struct {
	Model    string "row:\"`model`\""
	Effort   string "row:\"`effort`\""
	Provider string "row:\"`provider`\""
	BaseURL  string "row:\"`base-url`\""
	Key      string "row:\"`api-key`\""
	System   string "row:\"`append-system-prompt`\""
	MCP      string "row:\"`mcp-config`\""
	Settings string "row:\"`agent-settings`\""
}

// Holds is how an agent is held and how it goes on.
type Holds struct {
	Budget   string `row:"budget within an iteration"`
	Turns    string `row:"max turns"`
	Limit    string `row:"usage limit"`
	Hopeless string `row:"ended early when hopeless"`
	Session  string `row:"goes on in a session"`
	End      string `row:"end before exit"`
}
