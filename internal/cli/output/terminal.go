package output

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run"
)

// terminal prints for people at a terminal: colours and a status line when they
// look at a terminal, plain lines when the output goes elsewhere.
type terminal struct {
	redact *secret.Redactor
	format logs.Formatter
	runs   activity
	color  bool
	emoji  bool
	lane   bool
	stderr *os.File
	tick   *time.Ticker // nil: no status line
	quit   chan struct{}
	done   sync.WaitGroup

	mu        sync.Mutex
	w         io.Writer
	start     time.Time
	iteration int
	limit     int
	usage     ralph.Usage
	drawn     bool
	warned    []string // what need not be said again at the end
}

// statusEvery is how often the status line is drawn anew.
const statusEvery = time.Second

// NewTerminal prints to o.Out as the configuration wants it. NO_COLOR and TERM=dumb are honoured
// unless colours are asked for.
func NewTerminal(o Options) run.Printer {
	t := newTerminal(o)
	if t.tick == nil {
		t.runs.speak(t.Say)
	}
	return t
}

func isTerminal(f *os.File, getenv func(string) string) bool {
	return term.IsTerminal(int(f.Fd())) && getenv("TERM") != "dumb"
}

// Color reports whether output to a file has colours: as the setting says, else where people see
// them and do not decline.
func Color(f *os.File, getenv func(string) string, setting string) bool {
	switch setting {
	case "always", "never":
		return setting == "always"
	}
	return isTerminal(f, getenv) && getenv("NO_COLOR") == ""
}

func newTerminal(o Options) *terminal {
	tty, color := isTerminal(o.Out, o.Getenv), Color(o.Out, o.Getenv, o.Output.Display.Color)
	t := &terminal{
		redact: o.Redact, w: o.Out, stderr: o.Stderr, start: time.Now(), color: color, emoji: o.Output.Display.Emoji, lane: o.Lane,
		runs: activity{redact: o.Redact, repeats: &logs.Repeats{}},
	}
	t.format = formatter(o.Output, logs.Formatter{Color: color, Repeats: t.runs.repeats})
	if !tty {
		return t
	}
	if width, _, err := term.GetSize(int(o.Out.Fd())); err == nil {
		t.format.Width = width
	}
	t.tick, t.quit = time.NewTicker(statusEvery), make(chan struct{})
	t.done.Go(func() {
		for {
			select {
			case <-t.tick.C:
				t.mu.Lock()
				t.draw()
				t.mu.Unlock()
			case <-t.quit:
				return
			}
		}
	})
	return t
}

func (t *terminal) Event(e ralph.Event) {
	t.runs.event(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Kind == ralph.EventIterationStart:
		t.iteration, t.limit = e.Iteration, e.Max
		t.put("")
	case e.Kind == ralph.EventResult && e.Turn != nil:
		t.usage = t.usage.Add(e.Turn.Usage)
	}
	if lines := t.format.Lines(shown(e)); len(lines) > 0 {
		for i, line := range lines {
			lines[i] = t.redact.Text(line)
		}
		t.put(strings.Join(lines, "\n"))
	}
}

// formatter completes f by what was asked for. A display filter shows the agent
// in our place.
func formatter(o config.Output, f logs.Formatter) logs.Formatter {
	d := o.Display
	f.Emoji, f.Timestamp, f.MaxOutputLines, f.MaxOutputChars = d.Emoji, d.Timestamps, d.MaxLines, d.MaxChars
	f.Quiet = !o.Stream || o.DisplayFilter != ""
	return f
}

func (t *terminal) Say(line string) { t.words("", line) }

func (t *terminal) Warn(line string) {
	t.words("33", line)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warned = append(t.warned, line)
}

func (t *terminal) words(color, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		line = string(actions.Sanitize([]byte(t.redact.Text(line))))
		if color != "" && t.color {
			line = "\x1b[" + color + "m" + line + "\x1b[0m"
		}
		t.put(line)
	}
}

func (t *terminal) Signal(line string)  { t.Aside(line) }
func (t *terminal) Fail(_, line string) { t.Aside(line) }

// aside leaves stdout to what is worth reading.
func (t *terminal) Aside(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	_, _ = fmt.Fprintf(t.stderr, "%s\n", actions.Sanitize([]byte(t.redact.Text(line))))
}

// section has nothing to fold on a terminal.
func (t *terminal) Section(title string) func() {
	t.words("1", title)
	return func() {}
}

// Foreign is what setup commands and guardrails print, indented.
func (t *terminal) Foreign(of string) io.WriteCloser {
	return newStream(of, &t.runs, t.above(), func(reference string) { t.words("2", "  "+reference) })
}

// above prints indented lines.
func (t *terminal) above() *above { return &above{t: t, indent: "  │ ", dim: t.color} }

// display prints what a display filter made, as it made it.
func (t *terminal) Display() io.WriteCloser { return actions.Terminal(&above{t: t}, t.redact) }

// above prints whole harmless lines above the status line.
type above struct {
	t      *terminal
	indent string
	dim    bool
}

func (w *above) Close() error { return nil }

func (w *above) Write(p []byte) (int, error) {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		line = w.indent + strings.TrimSuffix(line, "\n")
		if w.dim {
			line = "\x1b[2m" + line + "\x1b[0m"
		}
		w.t.put(line)
	}
	return len(p), nil
}

func (t *terminal) Finish(r ralph.Report) {
	t.runs.silence()
	if t.tick != nil {
		t.tick.Stop()
		close(t.quit)
		t.done.Wait()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Notes = slices.DeleteFunc(slices.Clone(r.Notes), func(note string) bool {
		return slices.ContainsFunc(t.warned, func(line string) bool { return strings.HasSuffix(t.redact.Text(line), note) })
	})
	w, style := t.w, report.Style{Color: t.color, Emoji: t.emoji, Width: t.format.Width}
	if unstarted(r) {
		w, style.Color = t.stderr, t.color && term.IsTerminal(int(t.stderr.Fd()))
	} else {
		t.put("")
	}
	t.clear()
	if t.lane {
		_, _ = io.WriteString(w, report.Brief(r, style))
		return
	}
	_, _ = io.WriteString(w, report.Text(r, style))
}

// put prints whole lines above the status line. Callers hold mu.
func (t *terminal) put(lines string) {
	t.clear()
	_, _ = io.WriteString(t.w, lines+"\n")
	t.runs.shown()
}

func (t *terminal) clear() {
	if t.drawn {
		_, _ = io.WriteString(t.w, "\r\x1b[K")
		t.drawn = false
	}
}

// draw shows elapsed time, cost and what runs.
func (t *terminal) draw() {
	if t.iteration == 0 {
		return
	}
	t.clear()
	cost := t.usage.Cost
	cost.Unknown = cost.Unknown || t.usage == (ralph.Usage{}) // nothing is known before the first turn ends
	status := fmt.Sprintf("⏱ %s · %s · %s", time.Since(t.start).Round(time.Second), strings.ToLower(logs.IterationTitle(t.iteration, t.limit)), words.Cost(cost))
	if line := t.runs.line(); line != "" {
		status = t.format.Cut(status + " · " + line)
	}
	if t.color {
		status = "\x1b[2m" + status + "\x1b[0m"
	}
	_, _ = io.WriteString(t.w, status)
	t.drawn = true
}
