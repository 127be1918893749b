// Package agent drives coding-agent CLIs. Each agent is one file: its argv by a
// pure function, the environment it needs, and a decoder from its output to
// ralph's events. What an agent prints is foreign text: bounded here, redacted
// and defused by whoever shows it.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
)

// Options say which agent is run and how.
type Options struct {
	Name    string   // one of Known
	Command []string // replaces the CLI and its place on PATH; required for text
	// CommandAt is where Command was given, as the user typed it, for messages;
	// empty: agent-command.
	CommandAt string
	Args      []string // added to the CLI's arguments; see [Modern] for those of older CLIs
	Model     string   // empty: the CLI's default
	Effort    string   // how hard the model thinks, in the CLI's own word; empty: its default

	// Provider and BaseURL say whose model it is and where it answers; empty: the
	// CLI's own. What each CLI knows stands in its file.
	Provider, BaseURL string
	// System is added to the CLI's own system prompt. Where there is no way to,
	// it stands at the beginning of each prompt.
	System string
	// MCP is a JSON object with the member mcpServers, as claude's --mcp-config
	// takes it, and Settings one in the CLI's own format. They reach the CLI in
	// files of ours, or in its arguments; the user's files stay as they are.
	MCP, Settings string
	// Filters are jq expressions by what they find in a line of the CLI's output, and
	// Delivery is how it takes the prompt: "stdin", "argument" or "file". Of the
	// custom agent only.
	Filters  map[string]string
	Delivery string
	// Price is what tokens cost; unknown for a model nobody has a price for. It
	// is asked where the CLI reports tokens and no cost. nil: no price is known.
	Price func(model string, t ralph.Tokens) ralph.Cost

	// Exact makes ExactArgs all of the CLI's arguments: nothing is added but
	// the program and, where the CLI takes it no other way, the prompt. Args and
	// Model are not used.
	Exact     bool
	ExactArgs []string
	// Plain is text mode: the CLI prints its answer only. There is no stream,
	// no cost and no tool calls. With Exact the arguments must ask for it, and
	// stdout and stderr are one stream, as with the text agent.
	Plain bool

	// Argument makes the prompt an argument, for a claude whose stdin does not
	// reach it: in docker sandbox run NAME -- …. Prompts of more than 100 KiB are
	// then refused.
	Argument bool
	// Hooks are shell commands claude runs at its events Stop, PreToolUse (of
	// Bash), PostToolUse and SessionStart. They go into its arguments, together
	// with the user's own --settings, and into no file. Ignored by other agents,
	// see [HasHooks], and with Exact.
	Hooks map[string]string

	Dir string
	// Env is the child's whole environment as KEY=VALUE, already reduced to
	// what the agent may see. The agent's own switches are added to it.
	Env    []string
	Limits proc.Limits
	// Root says that the child will run as uid 0.
	Root bool

	Process Process
	// Mask stands between the CLI and everything else: it takes the secrets out of
	// what is written to it, before a part of one could be cut off anywhere, and
	// passes the rest on to w until it is closed. nil: nothing is masked.
	Mask func(w io.Writer) io.WriteCloser
	// Log gets a copy of everything the CLI prints, masked and otherwise raw. Its
	// errors are ignored. nil: none.
	Log io.Writer
	// LookPath finds a program the way the child would; nil: no look before
	// the start.
	LookPath func(string) (string, error)
	// TextScanFull makes the whole output of the text agent, and of others with
	// Plain, count as its own words, an echo of the prompt included.
	TextScanFull bool
	// Merge makes stderr part of the answer in text mode, unless the CLI leaves
	// the answer in a file. The text agent's is in any case.
	Merge bool
	// Scratch is a folder the child can read and write: for a prompt that is
	// too long for an argument, and for an answer the CLI leaves in a file.
	// Nothing of ours stays in it. Empty: none; long prompts then fail where
	// the CLI takes no other.
	Scratch string
	// PromptLog gets a prompt before it is asked, to be kept under a name like
	// prompt_001.txt, whose number is the iteration's. Only codex's are. nil:
	// none.
	PromptLog func(name, text string)
	// Refused is called when a turn begins. What it returns gives the addresses
	// (host:port) that the network walls have refused since; that is called when the
	// turn failed, and while the CLI says that it tries again. A turn that needs one of
	// them is given up, see [Denied]. nil: no walls.
	Refused func() func() []string
	// Judges is asked when a turn begins, and reports whether its verdict will be
	// believed, see proc.Command. nil: it never is.
	Judges func() bool
	// Linger is asked when the CLI exited and left children behind: how long they
	// may go on, see proc.Command. nil: they are ended at once.
	Linger func() time.Duration

	// Filter is a jq expression for the lines of JSON the CLI prints; the
	// strings it gives are the agent's words, instead of those of the agent's
	// own stream. See [CompileFilter]. Empty: none.
	Filter string
	// Display is a shell command that gets all the CLI prints, raw, on its
	// stdin; what it prints goes to DisplayOut, with notes of ours when it is
	// too slow or ends early. It is foreign text. DisplayProcess runs it, while
	// Process runs the agent. Empty: none.
	Display        string
	DisplayProcess Process
	DisplayOut     io.Writer

	doored bool              // by ThroughDoor
	answer file              // in text mode, of the turn at hand
	extra  map[string]string // paths of the extras of the turn at hand by their names
	giveUp func()            // of the turn at hand, see [decoder]; nil: none
	denied func() bool       // of the turn at hand: the walls refused what it needs; nil: no walls
}

// Process starts a child and waits until its whole tree is gone. The output is
// delivered in order, and not after Run returned.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// CLI is an agent; it implements ralph.Agent.
type CLI struct {
	o       Options
	format  format
	filter  *filterCode // nil: none
	extras  []extra
	scratch *os.Root // nil: none needed, or none there
	version string
	totals  *totals // of sessions
}

// format is what differs between agents. [base] has what most of them have in
// common.
type format interface {
	// argv is the command line for a prompt. It uses the prompt's text only when
	// ways says that it is an argument.
	argv(o Options, p ralph.Prompt) []string
	// resumed adds to a command line what makes it go on in a session; argv[:n]
	// stands before the user's arguments, in which it may not. An argv whose
	// user chose a session stays as it is.
	resumed(argv []string, n int, session string) []string
	// modern turns arguments of older CLIs into those of today's, with a line for each
	// that says what is used instead, and why. It may change args.
	modern(args []string) (modern, warnings []string)
	// environ adds to the child's environment what the CLI needs.
	environ(o Options) []string
	// merged says that stdout and stderr are one stream.
	merged(o Options) bool
	ways(o Options) ways
	// provider is the one that the options choose, as the catalogue names it; empty: the first
	// one.
	provider(o Options) string
	// ready says what is missing before the CLI can work: credentials.
	ready(o Options) error
	// hosts are the patterns of [Hosts] for the provider and its login.
	hosts(o Options) []string
	// extras are the files the CLI gets for each turn, out of System, MCP and
	// Settings; argv and environ find their paths in o.extra, which lacks them
	// when a command line is only shown. An error says which option the CLI cannot
	// take, or what is wrong with it, and what would be right.
	extras(o Options) ([]extra, error)
	// cautions are those of [Cautions]; the arguments are not exact.
	cautions(o Options) []string
	// unasked reports whether the CLI acts without asking for permission because of
	// another option than those the catalogue lists.
	unasked(o Options) bool
	// door is the door of the options. Whether the key is set is for the caller to
	// look at.
	door(o Options) (Door, bool)
	// elsewhere are words in arguments and settings by which the user may name another
	// address, key or provider than the options do.
	elsewhere() []string
	// through adds to options that lead through the door already what else the CLI
	// has to be told.
	through(o Options) Options
	decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) decoder
}

// base is what a CLI does without that has nothing special: it goes on in no session, its
// key stays in its environment, it is given no files.
type base struct{}

func (base) resumed(argv []string, _ int, _ string) []string  { return argv }
func (base) modern(args []string) (modern, warnings []string) { return args, nil }
func (base) merged(Options) bool                              { return false }
func (base) ways(Options) ways                                { return ways{} }
func (base) provider(o Options) string                        { return o.Provider }
func (base) ready(Options) error                              { return nil }
func (base) hosts(Options) []string                           { return nil }
func (base) cautions(Options) []string                        { return nil }
func (base) unasked(Options) bool                             { return false }
func (base) door(Options) (Door, bool)                        { return Door{}, false }
func (base) elsewhere() []string                              { return nil }
func (base) through(o Options) Options                        { return o }

// extra is a file a CLI gets in its scratch folder for a turn, readable by its
// user only.
type extra struct {
	name string // such as "mcp.json": letters, digits, dashes and dots
	text string
	// inline makes no file: o.path is the text itself, in every command line of the
	// agent.
	inline bool
}

// decoder reads one turn. It is called from one goroutine at a time. When the
// stream shows that the turn is lost whatever the CLI still tries (a wrong key, a
// request that is repeated for ever), it calls o.giveUp, which ends the CLI;
// Failure is then asked as ever, and says what was lost.
type decoder interface {
	Stdout(p []byte)
	Stderr(p []byte)
	// Close is called when the output is over, before the following.
	Close()
	// Turn is what the output told: usage, session, tools, text.
	Turn() ralph.Turn
	// Done says that the CLI said its final result.
	Done() bool
	// Failure judges the output and the exit code as a shell counts it: 128 and
	// the number for a signal.
	Failure(exit int) *ralph.Failure
	// LastWords is the end of what the CLI printed for people, on one line.
	LastWords() string
}

// formats are the known agents by their names.
func formats() map[string]format {
	return map[string]format{
		"amp": amp{}, "claude": claude{}, "cline": cline{}, "codex": codex{}, "copilot": copilot{},
		"custom": custom{}, "gemini": gemini{}, "opencode": opencode{}, "text": text{},
	}
}

// Known lists the agents New accepts, sorted.
func Known() []string {
	names := catalog.Names()
	slices.Sort(names)
	return names
}

// Credentials lists the variables that hold the agent's own credentials and
// choose its provider; a caller hands those that are set to the child. nil for an
// agent that is not known.
func Credentials(name string) []string { return catalog.Of(name).Credentials() }

// New checks the options; an error is for the user to read.
func New(o Options) (*CLI, error) {
	f, ok := formats()[o.Name]
	if !ok {
		return nil, fmt.Errorf("agent %q: unknown; known are %s", clip(o.Name, maxName), strings.Join(Known(), ", "))
	}
	if o.Process == nil {
		return nil, errors.New("agent: no process runner")
	}
	if len(o.Command) > 0 && o.Command[0] == "" {
		return nil, errors.New("agent-command: the program's name is empty")
	}
	for _, arg := range slices.Concat(o.Command, o.Args, o.ExactArgs, []string{o.Model}) {
		if strings.ContainsRune(arg, 0) {
			return nil, errors.New("agent-command, agent-args, model: contain a NUL character")
		}
	}
	w := f.ways(o)
	if o.Argument && !w.argument {
		return nil, fmt.Errorf("agent %q: its prompt cannot be an argument", o.Name)
	}
	if err := checkDisplay(o); err != nil {
		return nil, err
	}
	extras, err := f.extras(o)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", o.Name, err)
	}
	o.extra = map[string]string{}
	for _, e := range extras {
		if e.inline {
			o.extra[e.name] = e.text
		}
	}
	extras = slices.DeleteFunc(extras, func(e extra) bool { return e.inline })
	if len(extras) > 0 && o.Scratch == "" {
		return nil, fmt.Errorf("agent %q: mcp-config, agent-settings and append-system-prompt need a folder for files", o.Name)
	}
	filter, err := optionalFilter(o.Filter)
	if err != nil {
		return nil, err
	}
	c := &CLI{o: o, format: f, filter: filter, extras: extras, totals: &totals{of: map[string]ralph.Tokens{}}}
	if o.Scratch != "" && (len(extras) > 0 || w.argument && !w.inline || w.answer && o.Plain && !o.Exact) {
		if c.scratch, err = os.OpenRoot(o.Scratch); err != nil {
			return nil, fmt.Errorf("agent %q: scratch folder: %w", o.Name, err)
		}
	}
	if o.Plain && o.Name != "text" {
		c.format = textMode{f}
	}
	return c, nil
}

// Version is what the CLI called itself in Check; empty before, or when it has
// no version.
func (c *CLI) Version() string { return c.version }
