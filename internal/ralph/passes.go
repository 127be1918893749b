package ralph

// passes are the verdicts of guardrails whose pass on a tree is taken for granted.
// Failures never are.
type passes struct {
	of map[pass]passed
	// moves counts how often the agent moved HEAD. What we commit is what was judged.
	moves int
	// acts counts what may have changed files that no tree covers: ignored ones, HOME,
	// temporary ones. Only an agent that reports its tool calls, and made none, did not.
	acts int
}

// pass is what a verdict is about.
type pass struct {
	command, tree string
	moves         int
}

type passed struct {
	Verdict
	acts int
}

// standing returns the verdicts that need not be asked for again, each in its
// guardrail's place; nil if all guardrails have to run. As long as the iteration cannot
// complete the run, the same tree is enough: what is wrong about that shows when it
// can. Then all guardrails run, unless all of them passed in one iteration since which
// the agent has done nothing but talk.
func (r *run) standing(it Iteration, now state, said *Detector) []Verdict {
	for _, t := range it.Turns {
		r.passes.did(t)
	}
	if it.Asked != nil {
		r.passes.did(*it.Asked)
	}
	if r.stall.known && r.stall.moved(now) {
		r.passes.moves++
	}
	if !now.ok || now.tree == "" {
		return nil
	}
	list, all, since := make([]Verdict, len(r.Guardrails)), true, 0
	for i, g := range r.Guardrails {
		v, ok := r.passes.of[pass{g.Name(), now.tree, r.passes.moves}]
		if ok && g.Rule().OnChanges {
			list[i] = v.Verdict
		}
		all = all && list[i].PassedIn > 0 && v.acts == r.passes.acts && (since == 0 || since == v.PassedIn)
		since = v.PassedIn
	}
	if last := said == nil || said.Found() || r.byMail() || r.Backlog != nil; last && !all {
		return nil
	}
	return list
}

// keep remembers the passes of an iteration whose guardrails left the tree as it was.
func (p *passes) keep(it Iteration, before state) {
	if p.of == nil {
		p.of = map[pass]passed{}
	}
	for _, v := range it.Verdicts {
		if v.PassedIn == 0 && before.ok && it.Change.Tree == before.tree {
			v.PassedIn, v.Duration = it.Number, 0
			p.of[pass{v.Command, before.tree, p.moves}] = passed{v, p.acts}
		}
	}
	for _, v := range failed(it.Verdicts) { // whatever it said before
		delete(p.of, pass{v.Command, before.tree, p.moves})
	}
	if it.Delivery.Turn != nil || len(it.Delivery.Tasks) > 0 {
		p.acts++
	}
}

// did counts a turn that may have changed something.
func (p *passes) did(t Turn) {
	if !t.CountsTools || t.Tools > 0 || t.Failure != nil {
		p.acts++
	}
}
