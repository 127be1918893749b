package ralph

// Finding is something in the work that may not be published as it is, or that
// people should know before they merge it.
type Finding struct {
	Kind     FindingKind
	Severity Severity
	// Path is relative to the top of the repository; empty: about no file. Foreign text.
	Path string
	Line int // 1-based; 0: not known, or the whole of it
	// Where is what else it is about, such as "the message of commit 1a2b3c4"; empty for files.
	Where string
	Rule  string // that found it: "github-pat", ".github/workflows/**", "t.Skip"; never what was found
	// Text says in one line what is wrong and what would be right, and quotes no secret.
	Text string
}

// FindingKind groups findings for people.
type FindingKind string

// The kinds of findings.
const (
	FindingSecret      FindingKind = "secret"        // a known secret, or something in a known token's format
	FindingProtected   FindingKind = "protected"     // a path that only people may change
	FindingSize        FindingKind = "size"          // more files or bytes than a run may change
	FindingLink        FindingKind = "link"          // a link that leaves the tree, or a repository in it
	FindingTests       FindingKind = "tests"         // tests deleted, skipped or weakened
	FindingChecks      FindingKind = "checks"        // configuration of tests and linters changed
	FindingAgentConfig FindingKind = "agent-config"  // what agents read of a repository was changed
	FindingUnknown     FindingKind = "not-looked-at" // it could not be looked at: too large, or binary
	FindingClaim       FindingKind = "claim"         // a commit of the agent's claims another author, time or reviewer
	FindingUnfit       FindingKind = "unfit"         // git or the forge does not take it: too large, a name, a missing filter
)

// Severity says what a finding means for publishing.
type Severity string

// The severities, the gravest first.
const (
	Block   Severity = "block"    // nothing that holds it leaves the machine
	LeftOut Severity = "left-out" // the rest is published, and the pull request stays a draft
	Draft   Severity = "draft"    // it is published, and the pull request stays a draft
	Flag    Severity = "flag"     // it is published, and the pull request names it
)

// OfSeverity are the findings of one severity, in their order.
func OfSeverity(findings []Finding, s Severity) []Finding {
	var list []Finding
	for _, f := range findings {
		if f.Severity == s {
			list = append(list, f)
		}
	}
	return list
}

// Refused are the network addresses that the sandbox refused, each once.
type Refused struct {
	// Address is host:port of what was asked for, or the path of a socket. Foreign text.
	Address string
	Count   int
	Reason  string // "not in allowed-hosts", "an address of a private network", …
}
