package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The agent's stream is claude's: `claude -p --output-format stream-json
// --verbose`, as version 2.1 prints it.

const agentModel = "demo-scripted-1"

// stream prints the events of one run.
type stream struct {
	out     io.Writer
	err     error
	pause   time.Duration
	session string
	dir     string

	started  time.Time
	messages int
	tools    int
	last     string
}

func (s *stream) print(event map[string]any) {
	if s.err != nil {
		return
	}
	event["session_id"] = s.session
	line, err := json.Marshal(event)
	if err == nil {
		_, err = s.out.Write(append(line, '\n'))
	}
	s.err = err
}

func (s *stream) init() {
	s.print(map[string]any{
		"type": "system", "subtype": "init", "cwd": s.dir, "model": agentModel,
		"tools": []string{"Read", "Edit", "TodoWrite"}, "mcp_servers": []string{},
		"permissionMode": "bypassPermissions", "apiKeySource": "none",
	})
}

func (s *stream) assistant(block map[string]any) {
	time.Sleep(s.pause)
	s.messages++
	s.print(map[string]any{
		"type": "assistant", "parent_tool_use_id": nil,
		"message": map[string]any{
			"id": fmt.Sprintf("msg_demo%04d", s.messages), "type": "message", "role": "assistant", "model": agentModel,
			"content":     []any{block},
			"stop_reason": nil,
			"usage":       map[string]any{"input_tokens": 900, "output_tokens": 1, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 0},
		},
	})
}

func (s *stream) say(text string) {
	s.last = text
	s.assistant(map[string]any{"type": "text", "text": text})
}

// tool reports a tool call and what came of it.
func (s *stream) tool(name string, input map[string]any, result string, failed error) {
	s.tools++
	id := fmt.Sprintf("toolu_demo%04d", s.tools)
	s.assistant(map[string]any{"type": "tool_use", "id": id, "name": name, "input": input})
	time.Sleep(s.pause)
	if failed != nil {
		result = failed.Error()
	}
	s.print(map[string]any{
		"type": "user", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed != nil},
		}},
	})
}

// result ends the run. The numbers are made up, but they add up.
func (s *stream) result(failed error) {
	text, subtype := s.last, "success"
	if failed != nil {
		text, subtype = failed.Error(), "error_during_execution"
	}
	in, cached, out := 900*s.messages, 600*s.messages, 70*s.messages
	cost := float64(in)*3e-6 + float64(cached)*3e-7 + float64(out)*15e-6
	took := time.Since(s.started).Milliseconds()
	s.print(map[string]any{
		"type": "result", "subtype": subtype, "is_error": failed != nil,
		"duration_ms": took, "duration_api_ms": took, "num_turns": s.messages, "result": text,
		"total_cost_usd": cost,
		"usage":          map[string]any{"input_tokens": in, "output_tokens": out, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0},
		"modelUsage": map[string]any{agentModel: map[string]any{
			"inputTokens": in, "outputTokens": out, "cacheReadInputTokens": cached, "cacheCreationInputTokens": 0, "costUSD": cost,
		}},
		"permission_denials": []any{},
	})
}
