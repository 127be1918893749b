package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// worker is what one model of one agent did in a run. The names are foreign
// text.
type worker struct {
	Agent, Model string
	Iterations   int
	Usage        ralph.Usage
}

// workers tells agents and models apart, in the order of first use. Turns that
// broke off before the model was known count for the agent's only one; where it
// had several, they are left out when they used nothing.
func workers(r ralph.Report) []worker {
	var list []worker
	last := map[[2]string]int{} // the iteration that a worker was counted in
	add := func(iteration int, agent string, u ralph.ModelUsage) {
		key := [2]string{agent, u.Model}
		at := slices.IndexFunc(list, func(w worker) bool { return w.Agent == agent && w.Model == u.Model })
		if at < 0 {
			list, at = append(list, worker{Agent: agent, Model: u.Model}), len(list)
		}
		if last[key] != iteration {
			last[key] = iteration
			list[at].Iterations++
		}
		list[at].Usage = list[at].Usage.Add(u.Usage)
	}
	only := onlyModels(r)
	for i, it := range r.Iterations {
		for _, t := range words.EveryTurn(it) {
			agent := cmp.Or(t.Agent, r.Agent)
			for _, u := range modelsOf(t, only[agent]) {
				add(i+1, agent, u)
			}
		}
	}
	named := map[string]bool{}
	for _, w := range list {
		named[w.Agent] = named[w.Agent] || w.Model != ""
	}
	return slices.DeleteFunc(list, func(w worker) bool {
		return named[w.Agent] && w.Model == "" && w.Usage.Cost.Amount == 0 && w.Usage.Tokens.Total() == 0
	})
}

// modelsOf is what a turn used, by model.
func modelsOf(t ralph.Turn, only string) []ralph.ModelUsage {
	switch len(t.Models) {
	case 0:
		return []ralph.ModelUsage{{Model: cmp.Or(t.Model, only), Usage: t.Usage}}
	case 1:
		return []ralph.ModelUsage{{Model: t.Models[0].Model, Usage: t.Usage}}
	}
	return t.Models
}

// onlyModels is the model of each agent that named no other one.
func onlyModels(r ralph.Report) map[string]string {
	only, several := map[string]string{}, map[string]bool{}
	for _, it := range r.Iterations {
		for _, t := range words.EveryTurn(it) {
			agent := cmp.Or(t.Agent, r.Agent)
			for _, u := range modelsOf(t, "") {
				several[agent] = several[agent] || u.Model != "" && u.Model != cmp.Or(only[agent], u.Model)
				only[agent] = cmp.Or(only[agent], u.Model)
			}
		}
	}
	maps.DeleteFunc(only, func(agent, _ string) bool { return several[agent] })
	return only
}

// agentNames is agents, or the one that was asked for where none worked.
func agentNames(r ralph.Report) []string {
	if names := agents(r); len(names) > 0 || r.Agent == "" {
		return names
	}
	return []string{r.Agent}
}

const maxWorkers = 20 // in a table

// workers is a table of agents and models; nothing unless there were several.
func (m record) workers() doc.Section {
	list := workers(m.Report)
	if len(list) < 2 {
		return doc.Section{}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "Agent"}, {Title: "Model"}, {Title: "Iterations", Right: true}, {Title: "Tokens in / out", Right: true}, {Title: "Cost", Right: true}}}
	name := func(s string) doc.Text {
		if s = doc.OneLine(s, 80); s == "" {
			return doc.Line(doc.Nothing)
		}
		return doc.Line(doc.Bare(s, 80))
	}
	for _, w := range list[:min(maxWorkers, len(list))] {
		g.Rows = append(g.Rows, []doc.Text{
			name(w.Agent), name(w.Model), doc.Line(fmt.Sprint(w.Iterations)), doc.Line(doc.Tight(words.TokenPair(w.Usage.Tokens))), doc.Line(doc.Tight(w.Usage.Cost.String())),
		})
	}
	s := doc.Section{Title: doc.Line("Agents and models"), Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}}}
	if more := len(list) - len(g.Rows); more > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(fmt.Sprintf("%d more are left out here; report.json has them all.", more)))
	}
	return s
}

// priceNote says what an estimated cost rests on; empty when none is.
func priceNote(r ralph.Report) string {
	switch {
	case !r.Usage().Cost.Estimated:
		return ""
	case r.Prices == "":
		return "Costs are estimated from list prices; tokens as the CLI reports them."
	}
	return "Prices of " + doc.OneLine(r.Prices, 40) + "; tokens as the CLI reports them."
}
