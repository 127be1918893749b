package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/secret"
)

// terminal prints for people at a desk: colours and a status line when they
// look at a terminal, plain lines when the output goes elsewhere.
type terminal struct {
	redact *secret.Redactor
	format report.Formatter
	color  bool
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
}

// statusEvery is how often the status line is drawn anew.
const statusEvery = time.Second

// newTerminal prints to a.stdout. NO_COLOR and TERM=dumb are honoured.
func (a *app) newTerminal(redact *secret.Redactor) *terminal {
	tty := term.IsTerminal(int(a.stdout.Fd())) && a.getenv("TERM") != "dumb"
	t := &terminal{
		redact: redact, w: a.stdout, start: time.Now(), color: tty && a.getenv("NO_COLOR") == "",
		format: report.Formatter{Emoji: true, Color: tty && a.getenv("NO_COLOR") == "", MaxOutputLines: 6, MaxOutputChars: 1000},
	}
	if !tty {
		return t
	}
	if width, _, err := term.GetSize(int(a.stdout.Fd())); err == nil {
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

func (t *terminal) event(e ralph.Event) {
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

func (t *terminal) say(line string)  { t.words("", line) }
func (t *terminal) warn(line string) { t.words("33", line) }

func (t *terminal) words(color, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		line = string(runner.Sanitize([]byte(t.redact.Text(line))))
		if color != "" && t.color {
			line = "\x1b[" + color + "m" + line + "\x1b[0m"
		}
		t.put(line)
	}
}

// section has nothing to fold on a terminal.
func (t *terminal) section(title string) func() {
	t.words("1", title)
	return func() {}
}

// guest indents what setup commands and guardrails print.
func (t *terminal) guest() io.WriteCloser { return runner.Terminal(&indented{t}, t.redact) }

// indented gets whole harmless lines.
type indented struct{ t *terminal }

func (w *indented) Write(p []byte) (int, error) {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		line = "  │ " + strings.TrimSuffix(line, "\n")
		if w.t.color {
			line = "\x1b[2m" + line + "\x1b[0m"
		}
		w.t.put(line)
	}
	return len(p), nil
}

func (t *terminal) finish(r ralph.Report) {
	if t.tick != nil {
		t.tick.Stop()
		close(t.quit)
		t.done.Wait()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put("")
	t.clear()
	_, _ = io.WriteString(t.w, report.Text(r, report.Style{Color: t.color, Emoji: true, Width: t.format.Width}))
}

// put prints whole lines above the status line. Callers hold mu.
func (t *terminal) put(lines string) {
	t.clear()
	_, _ = io.WriteString(t.w, lines+"\n")
}

func (t *terminal) clear() {
	if t.drawn {
		_, _ = io.WriteString(t.w, "\r\x1b[K")
		t.drawn = false
	}
}

// draw shows elapsed time and cost.
func (t *terminal) draw() {
	if t.iteration == 0 {
		return
	}
	t.clear()
	status := fmt.Sprintf("⏱ %s · %s · %s", time.Since(t.start).Round(time.Second), strings.ToLower(report.IterationTitle(t.iteration, t.limit)), t.usage.Cost)
	if t.color {
		status = "\x1b[2m" + status + "\x1b[0m"
	}
	_, _ = io.WriteString(t.w, status)
	t.drawn = true
}
