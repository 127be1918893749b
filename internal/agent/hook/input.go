package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"
)

// MaxInput is how much of a hook's standard input is looked at, in bytes. A
// tool's response may be far larger; what a hook needs stands before it.
const MaxInput = 1 << 20

// maxDrain is how much more is read and dropped, so that the CLI does not write
// into a closed pipe. Bytes.
const maxDrain = 256 << 20

// ErrTruncated means that the input went on after MaxInput; the fields that came
// before are there.
var ErrTruncated = errors.New("hook input is longer than 1 MiB; the rest was not read")

// Input is what the CLI says about the event, as claude 2.1.197 sends it.
// Fields it does not send are empty; those we do not know are skipped.
type Input struct {
	SessionID            string // foreign: not a file name before it was checked
	TranscriptPath       string // JSON lines; written behind the CLI's back, so its end may be missing
	CWD                  string
	Event                string // Stop, SubagentStop, PreToolUse, PostToolUse, SessionStart, ...
	StopHookActive       bool   // this stop follows one that a hook refused
	LastAssistantMessage string // text of the last message; empty in older versions
	ToolName             string
	Command              string // of the Bash tool
	Source               string // SessionStart: startup, resume, clear, compact
	AgentID              string // set inside a subagent
	PermissionMode       string // default, plan, acceptEdits, auto, dontAsk, bypassPermissions
	CommandName          string // UserPromptExpansion: without the slash, after the plugin's name and a colon
	CommandArgs          string // what was typed after it, to the letter
}

// ReadInput reads one JSON object and nothing after it. A field of an
// unexpected type counts as absent. The error says what is wrong with the
// input; the fields read before it stand.
func ReadInput(r io.Reader) (Input, error) {
	var in Input
	limited := &io.LimitedReader{R: r, N: MaxInput}
	err := in.decode(json.NewDecoder(limited))
	switch {
	case err != nil && limited.N <= 0:
		if _, e := io.Copy(io.Discard, io.LimitReader(r, maxDrain)); e != nil {
			return in, fmt.Errorf("%w: %w", ErrTruncated, e)
		}
		return in, ErrTruncated
	case errors.Is(err, io.EOF):
		return in, errors.New("hook input is empty: the agent CLI writes one JSON object to standard input")
	case err != nil:
		return in, fmt.Errorf("hook input is no JSON object: %w", err)
	}
	return in, nil
}

func (in *Input) decode(d *json.Decoder) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("it does not begin with {")
	}
	strings := map[string]*string{
		"session_id": &in.SessionID, "transcript_path": &in.TranscriptPath, "cwd": &in.CWD,
		"hook_event_name": &in.Event, "last_assistant_message": &in.LastAssistantMessage,
		"tool_name": &in.ToolName, "source": &in.Source, "agent_id": &in.AgentID,
		"permission_mode": &in.PermissionMode, "command_name": &in.CommandName, "command_args": &in.CommandArgs,
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return cut(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return cut(err)
		}
		name, _ := key.(string)
		switch field := strings[name]; {
		case field != nil:
			_ = json.Unmarshal(value, field)
		case name == "stop_hook_active":
			_ = json.Unmarshal(value, &in.StopHookActive)
		case name == "tool_input":
			var tool struct {
				Command string `json:"command"`
			}
			_ = json.Unmarshal(value, &tool)
			in.Command = tool.Command
		}
	}
	_, err = d.Token()
	return cut(err)
}

// cut tells input that ends too early from input that never began.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var sessionID = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)

// CheckSessionID refuses an id of another form than a UUID's: it is foreign
// text, and becomes part of file names.
func CheckSessionID(id string) error {
	if !sessionID.MatchString(id) {
		return fmt.Errorf("session id %q is not made of 1 to 128 letters, digits, - and _", printable.Clean(id, 60))
	}
	return nil
}
