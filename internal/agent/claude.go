package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// claude is Claude Code, @anthropic-ai/claude-code 2.1.
type claude struct{}

// argv asks for one unattended turn with a JSON stream. --verbose is required
// with it. What the user's arguments repeat of it is left out. The permission
// prompts are bypassed, because nobody is there to answer them. --setting-sources user keeps out the repository's own settings,
// whose hooks would run without a trust question; those of --settings run. The budget is soft: claude
// stops after the request that passed it.
//
// A prompt that is an argument stands right behind -p, where no option with a
// list of values can take it for one of them.
func (c claude) argv(o Options, p ralph.Prompt) []string {
	ours := []option{
		{names: []string{"-p", "--print", "--verbose", "--dangerously-skip-permissions"}},
		{names: []string{"--output-format"}, value: true},
	}
	if o.settings != "" {
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
	argv = append(argv, "--dangerously-skip-permissions")
	if !has(args, "--setting-sources") {
		argv = append(argv, "--setting-sources", "user")
	}
	if o.Model != "" && !has(args, "--model") {
		argv = append(argv, "--model", o.Model)
	}
	if p.CostLeft > 0 && !has(args, "--max-budget-usd") {
		argv = append(argv, "--max-budget-usd", strconv.FormatFloat(p.CostLeft.Dollars(), 'f', -1, 64))
	}
	if o.settings != "" {
		argv = append(argv, "--settings", o.settings)
	}
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

// environ turns off what phones home and updates itself, unless the user
// decided otherwise, and lets claude bypass permissions as root, which it
// refuses outside of a sandbox. CLAUDECODE is gone: a claude that finds it
// takes itself for nested and refuses to start.
func (claude) environ(o Options) []string {
	env := without(o.Env, "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
	for _, name := range []string{"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"} {
		if lookup(env, name) == "" {
			env = append(without(env, name), name+"=1")
		}
	}
	if lookup(env, stopCap) == "" && o.Hooks["Stop"] != "" && !o.Exact {
		env = append(without(env, stopCap), stopCap+"=1000000")
	}
	if o.Root {
		env = append(without(env, "IS_SANDBOX"), "IS_SANDBOX=1")
	}
	return env
}

func (claude) credentials() (keys, providers []string) {
	return []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, []string{
		"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
		"CLAUDE_CODE_USE_BEDROCK", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "ANTHROPIC_BEDROCK_BASE_URL",
		"CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_PROJECT_ID", "ANTHROPIC_VERTEX_BASE_URL", "CLOUD_ML_REGION",
		"CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL",
	}
}

// ready wants a key, a cloud provider switched on, or a login that claude
// itself left in its configuration folder.
func (claude) ready(o Options) error {
	if hasKey(o, claude{}) {
		return nil
	}
	for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
		if lookup(o.Env, name) != "" {
			return nil
		}
	}
	dir := lookup(o.Env, "CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = inHome(o, ".claude")
	}
	// .credentials.json is a login; settings.json may name an apiKeyHelper.
	if holds(dir, ".credentials.json", "settings.json") {
		return nil
	}
	keys, _ := claude{}.credentials()
	return fmt.Errorf("no credentials: set %s or %s, or log in with claude first; for another provider set CLAUDE_CODE_USE_BEDROCK, CLAUDE_CODE_USE_VERTEX or CLAUDE_CODE_USE_FOUNDRY to 1",
		strings.Join(keys[:len(keys)-1], ", "), keys[len(keys)-1])
}

func (claude) extras(Options) ([]extra, error) { return nil, nil }

func (claude) merged(Options) bool { return false }

func (claude) ways(o Options) ways {
	return ways{argument: o.Argument, inline: true, flag: "-p", resume: true}
}

func (claude) decoder(_ Options, _ ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	return newClaudeDecoder("claude", emit, finished)
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
