package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
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
			cmp.Compare(rank(words.KindIndex(a.Kind)), rank(words.KindIndex(b.Kind))))
	})
	return groups
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
			icon, heading := words.Severity(severity)
			if title := doc.Line(icon + " " + heading); i == 0 {
				s.Title = title
			} else {
				s.Blocks = append(s.Blocks, doc.Block{Kind: doc.TitleBlock, Text: title})
			}
		}
		if left == 0 {
			continue
		}
		kind := doc.Line(doc.Strong(words.OfKind(g.Kind).Title))
		if todo := words.OfKind(g.Kind).Todo; todo != "" && g.Severity != ralph.Flag {
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
	w, plural := words.OfKind(k), "s"
	if n == 1 {
		w.Blocks, plural = cmp.Or(w.One, w.Blocks), ""
	}
	return strings.NewReplacer("{n}", strconv.Itoa(n), "{s}", plural).Replace(w.Blocks)
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
			t := doc.Line(words.OfKind(g.Kind).Title)
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
