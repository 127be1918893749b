package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// networkHint says what to do where an address was needed.
const networkHint = "If the work needs one of them, name its host in allowed-hosts."

// network tells the addresses that the walls refused.
func (m markdown) network() string {
	if len(m.Network) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Address | Refused | Why |\n|---|---:|---|\n")
	for _, n := range m.Network[:min(len(m.Network), m.bounds.network)] {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", code(n.Address, 120), n.Count, inline(n.Reason, 120))
	}
	if more := len(m.Network) - m.bounds.network; more > 0 {
		fmt.Fprintf(&b, "\n_…and %d more; report.json has them all._\n", more)
	}
	b.WriteString("\n" + strings.Replace(networkHint, "allowed-hosts", "`allowed-hosts`", 1) + "\n")
	return details("<b>Network: refused addresses</b> ("+fmt.Sprint(len(m.Network))+")", b.String())
}

type pageRefused struct {
	Address, Reason string
	Count           int
}

func pageNetwork(r ralph.Report, limit bounds) (list []pageRefused, more int) {
	for _, n := range r.Network[:min(len(r.Network), limit.network)] {
		list = append(list, pageRefused{oneLine(n.Address, 300), oneLine(n.Reason, 200), n.Count})
	}
	return list, len(r.Network) - len(list)
}

// pageFindings is what the page shows of one severity.
type pageFindings struct {
	Icon, Title string
	Groups      []pageFindingGroup
}

type pageFindingGroup struct {
	Kind, Todo string
	Lines      []string
}

func newPageFindings(r ralph.Report, limit bounds) (list []pageFindings, more int) {
	left := limit.findings
	var severity ralph.Severity
	for i, g := range findingGroups(r) {
		if i == 0 || g.Severity != severity {
			severity = g.Severity
			icon, title := severityWords(severity)
			list = append(list, pageFindings{Icon: icon, Title: title})
		}
		n := min(left, len(g.List))
		left -= n
		more += len(g.List) - n
		if n == 0 {
			continue
		}
		group := pageFindingGroup{Kind: kindWords(g.Kind), Todo: g.todo()}
		for _, f := range g.List[:n] {
			group.Lines = append(group.Lines, plainFinding(f, limit.line))
		}
		list[len(list)-1].Groups = append(list[len(list)-1].Groups, group)
	}
	return list, more
}

// textFindings tells the findings on a terminal, a line for each.
func textFindings(f *Formatter, r ralph.Report) []string {
	var lines []string
	for _, g := range findingGroups(r) {
		mark := note
		switch g.Severity {
		case ralph.Block:
			mark = bad
		case ralph.Draft, ralph.LeftOut:
			mark = warn
		}
		for _, finding := range g.List {
			lines = append(lines, f.sign(mark)+" "+kindWords(g.Kind)+": "+plainFinding(finding, 300))
		}
	}
	if n := len(lines) - textRows; n > 0 {
		lines = append(lines[:textRows], fmt.Sprintf("…and %d more", n))
	}
	return lines
}

// textNetwork tells the refused addresses on a terminal.
func textNetwork(r ralph.Report) []string {
	var lines []string
	for i, n := range r.Network {
		if i == 10 {
			lines = append(lines, fmt.Sprintf("…and %d more", len(r.Network)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %d times, %s", oneLine(n.Address, 120), n.Count, oneLine(n.Reason, 120)))
	}
	return lines
}
