package starter_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/starter"
)

const (
	askAgent      = "Agent command (e.g., claude, codex, amp, or other LLM CLI): "
	askFlags      = "Agent flags (comma-separated, optional): "
	askIterations = "Maximum iterations [10]: "
	askCompletion = "Completion response [DONE]: "
	askGuardrail  = "Add guardrail command (leave blank to finish): "
	askAction     = "  Fail action (APPEND|PREPEND|REPLACE): "
	askHint       = "  Hint (optional, guidance for agent on failure): "
	askSCM        = "Configure SCM? (y/N): "
	askSCMCommand = "  SCM command (e.g., git): "
	askSCMTasks   = "  SCM tasks (comma-separated, e.g., commit,push): "
)

// settings are the defaults with changes.
func settings(change func(*starter.Settings)) starter.Settings {
	s := starter.Defaults()
	s.Agent.Command = "claude"
	change(&s)
	return s
}

var plain = []string{askAgent, askFlags, askIterations, askCompletion, askGuardrail, askSCM}

// 001-37
func TestInterview(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		found   starter.Proposal
		answers []string
		shown   []string
		want    starter.Settings
	}{
		{
			"blank wherever that is allowed", starter.Proposal{}, []string{"claude", "", "", "", "", ""},
			plain,
			settings(func(*starter.Settings) {}),
		},
		{
			"everything", starter.Proposal{},
			[]string{" my-agent --quiet ", " --model , opus,,", "25", "ALL DONE", "make lint", "prepend", "Fix lint only.", "make test", "", "", "", "y", "git", "commit, push"},
			[]string{askAgent, askFlags, askIterations, askCompletion, askGuardrail, askAction, askHint, askGuardrail, askAction, askHint, askGuardrail, askSCM, askSCMCommand, askSCMTasks},
			settings(func(s *starter.Settings) {
				s.Agent = starter.Agent{Command: "my-agent --quiet", Flags: []string{"--model", "opus"}}
				s.MaximumIterations, s.CompletionResponse = 25, "ALL DONE"
				s.Guardrails = []starter.Guardrail{{Command: "make lint", FailAction: "PREPEND", Hint: "Fix lint only."}, {Command: "make test", FailAction: "APPEND"}}
				s.SCM = &starter.SCM{Command: "git", Tasks: []string{"commit", "push"}}
			}),
		},
		{
			"an agent is needed", starter.Proposal{}, []string{"", "  ", "claude", "", "", "", "", "n"},
			[]string{askAgent, "  an agent is needed: give the command that starts one\n", askAgent, "  an agent is needed: give the command that starts one\n", askAgent, askFlags, askIterations, askCompletion, askGuardrail, askSCM},
			settings(func(*starter.Settings) {}),
		},
		{
			"blank takes the agent that was found", starter.Proposal{Agent: "codex"}, []string{"", "", "", "", "", ""},
			[]string{"Agent command (e.g., claude, codex, amp, or other LLM CLI) [codex]: ", askFlags, askIterations, askCompletion, askGuardrail, askSCM},
			settings(func(s *starter.Settings) { s.Agent.Command = "codex" }),
		},
		{
			"another agent than the one found", starter.Proposal{Agent: "codex"}, []string{"claude", "", "", "", "", ""},
			[]string{"Agent command (e.g., claude, codex, amp, or other LLM CLI) [codex]: ", askFlags, askIterations, askCompletion, askGuardrail, askSCM},
			settings(func(*starter.Settings) {}),
		},
		{
			"numbers that are none", starter.Proposal{}, []string{"claude", "", "0", "-1", "many", "1.5", "99999999999999999999", "", "", "", ""},
			[]string{
				askAgent, askFlags, askIterations, iterationsWrong, askIterations, iterationsWrong, askIterations, iterationsWrong, askIterations, iterationsWrong,
				askIterations, iterationsWrong, askIterations, askCompletion, askGuardrail, askSCM,
			},
			settings(func(*starter.Settings) {}),
		},
		{
			"a completion response that cannot be found", starter.Proposal{}, []string{"claude", "", "", "<b>", "", "", ""},
			[]string{
				askAgent, askFlags, askIterations, askCompletion, "  give the words that stand inside the tag, without < and >, at most 200 characters\n", askCompletion,
				askGuardrail, askSCM,
			},
			settings(func(*starter.Settings) {}),
		},
		{
			"fail actions", starter.Proposal{}, []string{"claude", "", "", "", "a", "RePlAcE", "", "b", "never", "Append", "", "", ""},
			[]string{
				askAgent, askFlags, askIterations, askCompletion, askGuardrail, askAction, askHint, askGuardrail, askAction, "  give APPEND, PREPEND or REPLACE\n", askAction, askHint,
				askGuardrail, askSCM,
			},
			settings(func(s *starter.Settings) {
				s.Guardrails = []starter.Guardrail{{Command: "a", FailAction: "REPLACE"}, {Command: "b", FailAction: "APPEND"}}
			}),
		},
		{
			"proposed guardrails come first",
			starter.Proposal{Guardrails: []starter.Guardrail{{Command: "make lint", FailAction: "APPEND"}, {Command: "make vet", FailAction: "APPEND"}, {Command: "make test", FailAction: "APPEND"}}},
			[]string{"claude", "", "", "", "", "N", "perhaps", "YES", "./more", "", "", "", "no"},
			[]string{
				askAgent, askFlags, askIterations, askCompletion, `Add guardrail "make lint"? (Y/n): `, `Add guardrail "make vet"? (Y/n): `, `Add guardrail "make test"? (Y/n): `,
				"  answer y or n\n", `Add guardrail "make test"? (Y/n): `, askGuardrail, askAction, askHint, askGuardrail, askSCM,
			},
			settings(func(s *starter.Settings) {
				s.Guardrails = []starter.Guardrail{{Command: "make lint", FailAction: "APPEND"}, {Command: "make test", FailAction: "APPEND"}, {Command: "./more", FailAction: "APPEND"}}
			}),
		},
		{
			"half a version control", starter.Proposal{}, []string{"claude", "", "", "", "", "Y", "", "git", " , ", "commit"},
			[]string{
				askAgent, askFlags, askIterations, askCompletion, askGuardrail, askSCM, askSCMCommand, "  give the command, such as git\n", askSCMCommand,
				askSCMTasks, "  give at least one task, such as commit\n", askSCMTasks,
			},
			settings(func(s *starter.Settings) { s.SCM = &starter.SCM{Command: "git", Tasks: []string{"commit"}} }),
		},
		{
			"keys that were pressed", starter.Proposal{}, []string{"\x1b[A", "clau\xff", strings.Repeat("x", 4001), strings.Repeat("x", 200_000), "claude", "", "", "", "", ""},
			[]string{
				askAgent, "  that holds characters that cannot be printed\n", askAgent, "  that holds characters that cannot be printed\n", askAgent, "  that is longer than 4000 characters\n",
				askAgent, "  that is longer than 4000 characters\n", askAgent, askFlags, askIterations, askCompletion, askGuardrail, askSCM,
			},
			settings(func(*starter.Settings) {}),
		},
		{
			"words that no shell would split", starter.Proposal{}, []string{`claude "x`, "claude", "--say,it's", `--say,"it is"`, "", "", "", ""},
			[]string{
				askAgent, "  a quote is not closed, or it ends with a backslash\n", askAgent, askFlags, "  \"it's\": a quote is not closed, or it ends with a backslash\n", askFlags,
				askIterations, askCompletion, askGuardrail, askSCM,
			},
			settings(func(s *starter.Settings) { s.Agent.Flags = []string{"--say", `"it is"`} }),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			d := starter.NewDialogue(t.Context().Done(), strings.NewReader(strings.Join(tc.answers, "\n")+"\n"), &out)
			got, err := d.Interview(tc.found)
			if err != nil {
				t.Fatalf("Interview: %v after\n%s", err, out.String())
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("Interview = %+v, want %+v", got, tc.want)
			}
			if want := strings.Join(tc.shown, ""); out.String() != want {
				t.Errorf("shown:\n%q\nwant:\n%q", out.String(), want)
			}
		})
	}
}

const iterationsWrong = "  give a whole number from 1 to 10000\n"

// Wherever the answers end, also in the middle of a line, there are no
// settings. 001-35
func TestInterviewEnds(t *testing.T) {
	t.Parallel()
	const answers = "claude\n--verbose\n5\nOK\nmake test\nAPPEND\nhint\n\ny\ngit\ncommit\n"
	for cut := range len(answers) {
		d := starter.NewDialogue(t.Context().Done(), strings.NewReader(answers[:cut]), io.Discard)
		if got, err := d.Interview(starter.Proposal{}); !errors.Is(err, starter.ErrStopped) || !reflect.DeepEqual(got, starter.Settings{}) {
			t.Errorf("Interview with %q = %+v, %v, want nothing and ErrStopped", answers[:cut], got, err)
		}
	}
}

// A stopped dialogue ends a question that nobody answers. 001-35
func TestInterviewInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	shown := make(chan struct{})
	d := starter.NewDialogue(ctx.Done(), in, writer(func(p []byte) (int, error) {
		if strings.HasPrefix(string(p), "Maximum") {
			close(shown)
		}
		return len(p), nil
	}))
	go func() {
		_, _ = io.WriteString(keyboard, "claude\n\n")
		<-shown
		cancel()
	}()
	if _, err := d.Interview(starter.Proposal{}); !errors.Is(err, starter.ErrStopped) {
		t.Errorf("Interview = %v, want ErrStopped", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// A question that cannot be shown is not asked.
func TestInterviewUnseen(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	d := starter.NewDialogue(t.Context().Done(), strings.NewReader("claude\n"), writer(func([]byte) (int, error) { return 0, full }))
	if _, err := d.Interview(starter.Proposal{}); !errors.Is(err, full) {
		t.Errorf("Interview = %v, want the writer's error", err)
	}
}
