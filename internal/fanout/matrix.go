package fanout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// job is one entry of the matrix. Its values are safe to stand in a shell.
type job struct {
	Lane    string `json:"lane"`
	Key     string `json:"key"`
	Stories string `json:"stories"` // ids, with commas between them
	Budget  string `json:"budget"`  // in dollars; empty: no limit
	Base    string `json:"base"`
	Branch  string `json:"branch"`
}

// Matrix is the lanes of a plan that [Make] made as a matrix of GitHub Actions, on one
// line, and how many there are.
func (p *Plan) Matrix() (matrix []byte, jobs int) {
	all := []job{}
	id := p.ID()
	for i := range p.Parts {
		part := &p.Parts[i]
		for _, l := range part.Lanes {
			all = append(all, job{
				Lane: l.Name, Key: LaneKey{Wave: p.Wave, Lane: l.Name, Plan: id}.String(), Stories: strings.Join(l.Stories, ","),
				Budget: dollars(l.Budget), Base: part.Base, Branch: part.Branch,
			})
		}
	}
	slices.SortFunc(all, func(a, b job) int { return cmp.Compare(a.Lane, b.Lane) }) // the longest first
	matrix, err := json.Marshal(map[string][]job{"include": all})
	if err != nil {
		panic(err) // it has nothing that JSON lacks
	}
	return matrix, len(all)
}

// Branches is the branches of the parts as a matrix, for the jobs that integrate.
func (p *Plan) Branches() []byte {
	all := []string{}
	for i := range p.Parts {
		all = append(all, p.Parts[i].Branch)
	}
	matrix, err := json.Marshal(map[string][]string{"branch": all})
	if err != nil {
		panic(err)
	}
	return matrix
}

// dollars is whole cents as an input has them.
func dollars(m ralph.MicroUSD) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%02d", m/ralph.USD, m%ralph.USD/cent)
}
