package hook

import (
	"bytes"
	"encoding/json"
)

// Event names a hook as the CLI does.
type Event string

// The events we answer.
const (
	Stop         Event = "Stop"
	PreToolUse   Event = "PreToolUse"
	PostToolUse  Event = "PostToolUse"
	SessionStart Event = "SessionStart"
	// UserPromptExpansion comes when a person typed a slash command, before
	// anything is asked of the model.
	UserPromptExpansion Event = "UserPromptExpansion"
)

// Commands lists our names of the events, as in `ralph hook stop`.
func Commands() map[string]Event {
	return map[string]Event{
		"stop": Stop, "pre-tool-use": PreToolUse, "post-tool-use": PostToolUse, "session-start": SessionStart,
		"user-prompt-expansion": UserPromptExpansion,
	}
}

// Answer is what a hook says. The zero value of each event lets the agent go on.
type Answer struct {
	Event    Event
	Refused  bool     // Stop: the agent has to go on; PreToolUse: the tool does not run; UserPromptExpansion: neither does the command
	Reason   string   // why, for the agent to read; of UserPromptExpansion, for the person
	Context  string   // PostToolUse, UserPromptExpansion: what the agent is told besides the tool's output or the command
	Message  string   // shown to the person by the CLI; the agent does not see it. An approval only
	Warnings []string // for standard error; the agent does not see them
}

// JSON is the answer as the CLI reads it from standard output of a hook that
// exits 0: one line. An approved stop is {"decision":"approve"}, which claude
// 2.1.197 takes like no decision at all. A command that is not refused gets {}
// and no permission, so the user's own permission rules still decide.
func (a Answer) JSON() []byte {
	type specific struct {
		HookEventName            Event  `json:"hookEventName"`
		PermissionDecision       string `json:"permissionDecision,omitempty"`
		PermissionDecisionReason string `json:"permissionDecisionReason,omitempty"`
		AdditionalContext        string `json:"additionalContext,omitempty"`
	}
	var out struct {
		Decision string    `json:"decision,omitempty"`
		Message  string    `json:"systemMessage,omitempty"`
		Reason   string    `json:"reason,omitempty"`
		Specific *specific `json:"hookSpecificOutput,omitempty"`
	}
	switch {
	case a.Refused && (a.Event == Stop || a.Event == UserPromptExpansion):
		out.Decision, out.Reason = "block", a.Reason
	case a.Event == Stop:
		out.Decision, out.Message = "approve", a.Message
	case a.Event == PreToolUse && a.Refused:
		out.Specific = &specific{HookEventName: a.Event, PermissionDecision: "deny", PermissionDecisionReason: a.Reason}
	case a.Context != "" && (a.Event == PostToolUse || a.Event == UserPromptExpansion):
		out.Specific = &specific{HookEventName: a.Event, AdditionalContext: a.Context}
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // <promise> stays readable in logs
	if err := encoder.Encode(out); err != nil {
		return []byte("{}\n") // strings only: cannot be
	}
	return line.Bytes()
}
