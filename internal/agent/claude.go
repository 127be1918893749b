package agent

import (
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// claude is Claude Code, @anthropic-ai/claude-code 2.1.
type claude struct{ base }

// argv asks for one unattended turn with a JSON stream. --verbose is required
// with it. What the user's arguments repeat of it is left out. The permission
// prompts are bypassed, because nobody is there to answer them, unless the user chose
// a permission mode. --setting-sources user keeps out the repository's own settings,
// whose hooks would run without a trust question; those of --settings run. With them it keeps out CLAUDE.md,
// which --add-dir brings back (2.1.329): CLAUDE.md, .claude/CLAUDE.md and .claude/rules, and no program. The
// budget is soft: claude stops after the request that passed it.
//
// A prompt that is an argument stands right behind -p, where no option with a
// list of values can take it for one of them.
func (c claude) argv(o Options, p ralph.Prompt) []string {
	ours := []option{
		{names: []string{"-p", "--print", "--verbose", claudeBypass}},
		{names: []string{"--output-format"}, value: true},
	}
	if o.extra[claudeHooks] != "" || o.Settings != "" {
		ours = append(ours, option{names: []string{"--settings"}, value: true})
	}
	argv, args := program(o, "claude", ours...), strip(o.Args, ours...)
	argv = append(argv, "-p")
	if o.Argument {
		argv = append(argv, operand(p.Text))
	}
	if o.Plain {
		args = strip(args, option{names: []string{"--include-partial-messages", "--include-hook-events", "--replay-user-messages"}})
		argv = append(argv, "--output-format", "text")
	} else {
		argv = append(argv, "--output-format", "stream-json", "--verbose")
	}
	if _, chosen := claudeMode(o); chosen == "" {
		argv = append(argv, claudeBypass)
	}
	if UserSettingsOnly(o) {
		argv = append(argv, "--setting-sources", "user", "--add-dir=.")
	}
	if o.Model != "" && !has(args, "--model") {
		argv = append(argv, "--model", o.Model)
	}
	if o.Effort != "" && !has(args, "--effort") {
		argv = append(argv, "--effort", o.Effort)
	}
	if p.CostLeft > 0 && !has(args, "--max-budget-usd") {
		argv = append(argv, "--max-budget-usd", strconv.FormatFloat(p.CostLeft.Dollars(), 'f', -1, 64))
	}
	argv = append(argv, claudeExtras(o)...)
	return c.resumed(append(argv, args...), len(argv), p.Resume)
}

// resumed leaves out a --session-id, which claude refuses beside --resume.
func (claude) resumed(argv []string, n int, session string) []string {
	args := argv[n:]
	if session == "" || has(args, "-r", "--resume", "-c", "--continue", "--from-pr", "--no-session-persistence") {
		return argv
	}
	args = strip(args, option{names: []string{"--session-id"}, value: true})
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return append(argv[:n:n], slices.Insert(args, end, "--resume", session)...)
}

// stopCap bounds how often in a row claude lets a stop hook keep it going; by
// itself it allows eight times. (2.1.197, 2.1.329: 0 and less are no bound, what
// is no number is eight.) Our hook has a bound of its own.
const stopCap = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

// claudeProse makes claude read CLAUDE.md in the folders of --add-dir.
const claudeProse = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"

// environ turns off what phones home and updates itself, unless the user
// decided otherwise, and lets claude bypass permissions as root, which it
// refuses outside of a sandbox. CLAUDECODE is gone: a claude that finds it
// takes itself for nested and refuses to start.
func (claude) environ(o Options) []string {
	env := claudeProvided(o, without(o.Env, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"))
	for _, name := range []string{"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"} {
		if lookup(env, name) == "" {
			env = append(without(env, name), name+"=1")
		}
	}
	if !o.Exact && lookup(env, claudeProse) == "" {
		env = append(without(env, claudeProse), claudeProse+"=1")
	}
	if lookup(env, stopCap) == "" && o.Hooks["Stop"] != "" && !o.Exact {
		env = append(without(env, stopCap), stopCap+"=1000000")
	}
	if o.Root {
		env = append(without(env, "IS_SANDBOX"), "IS_SANDBOX=1")
	}
	return env
}

func (claude) ways(o Options) ways {
	return ways{argument: o.Argument, inline: true, flag: "-p", system: !o.Exact}
}

func (claude) decoder(o Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := newClaudeDecoder("claude", emit, finished)
	d.giveUp, d.denied, d.hints = o.giveUp, o.denied, hintsOf(o, claudeKey(o))
	return d
}

// command is the program with its fixed first arguments, in a slice of its own.
func command(o Options, program string) []string {
	if len(o.Command) > 0 {
		return slices.Clone(o.Command)
	}
	return []string{program}
}

// lookup is the value of a variable in an environment; the last one wins.
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// without is a copy of env that lacks the named variables.
func without(env []string, names ...string) []string {
	kept := make([]string, 0, len(env)+8)
	for _, kv := range env {
		if k, _, _ := strings.Cut(kv, "="); !slices.Contains(names, k) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// modern leaves out --no-auto-compact, which is gone in 2.1, and adds --verbose,
// without which it refuses stream-json.
func (claude) modern(args []string) (modern, warnings []string) {
	compact := option{names: []string{"--no-auto-compact"}}
	if index(args, compact) >= 0 {
		args = strip(args, compact)
		warnings = append(warnings, "claude: --no-auto-compact is left out: today's CLI does not know it")
	}
	if value(args, "--output-format") == "stream-json" && !has(args, "--verbose") {
		i := len(args)
		if end := slices.Index(args, "--"); end >= 0 {
			i = end
		}
		args = slices.Insert(args, i, "--verbose")
		warnings = append(warnings, "claude: --verbose is added: --output-format stream-json is refused without it")
	}
	return args, warnings
}
