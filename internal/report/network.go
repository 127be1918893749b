package report

import "fmt"

// network tells the addresses that the sandbox refused.
func (m record) network() section {
	if len(m.Network) == 0 {
		return section{}
	}
	g := grid{Columns: []column{{Title: "Address", Class: "t"}, {Title: "Refused", Right: true}, {Title: "Why"}}}
	for _, n := range m.Network[:min(len(m.Network), m.bounds.network)] {
		g.Rows = append(g.Rows, []text{line(bare(n.Address, m.command)), line(fmt.Sprint(n.Count)), line(foreign(n.Reason, 120))})
	}
	s := section{
		Title:  line("Network: refused addresses"),
		Fold:   line(strong("Network: refused addresses"), fmt.Sprintf(" (%d)", len(m.Network))),
		Blocks: []block{{Kind: gridBlock, Grid: g}},
	}
	if n := len(m.Network) - m.bounds.network; n > 0 {
		s.Blocks = append(s.Blocks, soft(more(n)))
	}
	s.Blocks = append(s.Blocks, para("If the work needs one of them, name its host in ", bare("allowed-hosts", 20), "."))
	return s
}
