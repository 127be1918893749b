package output

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
)

// printers are those of a workflow and of a local run without a terminal, with
// what they have printed.
func printers(t *testing.T) map[string]func() (run.Printer, func() string) {
	t.Helper()
	redact := secret.NewRedactor(secret.New("hunter2-hunter2"))
	o := config.Output{Stream: true, Display: config.Display{Color: "never", MaxLines: 5}}
	printed := func() (*os.File, func() string) {
		file, err := os.Create(t.TempDir() + "/out")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file, func() string {
			data, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
	}
	none := func(string) string { return "" }
	return map[string]func() (run.Printer, func() string){
		"workflow": func() (run.Printer, func() string) {
			file, read := printed()
			r, err := actions.New(actions.Options{Getenv: none, Stdout: file, Redactor: redact})
			if err != nil {
				t.Fatal(err)
			}
			return NewActions(r, redact, o), read
		},
		"terminal": func() (run.Printer, func() string) {
			file, read := printed()
			return NewTerminal(Options{Redact: redact, Out: file, Stderr: file, Getenv: none, Output: o}), read
		},
	}
}

// While something runs and nothing is shown, a line says what, every 30 seconds.
func TestSilenceIsBroken(t *testing.T) {
	t.Parallel()
	for name, make := range printers(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, printed := make()
				said := func(what string, times int) {
					t.Helper()
					synctest.Wait()
					if n := strings.Count(printed(), what); n != times {
						t.Errorf("%q is said %d times, want %d:\n%s", what, n, times, printed())
					}
				}
				pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
				pass(31 * time.Second)
				said("… the start of the run, running for 30s\n", 1)
				p.Event(ralph.Event{Kind: ralph.EventIterationStart, Iteration: 1})
				p.Event(ralph.Event{Kind: ralph.EventPrompt, Iteration: 1})
				pass(29 * time.Second)
				said("running for", 1)
				pass(2 * time.Second)
				said("… the agent's turn, running for 30s\n", 1)
				p.Event(ralph.Event{Kind: ralph.EventText, Text: "I look."})
				pass(29 * time.Second)
				said("running for", 2)
				p.Event(ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", ToolID: "1", Text: "deploy --password hunter2-hunter2\n::stop\x1b[31m " + strings.Repeat("x", 999)})
				p.Event(ralph.Event{Kind: ralph.EventToolStart, Tool: "Read", ToolID: "2", Text: "a.txt"})
				pass(61 * time.Second)
				said("… Read(a.txt), running for 30s (and 1 more)\n", 1)
				said("… Read(a.txt), running for 1m0s (and 1 more)\n", 1)
				p.Event(ralph.Event{Kind: ralph.EventToolEnd, ToolID: "2"})
				pass(31 * time.Second)
				said("… Bash(deploy --password ***", 1)
				p.Event(ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{}})
				pass(31 * time.Second) // for the forge
				said("… iteration 1, running for 3m", 1)

				p.Event(ralph.Event{Kind: ralph.EventGuardrailStart, Text: "make test"})
				out := p.Foreign("make test")
				_, _ = io.WriteString(out, "compiling\n::error::x\x1b[2J hunter2-hunter2\n\nnot a whole line")
				pass(31 * time.Second)
				said("… make test, running for 30s: ::error::x ***\n", 1)
				_ = out.Close()
				p.Event(ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{Command: "make test"}})
				p.Event(ralph.Event{Kind: ralph.EventIterationEnd, Iteration: 1})
				pass(31 * time.Second) // publishing
				said("… the end of the iteration, running for 30s\n", 1)
				p.Event(ralph.Event{Kind: ralph.EventRetry, Wait: time.Hour}) // which is said
				said("running for", 8)
				pass(time.Hour)
				said("running for", 8)

				// a setup command
				out = p.Foreign("npm ci")
				pass(91 * time.Second)
				said("… npm ci, running for 1m30s\n", 1)
				_ = out.Close()
				p.Event(ralph.Event{Kind: ralph.EventPrompt, Iteration: 2})
				p.Finish(ralph.Report{Outcome: ralph.Completed})
				pass(time.Hour)
				said("running for", 11)
				if s := printed(); strings.Contains(s, "hunter2") || strings.Contains(s, "\x1b") || strings.Contains(s, "\n::error::x") {
					t.Errorf("what is quoted is not harmless:\n%q", s)
				}
			})
		})
	}
}

// The status line never shows a cost that nobody knows as nothing.
func TestStatusLineOfUnknownCost(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &terminal{w: file, iteration: 1, start: time.Now()}
	s.draw()
	s.usage = ralph.Usage{Cost: ralph.Cost{Amount: ralph.FromUSD(1.5)}}
	s.draw()
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); !strings.Contains(text, "· cost unknown") || strings.Contains(text, "$0") || !strings.Contains(text, "· $1.50") {
		t.Errorf("the status lines are %q", text)
	}
}
