package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// findingGroup is the findings of one severity and kind, in the order in which
// they were given.
type findingGroup struct {
	Severity ralph.Severity
	Kind     ralph.FindingKind
	List     []ralph.Finding
}

// findingGroups sorts findings: what blocks first, then what was left out, what keeps the pull
// request a draft, then what to look at.
func findingGroups(r ralph.Report) []findingGroup {
	severities := []ralph.Severity{ralph.Block, ralph.LeftOut, ralph.Draft, ralph.Flag}
	var groups []findingGroup
	for _, f := range r.Findings {
		i := slices.IndexFunc(groups, func(g findingGroup) bool { return g.Severity == f.Severity && g.Kind == f.Kind })
		if i < 0 {
			i, groups = len(groups), append(groups, findingGroup{Severity: f.Severity, Kind: f.Kind})
		}
		groups[i].List = append(groups[i].List, f)
	}
	rank := func(i int) uint { return uint(i) } // what is not in a list, -1, comes last
	slices.SortStableFunc(groups, func(a, b findingGroup) int {
		return cmp.Or(
			cmp.Compare(rank(slices.Index(severities, a.Severity)), rank(slices.Index(severities, b.Severity))),
			cmp.Compare(rank(kindIndex(a.Kind)), rank(kindIndex(b.Kind))))
	})
	return groups
}

// severityWords is the heading of a severity.
func severityWords(s ralph.Severity) (icon, text string) {
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

// kindWords is how documents speak of findings of a kind.
type kindWords struct {
	kind  ralph.FindingKind
	title string
	// blocks says in one clause what blocks the work; one, if not empty, is for a single finding.
	// {n} is their number, and {s} its plural.
	blocks, one string
	todo        string // what a person does about them; empty: their own text says it all
}

// kinds are the words for all kinds, in the order in which they are told.
func kinds() []kindWords {
	const blocks = "{n} finding{s} that may not be published"
	return []kindWords{
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

func kindIndex(k ralph.FindingKind) int {
	return slices.IndexFunc(kinds(), func(w kindWords) bool { return w.kind == k && k != "" })
}

// wordsOf are the words for a kind.
func wordsOf(k ralph.FindingKind) kindWords {
	all := kinds()
	if i := kindIndex(k); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}

// place says where a finding is, path and line or what else; foreign text.
func place(f ralph.Finding) string {
	switch {
	case f.Path == "":
		return f.Where
	case f.Line > 0:
		return fmt.Sprintf("%s:%d", doc.OneLine(f.Path, placeRunes), f.Line)
	}
	return f.Path
}

const placeRunes = 200

// findings tells what was found in the work, bounded over all groups.
func (m record) findings() doc.Section {
	var s doc.Section
	left, severity := m.bounds.findings, ralph.Severity("")
	for i, g := range findingGroups(m.Report) {
		if i == 0 || g.Severity != severity {
			severity = g.Severity
			icon, words := severityWords(severity)
			if title := doc.Line(icon + " " + words); i == 0 {
				s.Title = title
			} else {
				s.Blocks = append(s.Blocks, doc.Block{Kind: doc.TitleBlock, Text: title})
			}
		}
		if left == 0 {
			continue
		}
		kind := doc.Line(doc.Strong(wordsOf(g.Kind).title))
		if todo := wordsOf(g.Kind).todo; todo != "" && g.Severity != ralph.Flag {
			kind = doc.Line(kind, ": "+todo)
		}
		var lines []doc.Text
		for _, f := range g.List[:min(left, len(g.List))] {
			lines = append(lines, m.finding(f))
		}
		s.Blocks = append(s.Blocks, doc.Para(kind), doc.Block{Kind: doc.ListBlock, Lines: lines})
		left -= len(lines)
	}
	if n := len(m.Findings) - m.bounds.findings; n > 0 {
		s.Blocks = append(s.Blocks, doc.Para(more(n)))
	}
	return s
}

// finding is one in a line: where, what, and which rule found it.
func (m record) finding(f ralph.Finding) doc.Text {
	var parts []doc.Text
	switch at := place(f); {
	case at == "":
	case f.Path == "":
		parts = append(parts, doc.Line(doc.Foreign(at, placeRunes)))
	case f.Where != "": // a file of a commit may be gone since
		parts = append(parts, doc.Line(doc.Bare(at, placeRunes+10), " ", doc.Foreign("("+f.Where+")", placeRunes)))
	default:
		parts = append(parts, doc.Line(doc.Bare(at, placeRunes+10)))
	}
	if f.Text != "" {
		parts = append(parts, doc.Line(doc.Foreign(f.Text, m.line)))
	}
	t := doc.Joined(parts, ": ")
	if f.Rule != "" {
		t = doc.Line(t, " (", doc.Bare(f.Rule, 80), ")")
	}
	return t
}

// blockedWords says in one clause what blocks the work, by kind and never by
// content; empty when no finding does.
func blockedWords(r ralph.Report) string {
	var parts []string
	for _, g := range findingGroups(r) {
		if g.Severity == ralph.Block {
			parts = append(parts, blockedBy(g.Kind, len(g.List)))
		}
	}
	return strings.Join(parts, ", ")
}

func blockedBy(k ralph.FindingKind, n int) string {
	w, plural := wordsOf(k), "s"
	if n == 1 {
		w.blocks, plural = cmp.Or(w.one, w.blocks), ""
	}
	return strings.NewReplacer("{n}", strconv.Itoa(n), "{s}", plural).Replace(w.blocks)
}

// blockers are the lines that say where and what blocks, at most list of them.
func (m record) blockers() []doc.Text {
	var lines []doc.Text
	all := 0
	for _, g := range findingGroups(m.Report) {
		if g.Severity != ralph.Block {
			continue
		}
		for _, f := range g.List {
			if all++; all > m.list {
				continue
			}
			t := doc.Line(wordsOf(g.Kind).title)
			if at := place(f); at != "" && f.Path != "" {
				t = doc.Line(t, " in ", doc.Mono(at, placeRunes+10))
			} else if at != "" {
				t = doc.Line(t, " in ", doc.Foreign(at, placeRunes))
			}
			lines = append(lines, doc.Line(t, "."))
		}
	}
	if all > m.list {
		lines = append(lines, doc.Line(fmt.Sprintf("…and %d more.", all-m.list)))
	}
	return lines
}
