package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// claudeMain is a command of the scripts: claude as far as it has to do with
// sessions and hooks, in the formats of claude 2.1.197. What it does stands in
// the file $FAKE_CLAUDE, one step on a line, and goes on there with each start:
//
//	say TEXT      a message
//	run COMMAND   a call of the Bash tool, asked of the PreToolUse and told to the PostToolUse hooks
//	stop          it wants to be done: the Stop hooks decide; when they block, the steps go on
//	end           it is done whatever the hooks say, as at the cap of blocks
//
// It logs its arguments, its prompts and what the hooks answered to
// $FAKE_CLAUDE.log.
func claudeMain() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("2.1.197 (Claude Code)")
		return
	}
	c := fakeClaude{file: os.Getenv("FAKE_CLAUDE"), id: "11111111-2222-3333-4444-555555555555"}
	if err := c.run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "claude:", err)
		os.Exit(1)
	}
}

type fakeClaude struct {
	file, id   string
	transcript string
	last       string // text of the last message
	number     int    // of the last message
	settings   struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Command string }
		}
	}
}

func (c *fakeClaude) run(args []string) error {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	resumed := false
	for i, arg := range args {
		switch arg {
		case "--resume":
			c.id, resumed = args[i+1], true
		case "--settings":
			settings := []byte(args[i+1])
			if !strings.HasPrefix(args[i+1], "{") { // a file of them
				settings, _ = os.ReadFile(args[i+1])
			}
			if err := json.Unmarshal(settings, &c.settings); err != nil {
				return err
			}
		}
	}
	c.log("start resumed=%t hooks=%d cap=%s own=%s", resumed, len(c.settings.Hooks), os.Getenv("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), os.Getenv("RALPH_HOOKS"))
	c.log("argv %s", strings.Join(args, " "))
	c.log("prompt %s", strings.ReplaceAll(string(prompt), "\n", "\\n"))
	c.transcript = filepath.Join(filepath.Dir(c.file), "transcript.jsonl")
	if !resumed {
		_ = os.Remove(c.transcript)
	}
	c.print(map[string]any{"type": "system", "subtype": "init", "session_id": c.id, "model": "claude-fake"})
	c.hook("SessionStart", map[string]any{"source": "startup"})
	for {
		step, rest, ok := c.next()
		switch {
		case !ok:
			return fmt.Errorf("no step is left in %s", c.file)
		case step == "say":
			c.assistant(map[string]any{"type": "text", "text": rest})
			c.last = rest
		case step == "run":
			c.tool(rest)
		case step == "stop" && c.stopped(), step == "end":
			c.print(map[string]any{"type": "result", "subtype": "success", "is_error": false, "result": c.last, "session_id": c.id, "num_turns": 1, "total_cost_usd": 0.01})
			return nil
		}
	}
}

// next is the first step nobody has done yet.
func (c *fakeClaude) next() (step, rest string, ok bool) {
	data, err := os.ReadFile(c.file)
	if err != nil {
		return "", "", false
	}
	at, _ := os.ReadFile(c.file + ".at")
	n, _ := strconv.Atoi(string(at))
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if n >= len(lines) {
		return "", "", false
	}
	_ = os.WriteFile(c.file+".at", []byte(strconv.Itoa(n+1)), 0o644)
	step, rest, _ = strings.Cut(lines[n], " ")
	return step, rest, true
}

func (c *fakeClaude) tool(command string) {
	id := fmt.Sprintf("toolu_%d", time.Now().UnixNano())
	input := map[string]any{"command": command}
	c.assistant(map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": input})
	fields := map[string]any{"tool_name": "Bash", "tool_input": input}
	output := "refused by a hook"
	if answer := c.hook("PreToolUse", fields); !strings.Contains(answer, `"deny"`) {
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		output = string(out)
		if err != nil {
			output += err.Error()
		}
	}
	c.hook("PostToolUse", fields)
	c.print(map[string]any{"type": "user", "session_id": c.id, "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": output},
	}}})
}

// stopped asks the Stop hooks.
func (c *fakeClaude) stopped() bool {
	answer := c.hook("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": c.last})
	var decision struct{ Decision, Reason string }
	if json.Unmarshal([]byte(answer), &decision) != nil || decision.Decision != "block" {
		return true
	}
	c.print(map[string]any{"type": "user", "session_id": c.id, "isSynthetic": true, "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "Stop hook feedback:\n" + decision.Reason},
	}}})
	return false
}

// hook runs the hooks of an event and returns what the last one answered.
func (c *fakeClaude) hook(event string, fields map[string]any) (answer string) {
	input := map[string]any{"session_id": c.id, "transcript_path": c.transcript, "cwd": cwd(), "hook_event_name": event}
	for k, v := range fields {
		input[k] = v
	}
	data, _ := json.Marshal(input)
	for _, group := range c.settings.Hooks[event] {
		for _, h := range group.Hooks {
			cmd := exec.Command("sh", "-c", h.Command)
			cmd.Stdin, cmd.Env = bytes.NewReader(data), append(os.Environ(), "CLAUDE_PROJECT_DIR="+cwd())
			out, err := cmd.CombinedOutput()
			answer = strings.TrimSpace(string(out))
			c.log("hook %s err=%v %s", event, err, answer)
		}
	}
	return answer
}

func cwd() string { dir, _ := os.Getwd(); return dir }

func (c *fakeClaude) assistant(block map[string]any) {
	c.number++
	e := map[string]any{
		"type": "assistant", "session_id": c.id, "parent_tool_use_id": nil, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"message": map[string]any{"id": fmt.Sprintf("msg_%d_%d", os.Getpid(), c.number), "role": "assistant", "model": "claude-fake", "content": []any{block}},
	}
	c.print(e)
	if f, err := os.OpenFile(c.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		_ = json.NewEncoder(f).Encode(e)
		_ = f.Close()
	}
}

func (c *fakeClaude) print(e map[string]any) { _ = json.NewEncoder(os.Stdout).Encode(e) }

func (c *fakeClaude) log(format string, args ...any) {
	if f, err := os.OpenFile(c.file+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintf(f, format+"\n", args...)
		_ = f.Close()
	}
}
