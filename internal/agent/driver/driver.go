// Package driver is what all agents share: the interface that a CLI's package
// implements, the options it gets, and the decoding of a stream of JSON lines, of
// arguments, environment, home and MCP configuration. It knows no CLI.
package driver

import (
	"context"
	"io"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Driver is what differs between agents. [Base] has what most of them have in
// common.
type Driver interface {
	// Argv is the command line for a prompt. It uses the prompt's text only if Ways
	// says that it is an argument.
	Argv(o Options, p ralph.Prompt) []string
	// Resume adds to a command line what makes it go on in a session; argv[:n]
	// stands before the user's arguments, in which it may not. An argv whose
	// user chose a session stays as it is.
	Resume(argv []string, n int, session string) []string
	// Modern turns arguments of older CLIs into those of today's, with a line for each
	// that says what is used instead, and why. It may change args.
	Modern(args []string) (modern, warnings []string)
	// Environ adds to the child's environment what the CLI needs.
	Environ(o Options) []string
	// Merged reports whether stdout and stderr are one stream.
	Merged(o Options) bool
	// Ways is how a prompt reaches the CLI, and an answer comes back.
	Ways(o Options) Ways
	// Provider is the one that the options choose, as the catalogue names it; empty: the first
	// one.
	Provider(o Options) string
	// Ready says what is missing before the CLI can work: credentials.
	Ready(o Options) error
	// Hosts are the patterns, as allowed-hosts has them, of what the CLI asks for models
	// and its login.
	Hosts(o Options) []string
	// Extras are the files the CLI gets for each turn, out of System, MCP and
	// Settings; Argv and Environ find their paths in o.Turn.Files, which lacks them
	// when a command line is only shown. An error says which option the CLI cannot
	// take, or what is wrong with it, and what would be right.
	Extras(o Options) ([]Extra, error)
	// Cautions say what the CLI cannot do in a sandbox or permission mode of its own that
	// the user asked for; the arguments are not exact.
	Cautions(o Options) []string
	// Unasked reports whether the CLI acts without asking for permission because of
	// another option than those the catalogue lists.
	Unasked(o Options) bool
	// KeyProxy is how the key can stay with ralph; false if it has to be in the CLI's
	// environment. Whether the key is set is for the caller to look at.
	KeyProxy(o Options) (KeyProxy, bool)
	// ThroughKeyProxy adds to options that lead through the key proxy already what else
	// the CLI has to be told.
	ThroughKeyProxy(o Options) Options
	// Decoder reads a turn. It calls finished when the result is there.
	Decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) Decoder
}

// Base is what a CLI does without that has nothing special: it goes on in no session, its
// key stays in its environment, it is given no files.
type Base struct{}

// Resume leaves the command line as it is.
func (Base) Resume(argv []string, _ int, _ string) []string { return argv }

// Modern leaves the arguments as they are.
func (Base) Modern(args []string) (modern, warnings []string) { return args, nil }

// Environ takes out what would make a claude that the agent starts take itself for nested.
func (Base) Environ(o Options) []string { return Without(o.Env, "CLAUDECODE") }

// Merged returns false: stdout is the stream, stderr is for people.
func (Base) Merged(Options) bool { return false }

// Ways returns those of a CLI that reads its prompt from stdin.
func (Base) Ways(Options) Ways { return Ways{} }

// Provider returns the one that was named.
func (Base) Provider(o Options) string { return o.Provider }

// Ready returns nil.
func (Base) Ready(Options) error { return nil }

// Hosts returns none.
func (Base) Hosts(Options) []string { return nil }

// Cautions returns none.
func (Base) Cautions(Options) []string { return nil }

// Unasked returns false: the arguments decide.
func (Base) Unasked(Options) bool { return false }

// KeyProxy returns false.
func (Base) KeyProxy(Options) (KeyProxy, bool) { return KeyProxy{}, false }

// ThroughKeyProxy leaves the options as they are.
func (Base) ThroughKeyProxy(o Options) Options { return o }

// Extra is a file a CLI gets in its scratch directory for a turn, readable by its
// user only.
type Extra struct {
	Name string // such as "mcp.json": letters, digits, dashes and dots
	Text string
	// Inline makes no file: [Options.Path] is the text itself, in every command line of
	// the agent.
	Inline bool
}

// Decoder reads one turn. It is called from one goroutine at a time. When the
// stream shows that the turn is lost whatever the CLI still tries (a wrong key, a
// request that is repeated for ever), it calls o.Turn.GiveUp, which ends the CLI;
// Failure is then asked as ever, and says what was lost.
type Decoder interface {
	Stdout(p []byte)
	Stderr(p []byte)
	// Close is called when the output is over, before the following.
	Close()
	// Turn is what the output told: usage, session, tools, text.
	Turn() ralph.Turn
	// Done reports whether the CLI said its final result.
	Done() bool
	// Failure judges the output and the exit code as a shell counts it: 128 and
	// the number for a signal.
	Failure(exit int) *ralph.Failure
	// LastWords is the end of what the CLI printed for people, on one line.
	LastWords() string
}

// Ways are how a CLI takes a prompt and gives an answer back.
type Ways struct {
	Argument bool   // the prompt is an argument; else it comes on stdin
	Inline   bool   // … and no file can stand in for a long one
	File     bool   // … and is the path of a file that holds the prompt
	Flag     string // … and stands behind this one among exact arguments
	Answer   bool   // in text mode the last message is left in a file
	Logged   bool   // prompts are kept
	Totals   bool   // the tokens reported are those of the session so far
	System   bool   // the CLI takes Options.System itself
}

// Options say which agent is run and how.
type Options struct {
	Name    string   // of the catalogue
	Command []string // replaces the CLI and its place on PATH; required for text
	// CommandAt is where Command was given, as the user typed it, for messages;
	// empty: agent-command.
	CommandAt string
	Args      []string // added to the CLI's arguments; see [Driver.Modern] for those of older CLIs
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
	// and with Exact.
	Hooks map[string]string

	Dir string
	// Env is the child's whole environment as KEY=VALUE, already reduced to
	// what the agent may see. The agent's own switches are added to it.
	Env    []string
	Limits proc.Limits
	// Flags is set where inputs are flags of a command, for what errors advise.
	Flags bool
	// Root reports whether the child will run as uid 0.
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
	// Scratch is a directory the child can read and write: for a prompt that is
	// too long for an argument, and for an answer the CLI leaves in a file.
	// Nothing of ours stays in it. Empty: none; long prompts then fail where
	// the CLI takes no other.
	Scratch string
	// PromptLog gets a prompt before it is asked, to be kept under a name like
	// prompt_001.txt, whose number is the iteration's. Only codex's are. nil:
	// none.
	PromptLog func(name, text string)
	// Refused is called when a turn begins. What it returns gives the addresses
	// (host:port) that the sandbox has refused since; that is called when the
	// turn failed, and while the CLI says that it tries again. A turn that needs one of
	// them is given up. nil: the network is not restricted.
	Refused func() func() []string
	// Judges is asked when a turn begins, and reports whether its verdict will be
	// believed, see proc.Command. nil: it never is.
	Judges func() bool
	// Linger is asked when the CLI exited and left children behind: how long they
	// may go on, see proc.Command. nil: they are ended at once.
	Linger func() time.Duration

	// Filter is a jq expression for the lines of JSON the CLI prints; the
	// strings it gives are the agent's words, instead of those of the agent's
	// own stream. Empty: none.
	Filter string
	// Display is a shell command that gets all the CLI prints, raw, on its
	// stdin; what it prints goes to DisplayOut, with notes of ours when it is
	// too slow or ends early. It is foreign text. DisplayProcess runs it, while
	// Process runs the agent. Empty: none.
	Display        string
	DisplayProcess Process
	DisplayOut     io.Writer

	// KeyProxied reports that the key stays with ralph. ThroughKeyProxy sets it.
	KeyProxied bool
	// Turn is set for each turn.
	Turn Turn
}

// Turn are what the options of the turn at hand have besides.
type Turn struct {
	Files  map[string]string // paths of the extras by their names, and the texts of inline ones
	Answer File              // what the CLI leaves its answer in, in text mode
	GiveUp func()            // ends the CLI, see [Decoder]; nil: nobody to tell
	Denied func() bool       // the sandbox refused what the turn needs; nil: no sandbox
}

// Process starts a child and waits until its whole tree is gone. The output is
// delivered in order, and not after Run returned.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Path is where the file of an extra stands in the turn at hand; a command line
// that is only shown says <file>.
func (o Options) Path(name string) string {
	if p := o.Turn.Files[name]; p != "" {
		return p
	}
	return "<file>"
}
