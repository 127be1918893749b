package words

import (
	"slices"

	"github.com/org/ralph-action/internal/ralph"
)

// Severity is the heading of a severity.
func Severity(s ralph.Severity) (icon, text string) {
	switch s {
	case ralph.Block:
		return "⛔", "What blocks publishing"
	case ralph.LeftOut:
		return "✂️", "Left out of what is published"
	case ralph.Draft:
		return "⚠️", "Why the pull request is a draft"
	}
	return "👀", "Look at these before you merge"
}

// Finding is how documents speak of findings of a kind.
type Finding struct {
	kind  ralph.FindingKind
	Title string
	// Blocks says in one clause what blocks the work; One, if not empty, is for a single finding.
	// {n} is their number, and {s} its plural.
	Blocks, One string
	Todo        string // what a person does about them; empty: their own text says it all
}

// kinds are the words for all kinds, in the order in which they are told.
func kinds() []Finding {
	const blocks = "{n} finding{s} that may not be published"
	return []Finding{
		{ralph.FindingSecret, "Secrets", "secrets are in the work ({n} places)", "a secret is in the work",
			"Remove it from the work, and revoke it if it is real: the agent has seen it. Allow a false positive with secret-scan-allow; a secret of this run cannot be allowed."},
		{ralph.FindingProtected, "Protected paths", "{n} protected path{s} changed", "",
			"Only people change these. Make the change by hand if it is right, or allow it with protected-paths."},
		{ralph.FindingLink, "Links and nested repositories", "{n} links or nested repositories lead out of the repository", "a link or nested repository leads out of the repository",
			"Replace it by a file, or by a link that stays in the repository."},
		{ralph.FindingSize, "Size", "the change is too large", "", "Make the task smaller, keep built files out of git, or raise the limit."},
		{ralph.FindingTests, "Tests", blocks, "", ""},
		{ralph.FindingChecks, "Checks", blocks, "", ""},
		{ralph.FindingAgentConfig, "Agent configuration", blocks, "", ""},
		{ralph.FindingClaim, "Commits of the agent's own that claim to be something else", blocks, "", ""},
		{ralph.FindingUnknown, "Not looked at", "{n} file{s} could not be inspected", "", ""},
		{ralph.FindingUnfit, "Cannot be published", blocks, "", ""},
		{"", "Others", blocks, "", ""},
	}
}

// KindIndex is the place of a kind in the order in which they are told; -1 for others.
func KindIndex(k ralph.FindingKind) int {
	return slices.IndexFunc(kinds(), func(w Finding) bool { return w.kind == k && k != "" })
}

// OfKind are the words for a kind.
func OfKind(k ralph.FindingKind) Finding {
	all := kinds()
	if i := KindIndex(k); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}
