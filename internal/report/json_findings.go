package report

import "github.com/org/ralph-action/internal/ralph"

type finding struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Line     *int   `json:"line"`
	Where    string `json:"where"`
	Rule     string `json:"rule"`
	Text     string `json:"text"`
}

type refused struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
	Reason  string `json:"reason"`
}

func newFindings(list []ralph.Finding) []finding {
	out := make([]finding, 0, len(list))
	for _, f := range list {
		out = append(out, finding{string(f.Kind), string(f.Severity), bounded(f.Path), positive(f.Line), bounded(f.Where), bounded(f.Rule), bounded(f.Text)})
	}
	return out
}

func newNetwork(list []ralph.Refused) []refused {
	out := make([]refused, 0, len(list))
	for _, n := range list {
		out = append(out, refused{bounded(n.Address), n.Count, bounded(n.Reason)})
	}
	return out
}
