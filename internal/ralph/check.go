package ralph

import "context"

// Guardrail judges the workspace after each turn.
type Guardrail interface {
	// Check runs the guardrail. It cannot fail: what could not be decided is a
	// failed verdict with the reason. Iteration 0 is the untouched tree. What it prints
	// is shown once live is closed; rest, called after that, shows what is left.
	Check(ctx context.Context, iteration int, live <-chan struct{}) (v Verdict, rest func())
	// Name is the command as the user wrote it.
	Name() string
	Rule() Rule
}

// Rule is what a guardrail's command allows.
type Rule struct {
	Parallel  bool // running at the same time as its neighbours in the list that allow it, too
	OnChanges bool // taking its pass for granted while tree and HEAD are those that it judged
}

// check runs every guardrail, not only up to the first that fails, but for those
// whose verdict stands. Only a Stop leaves some out. standing is nil, or has a place
// for each guardrail.
func (l *Loop) check(ctx context.Context, n int, standing []Verdict) []Verdict {
	if standing == nil {
		standing = make([]Verdict, len(l.Guardrails))
	}
	verdicts := make([]Verdict, 0, len(l.Guardrails))
	for len(verdicts) < len(l.Guardrails) {
		from := len(verdicts)
		to := from + 1
		for l.Guardrails[from].Rule().Parallel && to < len(l.Guardrails) && l.Guardrails[to].Rule().Parallel {
			to++
		}
		verdicts = append(verdicts, l.beside(ctx, n, l.Guardrails[from:to], standing[from:to])...)
		if len(verdicts) < to {
			break
		}
	}
	return verdicts
}

// checking is a guardrail that may run beside others.
type checking struct {
	Guardrail
	standing Verdict
	live     chan struct{} // closed when it is its turn to be shown
	begun    chan bool     // false: a Stop came first
	over     chan checked
}

type checked struct {
	Verdict
	rest func()
}

// beside runs guardrails at the same time, at most Jobs of them, and tells of them
// as if they ran one after the other.
func (l *Loop) beside(ctx context.Context, n int, rails []Guardrail, standing []Verdict) (verdicts []Verdict) {
	if l.stopped() {
		return nil
	}
	list := make([]checking, len(rails))
	for i, g := range rails {
		list[i] = checking{g, standing[i], make(chan struct{}), make(chan bool, 1), make(chan checked, 1)}
	}
	show := func(c checking) {
		l.emit(Event{Kind: EventGuardrailStart, Text: c.Name(), Iteration: n})
		close(c.live)
	}
	show(list[0])
	go l.start(ctx, n, list)
	for i, c := range list {
		if !<-c.begun {
			break
		}
		if i > 0 {
			show(c)
		}
		v := <-c.over
		v.rest()
		verdicts = append(verdicts, v.Verdict)
		l.emit(Event{Kind: EventGuardrailEnd, Verdict: &v.Verdict, Iteration: n})
	}
	return verdicts
}

// start begins guardrails in their order, as soon as there is room for one more.
func (l *Loop) start(ctx context.Context, n int, list []checking) {
	room := make(chan struct{}, max(1, l.Jobs))
	for i, c := range list {
		if c.standing.PassedIn > 0 {
			c.begun <- true
			c.over <- checked{c.standing, func() {}}
			continue
		}
		room <- struct{}{}
		if i > 0 && l.stopped() {
			c.begun <- false
			<-room
			continue
		}
		c.begun <- true
		go func() {
			v, rest := c.Check(ctx, n, c.live)
			<-room
			c.over <- checked{v, rest}
		}()
	}
}
