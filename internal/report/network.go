package report

import (
	"fmt"

	"github.com/org/ralph-action/internal/report/doc"
)

// network tells the addresses that the sandbox refused.
func (m record) network() doc.Section {
	if len(m.Network) == 0 {
		return doc.Section{}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "Address", Class: "t"}, {Title: "Refused", Right: true}, {Title: "Why"}}}
	for _, n := range m.Network[:min(len(m.Network), m.bounds.network)] {
		g.Rows = append(g.Rows, []doc.Text{doc.Line(doc.Bare(n.Address, m.command)), doc.Line(fmt.Sprint(n.Count)), doc.Line(doc.Foreign(n.Reason, 120))})
	}
	s := doc.Section{
		Title:  doc.Line("Network: refused addresses"),
		Fold:   doc.Line(doc.Strong("Network: refused addresses"), fmt.Sprintf(" (%d)", len(m.Network))),
		Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}},
	}
	if n := len(m.Network) - m.bounds.network; n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(more(n)))
	}
	s.Blocks = append(s.Blocks, doc.Para("If the work needs one of them, name its host in ", doc.Bare("allowed-hosts", 20), "."))
	return s
}
