package starter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrStopped says that the answers ended, or the dialogue was stopped, before
// the questions.
var ErrStopped = errors.New("interrupted")

// Dialogue asks questions and reads answers, one line each.
type Dialogue struct {
	Absent func(command string) string // warns of an agent that is not there; nil: nobody looks

	stop  <-chan struct{}
	out   io.Writer
	lines chan line
	err   error // of out, and the first only
}

type line struct {
	text string
	err  error
}

// maxLine bounds an answer in bytes; a terminal's own bound is 4096.
const maxLine = 64 << 10

var errLong = fmt.Errorf("that is longer than %d characters", maxText)

// NewDialogue reads answers from in until it ends or stop is closed. A reader
// that blocks beyond that, as a terminal does, keeps one goroutine until the
// process ends.
func NewDialogue(stop <-chan struct{}, in io.Reader, out io.Writer) *Dialogue {
	d := &Dialogue{stop: stop, out: out, lines: make(chan line)}
	go func() {
		defer close(d.lines)
		r := bufio.NewReaderSize(in, maxLine)
		for {
			l := read(r)
			select {
			case d.lines <- l:
			case <-stop:
				return
			}
			if l.err != nil && !errors.Is(l.err, errLong) {
				return
			}
		}
	}()
	return d
}

// read takes one line. One that does not end is no answer: somebody left in
// the middle of it.
func read(r *bufio.Reader) line {
	text, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line{string(text), err}
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err != nil {
		return line{err: err}
	}
	return line{err: errLong}
}

// ask shows a question until accept takes the answer, trimmed, or the answers
// end.
func (d *Dialogue) ask(question string, accept func(answer string) error) error {
	for {
		d.say(question)
		if d.err != nil {
			return fmt.Errorf("ask: %w", d.err)
		}
		answer := line{err: io.EOF}
		select {
		case l, ok := <-d.lines:
			if ok {
				answer = l
			}
		case <-d.stop:
		}
		switch {
		case d.stopped():
			return ErrStopped
		case errors.Is(answer.err, errLong):
			d.say("  " + answer.err.Error() + "\n")
			continue
		case errors.Is(answer.err, io.EOF):
			return ErrStopped
		case answer.err != nil:
			return fmt.Errorf("read the answer: %w", answer.err)
		}
		text := strings.TrimSpace(answer.text)
		err := Line(text)
		if err == nil {
			err = accept(text)
		}
		if err == nil {
			return nil
		}
		d.say("  " + err.Error() + "\n")
	}
}

func (d *Dialogue) stopped() bool {
	select {
	case <-d.stop:
		return true
	default:
		return false
	}
}

func (d *Dialogue) say(text string) {
	if _, err := io.WriteString(d.out, text); err != nil && d.err == nil {
		d.err = err
	}
}

// Confirm asks a question that yes or no answers; blank means fallback.
func (d *Dialogue) Confirm(question string, fallback bool) (yes bool, err error) {
	hint := " (y/N): "
	if fallback {
		hint = " (Y/n): "
	}
	err = d.ask(question+hint, func(answer string) error {
		switch strings.ToLower(answer) {
		case "":
			yes = fallback
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		default:
			return errors.New("answer y or n")
		}
		return nil
	})
	return yes, err
}

// Interview asks for everything that settings hold.
func (d *Dialogue) Interview(p Proposal) (Settings, error) {
	s := Defaults()
	for _, part := range []func(*Settings, Proposal) error{d.agent, d.limits, d.proposed, d.guardrails, d.scm} {
		if err := part(&s, p); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func (d *Dialogue) agent(s *Settings, p Proposal) error {
	question := "Agent command (e.g., claude, codex, amp, or other LLM CLI)"
	if p.Agent != "" {
		question += " [" + p.Agent + "]"
	}
	err := d.ask(question+": ", func(answer string) error {
		if s.Agent.Command = answer; answer == "" {
			s.Agent.Command = p.Agent
		}
		if s.Agent.Command == "" {
			return errors.New("an agent is needed: give the command that starts one")
		}
		return Command(answer)
	})
	if err != nil {
		return err
	}
	if d.Absent != nil {
		if warning := d.Absent(s.Agent.Command); warning != "" {
			d.say("  " + warning + "\n")
		}
	}
	return d.ask("Agent flags (comma-separated, optional): ", func(answer string) (err error) {
		s.Agent.Flags, err = Flags(answer)
		return err
	})
}

func (d *Dialogue) limits(s *Settings, _ Proposal) error {
	err := d.ask("Maximum iterations ["+strconv.Itoa(DefaultIterations)+"]: ", func(answer string) (err error) {
		if answer == "" {
			answer = strconv.Itoa(DefaultIterations)
		}
		s.MaximumIterations, err = Iterations(answer)
		return err
	})
	if err != nil {
		return err
	}
	return d.ask("Completion response ["+DefaultCompletion+"]: ", func(answer string) error {
		if answer == "" {
			answer = DefaultCompletion
		}
		s.CompletionResponse = answer
		return Completion(answer)
	})
}

// proposed offers the guardrails that the project lets us see.
func (d *Dialogue) proposed(s *Settings, p Proposal) error {
	for _, g := range p.Guardrails {
		yes, err := d.Confirm("Add guardrail "+strconv.Quote(g.Command)+"?", true)
		if err != nil {
			return err
		}
		if yes {
			s.Guardrails = append(s.Guardrails, g)
		}
	}
	return nil
}

func (d *Dialogue) guardrails(s *Settings, _ Proposal) error {
	for {
		g := Guardrail{FailAction: Append}
		err := d.ask("Add guardrail command (leave blank to finish): ", func(answer string) error {
			g.Command = answer
			return nil
		})
		if err != nil || g.Command == "" {
			return err
		}
		err = d.ask("  Fail action (APPEND|PREPEND|REPLACE): ", func(answer string) (err error) {
			g.FailAction, err = ParseFailAction(answer)
			return err
		})
		if err != nil {
			return err
		}
		err = d.ask("  Hint (optional, guidance for agent on failure): ", func(answer string) error {
			g.Hint = answer
			return nil
		})
		if err != nil {
			return err
		}
		s.Guardrails = append(s.Guardrails, g)
	}
}

func (d *Dialogue) scm(s *Settings, _ Proposal) error {
	yes, err := d.Confirm("Configure SCM?", false)
	if err != nil || !yes {
		return err
	}
	scm := &SCM{}
	err = d.ask("  SCM command (e.g., git): ", func(answer string) error {
		if scm.Command = answer; answer == "" {
			return errors.New("give the command, such as git")
		}
		return Words(answer)
	})
	if err != nil {
		return err
	}
	err = d.ask("  SCM tasks (comma-separated, e.g., commit,push): ", func(answer string) error {
		if scm.Tasks = Commas(answer); len(scm.Tasks) == 0 {
			return errors.New("give at least one task, such as commit")
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.SCM = scm
	return nil
}
