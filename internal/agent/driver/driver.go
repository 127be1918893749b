// Package driver is what all agents share: the interface that a CLI's package
// implements, the options it gets, and the decoding of a stream of JSON lines, of
// arguments, environment, home and MCP configuration. It knows no CLI.
package driver

import "github.com/org/ralph-action/internal/ralph"

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
	// Overrides are words in arguments and settings by which the user may name another
	// address, key or provider than the options do.
	Overrides() []string
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

// Overrides returns none.
func (Base) Overrides() []string { return nil }

// ThroughKeyProxy leaves the options as they are.
func (Base) ThroughKeyProxy(o Options) Options { return o }

// Extra is a file a CLI gets in its scratch folder for a turn, readable by its
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
	// Done says that the CLI said its final result.
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
