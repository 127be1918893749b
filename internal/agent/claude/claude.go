// Package claude drives Claude Code.
package claude

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/streamjson"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is Claude Code, @anthropic-ai/claude-code 2.1.
type Driver struct{ driver.Base }

// Argv asks for one unattended turn with a JSON stream. --verbose is required
// with it. What the user's arguments repeat of it is left out. The permission
// prompts are bypassed, because nobody is there to answer them, unless the user chose
// a permission mode. --setting-sources user keeps out the repository's own settings,
// whose hooks would run without a trust question; those of --settings run. With them it keeps out CLAUDE.md,
// which --add-dir brings back (2.1.329): CLAUDE.md, .claude/CLAUDE.md and .claude/rules, and no program. The
// budget is soft: claude stops after the request that passed it.
//
// A prompt that is an argument stands right behind -p, where no option with a
// list of values can take it for one of them.
func (c Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	ours := []driver.Option{
		{Names: []string{"-p", "--print", "--verbose", bypass}},
		{Names: []string{"--output-format"}, Value: true},
	}
	if o.Turn.Files[hooksExtra] != "" || o.Settings != "" {
		ours = append(ours, driver.Option{Names: []string{"--settings"}, Value: true})
	}
	argv, args := driver.Program(o, "claude", ours...), driver.Strip(o.Args, ours...)
	argv = append(argv, "-p")
	if o.Argument {
		argv = append(argv, driver.Operand(p.Text))
	}
	if o.Plain {
		args = driver.Strip(args, driver.Option{Names: []string{"--include-partial-messages", "--include-hook-events", "--replay-user-messages"}})
		argv = append(argv, "--output-format", "text")
	} else {
		argv = append(argv, "--output-format", "stream-json", "--verbose")
	}
	if _, chosen := permissionMode(o); chosen == "" {
		argv = append(argv, bypass)
	}
	if UserSettingsOnly(o) {
		argv = append(argv, "--setting-sources", "user", "--add-dir=.")
	}
	argv = driver.AddOption(argv, args, o.Model, "--model")
	argv = driver.AddOption(argv, args, o.Effort, "--effort")
	if p.CostLeft > 0 {
		argv = driver.AddOption(argv, args, strconv.FormatFloat(p.CostLeft.Dollars(), 'f', -1, 64), "--max-budget-usd")
	}
	argv = append(argv, extraArgs(o)...)
	return c.Resume(append(argv, args...), len(argv), p.Resume)
}

// Resume leaves out a --session-id, which claude refuses beside --resume.
func (Driver) Resume(argv []string, n int, session string) []string {
	if session == "" || driver.Has(argv[n:], "-r", "--resume", "-c", "--continue", "--from-pr", "--no-session-persistence") {
		return argv
	}
	return driver.InSession(argv, n, driver.Option{Names: []string{"--session-id"}, Value: true}, "--resume", session)
}

// stopCap bounds how often in a row claude lets a stop hook keep it going; by
// itself it allows eight times. (2.1.197, 2.1.329: 0 and less are no bound, what
// is no number is eight.) Our hook has a bound of its own.
const stopCap = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

// proseVariable makes claude read CLAUDE.md in the directories of --add-dir.
const proseVariable = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"

// Environ turns off what phones home and updates itself, unless the user
// decided otherwise, and lets claude bypass permissions as root, which it
// refuses outside of a sandbox. CLAUDECODE is gone: a claude that finds it
// takes itself for nested and refuses to start.
func (Driver) Environ(o driver.Options) []string {
	env := withProvider(o, driver.Without(o.Env, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"))
	env = driver.SetUnset(env, "1", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
	if !o.Exact {
		env = driver.SetUnset(env, "1", proseVariable)
	}
	if o.Hooks["Stop"] != "" && !o.Exact {
		env = driver.SetUnset(env, "1000000", stopCap)
	}
	if o.Root {
		env = driver.Set(env, "IS_SANDBOX", "1")
	}
	return env
}

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(o driver.Options) driver.Ways {
	return driver.Ways{Argument: o.Argument, Inline: true, Flag: "-p", System: !o.Exact}
}

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := streamjson.New("claude", emit, finished)
	d.Attach(o, driver.HintsOf(o, keyVariable(o)))
	return d
}

// Modern leaves out --no-auto-compact, which is gone in 2.1, and adds --verbose,
// without which it refuses stream-json.
func (Driver) Modern(args []string) (modern, warnings []string) {
	compact := driver.Option{Names: []string{"--no-auto-compact"}}
	if driver.Index(args, compact) >= 0 {
		args = driver.Strip(args, compact)
		warnings = append(warnings, "claude: --no-auto-compact is left out: today's CLI does not know it")
	}
	if driver.Value(args, "--output-format") == "stream-json" && !driver.Has(args, "--verbose") {
		i := len(args)
		if end := slices.Index(args, "--"); end >= 0 {
			i = end
		}
		args = slices.Insert(args, i, "--verbose")
		warnings = append(warnings, "claude: --verbose is added: --output-format stream-json is refused without it")
	}
	return args, warnings
}

const bypass = "--dangerously-skip-permissions"

// permissionMode is how the user wants claude to be asked for permissions, and where
// that stands; both are empty when the user leaves it to us.
func permissionMode(o driver.Options) (mode, where string) {
	args := driver.Given(o, "claude")
	switch {
	case driver.Has(args, bypass):
		return "", ""
	case driver.Has(args, "--permission-mode"):
		mode = driver.Value(args, "--permission-mode")
		return mode, "--permission-mode " + mode
	case driver.Has(args, "--permission-prompt-tool"):
		return "default", "--permission-prompt-tool"
	}
	var settings struct {
		Permissions struct {
			DefaultMode string `json:"defaultMode"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal([]byte(o.Settings), &settings); err != nil || settings.Permissions.DefaultMode == "" {
		return "", "" // New reports what is no JSON
	}
	mode = settings.Permissions.DefaultMode
	return mode, "permissions.defaultMode " + mode
}

// UserSettingsOnly reports whether claude loads the user's settings and leaves those
// of the repository aside, with its hooks, skills and MCP servers.
func UserSettingsOnly(o driver.Options) bool {
	return !o.Exact && !driver.Has(driver.Given(o, "claude"), "--setting-sources")
}

// Cautions tell of a permission mode of the user's.
func (Driver) Cautions(o driver.Options) []string {
	mode, where := permissionMode(o)
	switch mode {
	case "", "bypassPermissions":
		return nil
	case "plan":
		return []string{"claude: " + driver.Clip(where, driver.MaxName) + " holds, and in it claude changes no file."}
	}
	return []string{driver.Unanswered("claude", driver.Clip(where, driver.MaxName), "Allow what the task needs with --allowedTools, such as Edit and Bash(npm test).")}
}

// Unasked reports whether the options let the CLI act without asking.
func (Driver) Unasked(o driver.Options) bool {
	mode, _ := permissionMode(o)
	return mode == "bypassPermissions"
}
