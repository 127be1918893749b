// Package opening is the first lines of a run: what nothing keeps it from, what it may
// spend, and what of the project it leaves aside.
package opening

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/claude"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/run/rundir"
)

// Lines are those of a local run: what nothing keeps it from, what it
// may spend, and what of the project it leaves aside.
func Lines(in *run.Input) []string {
	if in.Config.Mode == config.ModeSupervise && in.Config.Agent.Name == "text" {
		return nil // a command of the user's own, started as it is
	}
	var lines []string
	switch risks, limit := risks(in), unlimited(in); {
	case len(risks) > 0 && limit != "":
		lines = append(lines, unsafe(append(risks, limit)))
	case len(risks) > 0:
		lines = append(lines, unsafe(risks))
	case limit != "":
		lines = append(lines, "Unlimited: "+limit+".")
	}
	if where := settingsAbove(in); where != "" {
		lines = append(lines, fmt.Sprintf("This directory has no settings, and those of %s are not read: start ralph there to use them.", where))
	}
	if line := unread(in); line != "" {
		lines = append(lines, line)
	}
	if found := leftAside(in); len(found) > 0 {
		lines = append(lines, fmt.Sprintf("Not loaded: %s. --agent-args=--setting-sources=user,project,local has claude load them.", strings.Join(found, ", ")))
	}
	if hook := skippedHook(in); hook != "" {
		lines = append(lines, hook+" does not run for the commits that ralph makes: give what it checks as a guardrail.")
	}
	return lines
}

// Unsafe is the line of a run of the action; empty if nothing is.
func Unsafe(in *run.Input) string {
	if risks := risks(in); len(risks) > 0 {
		return unsafe(risks)
	}
	return ""
}

func unsafe(risks []string) string { return "Unsafe: " + strings.Join(risks, "; ") + "." }

// maxUnread bounds what is read of a file to tell what it is for, in bytes.
const maxUnread = 1 << 20

// unread names the configuration and the template of a loop that lie at the top of
// the project, where nothing reads them; empty when there are none.
func unread(in *run.Input) string {
	if in.Config.Prompt.Variables == nil || in.Config.Prompt.Home != rundir.Name {
		return ""
	}
	root, err := os.OpenRoot(in.Workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	var found []string
	for _, name := range []string{"config", "prompts/" + in.Config.Mode + ".md"} {
		data, err := files.Read(root, name, maxUnread)
		_, missing := os.Lstat(filepath.Join(in.Workspace, rundir.Name, filepath.FromSlash(name)))
		if err != nil || missing == nil || slices.Contains(in.Config.Loaded, name) || in.Config.Prompt.File == name {
			continue
		}
		if name != "config" || loopConfig.MatchString(string(data)) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	are, them := "are", "them"
	if len(found) == 1 {
		are, them = "is", "it"
	}
	return fmt.Sprintf("%s in this folder %s not read: ralph looks in %s, or beside its own program when that lies in the project. Move %s to %[3]s, or copy ralph here.",
		strings.Join(found, " and "), are, rundir.Name, them)
}

// loopConfig tells the configuration of a loop from any other file of that name.
var loopConfig = lazyregexp.New(`(?m)^\s*(export\s+)?(AGENT_[A-Z_]+|SPECS_DIR|MAX_RETRIES|MAX_ITERATIONS|DEFAULT_MAX_ITERATIONS|RALPH_[A-Z_]+)=`)

// leftAside are the settings and programs for claude in the repository that it does
// not load, because of our --setting-sources.
func leftAside(in *run.Input) []string {
	if in.Config.Agent.Name != "claude" || !claude.UserSettingsOnly(agentWords(in.Config)) {
		return nil
	}
	var found []string
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json", ".claude/skills", ".claude/agents", ".claude/commands", ".mcp.json"} {
		if _, err := os.Stat(filepath.Join(in.Workspace, filepath.FromSlash(in.Config.Git.WorkingDirectory), filepath.FromSlash(name))); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// skippedHook names the check before commits that the project has, where ralph
// commits by itself.
func skippedHook(in *run.Input) string {
	if in.Config.Git.Commit != config.CommitEach && in.Config.Git.Commit != config.CommitAtEnd {
		return ""
	}
	for _, name := range []string{".git/hooks/pre-commit", ".pre-commit-config.yaml", ".husky/pre-commit"} {
		if info, err := os.Stat(filepath.Join(in.Workspace, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// agentWords is what was said about the agent's command line.
func agentWords(cfg config.Config) agent.Options {
	return agent.Options{
		Name: cfg.Agent.Name, Command: cfg.Agent.Command, Args: cfg.Agent.Args, Exact: cfg.Agent.Exact, ExactArgs: cfg.Agent.ExactArgs, Settings: cfg.Agent.Settings,
	}
}

// risks are the ways in which nothing holds the agent, or checks what it does.
func risks(in *run.Input) []string {
	var risks []string
	auto, guardrails, who, on := ralph.Option(false, "isolation", "auto"), "guardrails", "", ""
	if in.Runner == nil {
		auto, guardrails, who, on = ralph.Option(true, "isolation", "auto"), "--guardrails", "as you, ", " on Linux"
	}
	own, docker := in.Isolation(in.Config)
	sandboxed := own != config.IsolationOff || docker == config.IsolationDocker
	if in.Config.Mode == config.ModeIntegrate && !in.Config.Tasks.Resolve { // no agent runs, but the checks run what agents wrote
		if sandboxed {
			return nil
		}
		return []string{"the checks run what the lanes' agents wrote " + who + "without a sandbox (" + auto + " adds one" + on + ")"}
	}
	switch unasked := agent.Unasked(agentWords(in.Config)); {
	case sandboxed:
	case unasked && docker != "" && in.Config.Agent.Name == "claude":
		risks = append(risks, "claude runs without asking for permission, and as you unless there is a Docker Sandbox (--isolation docker-sandbox requires one)")
	case unasked:
		risks = append(risks, in.Config.Agent.Name+" runs "+who+"without a sandbox and without asking for permission ("+auto+" adds a sandbox"+on+")")
	case catalog.Of(in.Config.Agent.Name).Own():
		risks = append(risks, "the agent runs "+who+"without a sandbox ("+auto+" adds one"+on+")")
	default:
		risks = append(risks, in.Config.Agent.Name+" runs "+who+"restricted only by its own permissions ("+auto+" adds a sandbox"+on+")")
	}
	if len(in.Config.Checks.Guardrails) == 0 && in.Config.Mode != config.ModeTasks && in.Config.Mode != config.ModeIntegrate { // whose list has commands
		risks = append(risks, "no guardrails check its work ("+guardrails+")")
	}
	return risks
}

// unlimited is what a run may spend that has neither a budget nor a deadline;
// empty when it has one of them.
func unlimited(in *run.Input) string {
	if in.Config.Mode == config.ModeIntegrate && !in.Config.Tasks.Resolve {
		return ""
	}
	limits, uncounted := in.Config.Limits, in.Config.Uncounted()
	if limits.Duration > 0 || !uncounted && (limits.Cost > 0 || limits.Tokens > 0) {
		return ""
	}
	limit := "no limit on cost or time"
	switch n := in.Config.Loop.MaxIterations; {
	case n == 0:
		limit = "no limit on iterations, cost or time"
	case in.Config.Mode == config.ModeIntegrate:
		limit = "a turn for each conflict, with no limit on cost or time"
	case n > 1:
		limit = fmt.Sprintf("up to %d iterations, with no limit on cost or time", n)
	}
	if uncounted {
		return limit + " (--max-duration)"
	}
	return limit + " (--max-cost-usd, --max-duration)"
}

// settingsAbove is the nearest folder with settings above a workspace that has none,
// up to the top of its repository; empty when there is none.
func settingsAbove(in *run.Input) string {
	if len(in.Config.Loaded) > 0 || in.Config.Mode != config.ModeRun {
		return ""
	}
	for dir := in.Workspace; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
		for _, name := range []string{config.SettingsFile, config.DefaultFile} {
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
	}
}
