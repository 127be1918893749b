package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/agent/hook/shellguard"
)

// hookPatience is how long a hook waits for its input: the CLI writes it at once
// and may wait for the answer longer than a person would.
const hookPatience = 5 * time.Second

// hookCmd answers the hooks of an agent CLI. Its words are read here and not by
// the parser of flags, because a hook that exits with 2 stops the agent: whatever
// is wrong, it exits with 0.
type hookCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" name:"event" help:"stop, pre-tool-use, post-tool-use, session-start or user-prompt-expansion; stop takes --session FILE."`
}

// Help is shown below the flags.
func (hookCmd) Help() string {
	return `Example, in the settings of claude:
  {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ralph hook stop"}]}]}}

It reads what the CLI says about the event as JSON on stdin, and answers with one line of JSON on stdout. Warnings
go to stderr. The exit code is always 0: a hook that has lost its way lets the agent go on.

stop --session FILE answers for the session loop whose state is in FILE. Without it, the loops are those that
'ralph session --here' began in the project.`
}

// Run answers one event.
func (c *hookCmd) Run(a *app) error {
	if slices.Contains(c.Words, "--help") || slices.Contains(c.Words, "-h") {
		_, err := fmt.Fprintln(a.stdout, c.Help())
		return err
	}
	debug.SetGCPercent(400) // a short life, and what is read in it is bounded
	answer := a.hook(c.Words)
	for _, w := range answer.Warnings {
		fmt.Fprintln(a.stderr, "ralph hook:", w)
	}
	_, _ = a.stdout.Write(answer.JSON()) // nobody is left to tell
	return nil
}

// hook never fails: what panics is an approval, too.
func (a *app) hook(words []string) (answer hook.Answer) {
	event, file, err := hookWords(words)
	defer func() {
		if r := recover(); r != nil {
			answer = hook.Answer{Event: event, Warnings: []string{fmt.Sprintf("gave up: %.400v", r)}}
		}
	}()
	if err != nil {
		return hook.Answer{Event: event, Warnings: []string{err.Error()}}
	}
	in, err := a.hookInput()
	switch event {
	case hook.Stop:
		return a.hookStop(in, err, file)
	case hook.UserPromptExpansion:
		return a.hookSlash(in, err)
	case hook.PreToolUse:
		p := findProject(a.startFolders(in.CWD))
		guard := shellguard.Guard{Home: a.getenv("HOME"), Workspace: p.dir, Loop: a.loops(p, in.SessionID)}
		return hook.Hook{Guard: guard}.Reply(event, in, err)
	}
	window, odd := hook.ParseWindow(a.getenv("CLAUDE_CONTEXT_WINDOW"))
	answer = hook.Hook{Monitor: hook.Monitor{Window: window}}.Reply(event, in, err)
	if odd != nil && event == hook.PostToolUse {
		answer.Warnings = append(answer.Warnings, odd.Error())
	}
	return answer
}

// hookWords reads the command line.
func hookWords(words []string) (event hook.Event, file string, err error) {
	known := hook.Commands()
	var problems []error
	for i := 0; i < len(words); i++ {
		name, value, assigned := strings.Cut(words[i], "=")
		found, isEvent := known[words[i]]
		switch {
		case name == "--session" && assigned:
			file = value
		case name == "--session" && i+1 < len(words):
			i++
			file = words[i]
		case isEvent && event == "":
			event = found
		default:
			problems = append(problems, fmt.Errorf("%.80q is not understood", words[i]))
		}
	}
	if event == "" {
		problems = append(problems, fmt.Errorf("no event is named; one of %s would be right", strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
	}
	if file != "" && event != hook.Stop {
		problems = append(problems, errors.New("--session belongs to the event stop"))
	}
	return event, file, errors.Join(problems...)
}

// hookInput reads the standard input, for a bounded time.
func (a *app) hookInput() (hook.Input, error) {
	if term.IsTerminal(int(a.stdin.Fd())) {
		return hook.ReadInput(strings.NewReader(""))
	}
	type result struct {
		in  hook.Input
		err error
	}
	read := make(chan result, 1)
	go func() { // ends with its input, or with the process
		in, err := hook.ReadInput(a.stdin)
		read <- result{in, err}
	}()
	timeout, cancel := context.WithTimeout(context.Background(), hookPatience)
	defer cancel()
	select {
	case r := <-read:
		return r.in, r.err
	case <-timeout.Done():
		return hook.Input{}, fmt.Errorf("no hook input came within %s: %w", hookPatience, io.ErrNoProgress)
	}
}
