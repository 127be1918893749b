package agent

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// text is any command that reads the prompt on stdin and prints what it has to
// say. Its output, stdout and stderr alike, is its words; it reports no tools,
// no tokens and no cost.
type text struct{ base }

func (text) argv(o Options, _ ralph.Prompt) []string {
	return append(command(o, ""), o.Args...)
}

func (text) environ(o Options) []string { return without(o.Env, "CLAUDECODE") }

func (text) extras(o Options) ([]extra, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("needs agent-command, the command that reads the prompt on stdin")
	}
	if o.Model != "" {
		return nil, errors.New("model has no effect; write it into agent-command")
	}
	return nil, refuseExtras(o, "write them into agent-command")
}

func (text) merged(Options) bool { return true }

func (text) decoder(o Options, p ralph.Prompt, emit func(ralph.Event), _ func()) decoder {
	d := &textDecoder{emit: emit, final: tail{limit: maxText}}
	if !o.TextScanFull {
		d.echo = newEcho(p.Text)
	}
	return d
}

// textDecoder emits whole lines with their line ends, as many as there are at
// once, in pieces of at most maxText bytes. One copy of the prompt in the
// output is marked as echo.
type textDecoder struct {
	emit   func(ralph.Event)
	echo   *echo // nil: nothing is an echo
	held   []byte
	isEcho bool // of held
	part   int  // texts before and after the echo are not one text
	final  tail
	spoke  bool
}

func (d *textDecoder) Stdout(p []byte) {
	if d.echo == nil {
		d.add(p, false)
	} else {
		d.echo.feed(p, d.add)
	}
	if end := bytes.LastIndexByte(d.held, '\n'); end >= 0 {
		d.flush(end + 1)
	}
}

func (d *textDecoder) Stderr(p []byte) { d.Stdout(p) }

func (d *textDecoder) Close() {
	if d.echo != nil {
		d.echo.close(d.add)
	}
	d.flush(len(d.held))
}

func (d *textDecoder) add(p []byte, isEcho bool) {
	if isEcho != d.isEcho {
		d.flush(len(d.held))
		d.isEcho = isEcho
		d.part++
	}
	for len(p) > 0 {
		n := min(len(p), maxText-len(d.held))
		d.held, p = append(d.held, p[:n]...), p[n:]
		if len(d.held) < maxText {
			return
		}
		end := bytes.LastIndexByte(d.held, '\n') + 1
		if end == 0 {
			end = max(1, runeStart(d.held, len(d.held)-1))
		}
		d.flush(end)
	}
}

// flush emits the first n bytes held.
func (d *textDecoder) flush(n int) {
	if n == 0 {
		return
	}
	s := valid(d.held[:n])
	if !d.isEcho {
		_, _ = d.final.Write(d.held[:n])
		d.spoke = d.spoke || strings.TrimSpace(s) != ""
	}
	d.held = d.held[:copy(d.held, d.held[n:])]
	d.emit(ralph.Event{Kind: ralph.EventText, At: time.Now(), Text: s, Message: "text " + strconv.Itoa(d.part), Echo: d.isEcho})
}

func (d *textDecoder) Turn() ralph.Turn {
	return ralph.Turn{
		Usage:     ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		FinalText: last(strings.TrimSpace(d.final.String()), maxText),
	}
}

// Done is never known of a text agent before it exits.
func (d *textDecoder) Done() bool { return false }

func (d *textDecoder) Failure(exit int) *ralph.Failure { return d.judge(exit, d.LastWords()) }

func (d *textDecoder) judge(exit int, words string) *ralph.Failure {
	switch {
	case exit != 0:
		return &ralph.Failure{Kind: ralph.FailureCrash, Message: clip(said("the agent "+ExitText(exit), words), maxMessage)}
	case !d.spoke:
		return &ralph.Failure{Kind: ralph.FailureEmpty, Message: "the agent exited with code 0 and printed nothing"}
	}
	return nil
}

// LastWords is the last line that is not blank.
func (d *textDecoder) LastWords() string { return lastLine(d.final.String()) }

// lastLine is the last line that is not blank, bounded.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return oneLine(s[strings.LastIndexByte(s, '\n')+1:])
}
