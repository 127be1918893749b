package ralph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// ruled is a guardrail with a rule that takes a while and notes what it does.
type ruled struct {
	rail
	rule  ralph.Rule
	takes time.Duration
	note  func(text string)
}

func (g ruled) Rule() ralph.Rule { return g.rule }

func (g ruled) Check(ctx context.Context, n int, live <-chan struct{}) (ralph.Verdict, func()) {
	g.note(g.name)
	time.Sleep(g.takes) // of the bubble
	v, _ := g.rail.Check(ctx, n, live)
	return v, func() {
		<-live
		g.note("/" + g.name)
	}
}

func always(int) bool { return true }

// What may run side by side does, if it stands side by side, and is told of in order.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rails string // parallel ones are in capitals; each takes as many seconds as the digit after it says
		jobs  int
		want  time.Duration
	}{
		{"all", "A3 B2 C1", 4, 3 * time.Second},
		{"neighbours", "A3 B2 c1 D4 E1", 4, 8 * time.Second},
		{"a slow one keeps nobody waiting", "A5 B1 C1 D1", 2, 5 * time.Second},
		{"one job", "A3 B2 C1", 1, 6 * time.Second},
		{"none given", "A3 B2 C1", 0, 6 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told, want []string
				l := loop(nil, nil)
				l.Jobs = tc.jobs
				for name := range strings.FieldsSeq(tc.rails) {
					red := name[0] == 'B'
					l.Guardrails = append(l.Guardrails, ruled{
						rail: rail{name, func(int) bool { return !red }}, rule: ralph.Rule{Parallel: name[0] < 'a'},
						takes: time.Duration(name[1]-'0') * time.Second, note: func(string) {},
					})
					want = append(want, "start "+name, fmt.Sprint("end ", name, " ", !red))
				}
				l.Emit = func(e ralph.Event) {
					switch e.Kind {
					case ralph.EventGuardrailStart:
						told = append(told, "start "+e.Text)
					case ralph.EventGuardrailEnd:
						told = append(told, fmt.Sprint("end ", e.Verdict.Command, " ", e.Verdict.Passed))
					}
				}
				began := time.Now()
				l.Baseline(t.Context())
				if took := time.Since(began); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
				if !slices.Equal(told, want) {
					t.Errorf("told = %q, want %q", told, want)
				}
			})
		})
	}
}

// A Stop lets those finish that run, and begins no more.
func TestStopSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		l := loop(nil, nil)
		l.Jobs, l.Stop = 2, stop
		for _, name := range []string{"a", "b", "c", "d"} {
			l.Guardrails = append(l.Guardrails, ruled{rail: rail{name, always}, rule: ralph.Rule{Parallel: true}, takes: 2 * time.Second, note: func(string) {}})
		}
		time.AfterFunc(time.Second, func() { close(stop) })
		began := time.Now()
		if got := l.Baseline(t.Context()); len(got) != 2 || time.Since(began) != 2*time.Second {
			t.Errorf("Baseline() = %d verdicts after %s, want those 2 that ran after 2s", len(got), time.Since(began))
		}
	})
}

// A pass is taken for granted on the same tree only; when the run would be complete
// by it, only if the agent has done nothing since.
func TestPassesThatStand(t *testing.T) {
	t.Parallel()
	changes := ralph.Rule{OnChanges: true}
	for _, tc := range []struct {
		name  string
		rules []ralph.Rule
		red   func(name string, iteration int) bool
		steps func(w *tree) []step
		want  string // what ran, by iteration; * after what stood
	}{
		{"the same tree, and no end in sight", []ralph.Rule{changes, {}}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1}, {tools: 1}}
		}, "ab a*b a*b"},
		{"the last word, after tool calls", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1}, {tools: 1, say: promise}}
		}, "ab a*b* ab"},
		{"the last word, after talk", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {}, {say: promise}}
		}, "ab a*b* a*b*"},
		{"the last word, and one has to run", []ralph.Rule{changes, {}}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {say: promise}}
		}, "ab ab"},
		{"the last word, after a failed turn", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {fail: &ralph.Failure{Kind: ralph.FailureCrash}}, {say: promise}}
		}, "ab a*b* ab"},
		{"another tree", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1, edit: func() { w.edits++ }}, {tools: 1, edit: func() { w.edits-- }}}
		}, "ab ab a*b*"},
		{"a failure is asked again", []ralph.Rule{changes, changes}, func(name string, n int) bool { return name == "b" && n < 3 }, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1}, {tools: 1}, {tools: 1}}
		}, "ab a*b a*b a*b*"},
		{"a failure undoes a pass", []ralph.Rule{changes, changes}, func(name string, n int) bool { return name == "b" && n == 2 }, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1, say: promise}, {tools: 1}}
		}, "ab ab a*b"},
		{"a commit of the agent's", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1, edit: func() { w.head = "agent" }}, {tools: 1}}
		}, "ab ab a*b*"},
		{"a guardrail that formats", []ralph.Rule{changes, changes}, nil, func(w *tree) []step {
			w.formats = true
			return []step{{tools: 1, edit: func() { w.edits++ }}, {tools: 1}, {tools: 1}}
		}, "ab ab a*b*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &tree{}
			l := loop(&script{steps: tc.steps(w)}, w)
			var ran strings.Builder
			for i, rule := range tc.rules {
				name := string(rune('a' + i))
				l.Guardrails = append(l.Guardrails, ruled{rail: rail{name, func(n int) bool { return tc.red == nil || !tc.red(name, n) }}, rule: rule, note: func(text string) {
					if w.formats && text == "a" {
						w.formats = false
						w.edits++
					}
				}})
			}
			l.Emit = func(e ralph.Event) {
				switch {
				case e.Kind == ralph.EventIterationStart && e.Iteration > 1:
					ran.WriteByte(' ')
				case e.Kind == ralph.EventGuardrailEnd:
					ran.WriteString(e.Verdict.Command)
					if e.Verdict.PassedIn > 0 {
						ran.WriteByte('*')
					}
				}
			}
			l.Policy.MaxIterations = len(tc.steps(&tree{}))
			l.Policy.OnAgentError = ralph.ContinueOnError
			l.Run(t.Context(), nil)
			if got := ran.String(); got != tc.want {
				t.Errorf("ran %q, want %q", got, tc.want)
			}
		})
	}
}
