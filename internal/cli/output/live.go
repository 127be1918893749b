package output

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// quiet is how long the log says nothing while something runs.
const quiet = 30 * time.Second

// activity knows what runs, and says so when nothing else was shown for a while; and
// what the log has shown.
type activity struct {
	redact  *secret.Redactor
	repeats *logs.Repeats

	mu      sync.Mutex
	timer   *time.Timer // nil: nothing is said
	stage   running     // what goes on while nothing runs; zero: a wait, whose end is known
	running []running   // what began last is the last
}

// running is something that takes time.
type running struct {
	id, what string
	since    time.Time
	last     string // line that it printed
}

// speak begins to say what runs, until silence. say calls shown.
func (a *activity) speak(say func(line string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stage = running{what: "the start of the run", since: time.Now()}
	a.timer = time.AfterFunc(quiet, func() {
		if line := a.line(); line != "" {
			say("… " + line)
		}
		a.shown()
	})
}

// shown notes that something was shown.
func (a *activity) shown() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Reset(quiet)
	}
}

// silence ends what speak began.
func (a *activity) silence() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

const agentTurn = "agent"

func toolCall(id string) string { return "tool " + id }

// event notes what begins and what ends.
func (a *activity) event(e ralph.Event) {
	switch e.Kind {
	case ralph.EventIterationStart:
		a.repeats.Begin(e.Iteration)
		a.enter(fmt.Sprintf("iteration %d", e.Iteration))
	case ralph.EventPrompt:
		a.enter(fmt.Sprintf("iteration %d", e.Iteration))
		a.begin(agentTurn, "the agent's turn")
	case ralph.EventToolStart:
		what := e.Tool
		if e.Text != "" {
			what += "(" + e.Text + ")"
		}
		a.begin(toolCall(e.ToolID), what)
	case ralph.EventToolEnd:
		a.end(toolCall(e.ToolID))
	case ralph.EventGuardrailStart, ralph.EventTaskStart:
		a.begin(e.Text, e.Text)
	case ralph.EventGuardrailEnd:
		if e.Verdict != nil {
			a.end(e.Verdict.Command)
		}
	case ralph.EventTaskEnd:
		if e.Task != nil {
			a.end(e.Task.Command)
		}
	case ralph.EventResult:
		a.enter(a.stage.what)
	case ralph.EventIterationEnd:
		a.enter("the end of the iteration")
	case ralph.EventRetry, ralph.EventNext:
		a.enter("")
	}
}

// enter begins a stage, in which nothing runs yet; empty: a wait.
func (a *activity) enter(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = nil
	if what != a.stage.what {
		a.stage = running{what: what, since: time.Now()}
	}
}

func (a *activity) begin(id, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.find(id) < 0 && len(a.running) < 1000 {
		a.running = append(a.running, running{id: id, what: what, since: time.Now()})
	}
}

func (a *activity) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(id); i >= 0 {
		a.running = slices.Delete(a.running, i, i+1)
	}
}

// printed notes a line of what runs, which is redacted and harmless.
func (a *activity) printed(id, line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(id); i >= 0 && strings.TrimSpace(line) != "" {
		a.running[i].last = line
	}
}

// find returns where something stands in running, or -1. Callers hold mu.
func (a *activity) find(id string) int {
	return slices.IndexFunc(a.running, func(r running) bool { return r.id == id })
}

// line says what runs, and for how long; empty when nothing does.
func (a *activity) line() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.running) == 0 && a.stage.what == "":
		return ""
	case len(a.running) == 0:
		return logs.Running(a.stage.what, time.Since(a.stage.since), 0, "")
	}
	others := len(a.running) - 1
	r := a.running[others]
	if others > 0 && a.find(agentTurn) >= 0 { // the tools are a part of it
		others--
	}
	return logs.Running(a.redact.Text(r.what), time.Since(r.since), others, r.last)
}

// stream is the live output of one command: what was shown before is referred to,
// and its last line is kept for the activity.
type stream struct {
	io.WriteCloser // makes it harmless, line by line
	id             string
	out            *logs.Output
	to             io.WriteCloser
	say            func(reference string)
	activity       *activity
}

// newStream shows a command's output by to, and references to earlier ones by say.
func newStream(command string, a *activity, to io.WriteCloser, say func(string)) *stream {
	s := &stream{id: command, out: a.repeats.Output(), to: to, say: say, activity: a}
	s.WriteCloser = actions.Terminal(lineWriter(s.lines), a.redact)
	a.begin(command, command)
	return s
}

type lineWriter func(lines string)

func (w lineWriter) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

func (s *stream) lines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		s.activity.printed(s.id, line)
		s.show(s.out.Line(line))
	}
}

func (s *stream) show(reference string, lines []string) {
	if reference != "" {
		s.say("… " + reference)
	}
	if len(lines) > 0 {
		_, _ = io.WriteString(s.to, strings.Join(lines, "\n")+"\n")
	}
}

// Close shows the unfinished last line, and what waited.
func (s *stream) Close() error {
	err := s.WriteCloser.Close()
	s.show(s.out.End())
	s.activity.end(s.id)
	return errors.Join(err, s.to.Close())
}
