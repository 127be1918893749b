package config

import (
	"maps"
	"slices"
)

// The modes.
const (
	ModeRun       = "run"
	ModePlan      = "plan"
	ModeBuild     = "build"
	ModePrompt    = "prompt"
	ModeSupervise = "supervise"
	ModeTasks     = "tasks"
	ModeSession   = "session"
	ModeIntegrate = "integrate"
)

func modes() []string {
	return []string{ModeRun, ModePlan, ModeBuild, ModePrompt, ModeSupervise, ModeTasks, ModeSession, ModeIntegrate}
}

// templated reports whether a mode's prompt is a template, with its files below Home.
func templated(mode string) bool {
	return mode == ModePlan || mode == ModeBuild || mode == ModePrompt
}

// ofTasks and ofSessions are the inputs that every other mode refuses.
func ofTasks() []string {
	return []string{"ralph-dir", "stories", "parallel", "publish", "lane", "lanes", "skip-review", "review-cap", "review-cap-policy", "review-agent", "review-model", "on-conflict"}
}

func ofSessions() []string { return []string{"ultrawork", "ultrawork-prompt"} }

// Refuses reports whether a mode has no use for an input: any value but the default
// is refused, or the command line has another way to say it. The mode's --help
// does not list it.
func Refuses(mode, input string) bool {
	var refused []string
	switch mode {
	case ModePlan, ModeBuild:
		refused = []string{"working-directory"}
	case ModePrompt:
		refused = []string{"prompt", "prompt-file"} // its word is the file
	case ModeTasks:
		refused = []string{"completion", "working-directory", "scm-tasks", "session", "task-dir", "max-restarts", "on-conflict"}
	case ModeIntegrate: // the plan has the rest
		refused = append(slices.DeleteFunc(ofTasks(), func(name string) bool {
			return slices.Contains([]string{"ralph-dir", "lanes", "on-conflict", "skip-review", "review-cap", "review-cap-policy"}, name)
		}), "completion", "working-directory", "scm-tasks", "session", "task-dir", "max-restarts", "prompt", "prompt-file")
	case ModeSession:
		refused = []string{"completion", "session", "task-dir", "max-restarts"}
	}
	return slices.Contains(refused, input) || ofAnother(mode, input)
}

// ofAnother reports whether an input belongs to another mode alone.
func ofAnother(mode, input string) bool {
	return mode != ModeTasks && mode != ModeIntegrate && slices.Contains(ofTasks(), input) || mode != ModeSession && slices.Contains(ofSessions(), input)
}

// Defaults are the defaults of what the mode decides, by input: of a local
// command, or of the action. They replace those of the table, which are the
// action's in mode run; an unknown mode has these, too.
func Defaults(mode string, local bool) map[string]string {
	d := map[string]string{
		"agent": "claude", "completion": "promise", "completion-rule": "true", "include-iteration-count": "true", "baseline": "true",
		"min-tool-calls": "1", "max-iterations": "10", "on-agent-error": "retry", "stall-limit": "5", "on-incomplete": "fail",
		"commit": "each-iteration", "delay": "0", "iteration-timeout": "1h", "idle-timeout": "15m",
		"max-duration": "5h30m", "isolation": "auto", "session": "fresh", "agent-install": "auto",
		// Nobody watches, and what is not in the log is gone.
		"timestamps": "true", "max-output-lines": "40", "max-output-chars": "4000",
	}
	dialect := map[string]string{"include-iteration-count": "false", "min-tool-calls": "0", "baseline": "false"}
	switch {
	case templated(mode):
		maps.Copy(d, dialect)
		maps.Copy(d, map[string]string{"max-iterations": "0", "on-incomplete": "succeed"})
		if mode == ModePrompt {
			d["completion-rule"] = "false" // its file says how to end,
		}
		if local {
			maps.Copy(d, map[string]string{"stall-limit": "0", "commit": "agent"})
		}
	case mode == ModeSupervise:
		maps.Copy(d, dialect)
		maps.Copy(d, map[string]string{
			"agent": "text", "completion": "done-file", "max-iterations": "100", "on-agent-error": "restart", "stall-limit": "0",
			"delay": "1s", "iteration-timeout": "5m", "idle-timeout": "0",
			"baseline": "true", // a mark of an earlier run must not complete what the guardrails refuse
		})
		if local {
			d["commit"] = "off"
		}
	case mode == ModeTasks:
		maps.Copy(d, dialect)
		maps.Copy(d, map[string]string{
			"completion": "tasks", "completion-rule": "false", "max-iterations": "15",
			"baseline": "true", // what was red before is no reason to withdraw an approval
		})
		if local {
			maps.Copy(d, map[string]string{"stall-limit": "0", "commit": "agent"})
		}
	case mode == ModeIntegrate:
		maps.Copy(d, dialect)
		maps.Copy(d, map[string]string{"completion": "tasks", "completion-rule": "false", "baseline": "true"})
	case mode == ModeSession:
		maps.Copy(d, map[string]string{"session": "resume", "include-iteration-count": "false", "on-agent-error": "continue"})
		if local {
			maps.Copy(d, map[string]string{"stall-limit": "0", "commit": "agent", "iteration-timeout": "0", "idle-timeout": "0", "baseline": "false"})
		}
	case local:
		maps.Copy(d, dialect)
		maps.Copy(d, map[string]string{
			"completion": "response", "on-agent-error": "continue", "commit": "agent",
			"iteration-timeout": "0", "idle-timeout": "0",
		})
	}
	if local {
		maps.Copy(d, map[string]string{
			"max-duration": "0", "isolation": "off", "agent-install": "never",
			"timestamps": "false", "max-output-lines": "6", "max-output-chars": "1000",
		})
		if mode == ModeTasks {
			d["isolation"] = "auto" // docker-sandbox where there is one,
		}
	} else {
		d["baseline"] = "true"
	}
	return d
}
