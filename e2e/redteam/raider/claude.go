//go:build e2e && linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// claude is a claude that was taken over: it speaks the CLI's stream of JSON and
// runs the battery instead of thinking.
func claude(args []string) error {
	say := func(v any) {
		line, err := json.Marshal(v)
		if err == nil {
			fmt.Println(string(line))
		}
	}
	for _, a := range os.Args {
		if a == "--version" {
			fmt.Println("2.1.329 (Claude Code)")
			return nil
		}
	}
	say(map[string]any{"type": "system", "subtype": "init", "session_id": "11111111-1111-4111-8111-111111111111", "model": "claude-sonnet-4-5", "tools": []string{"Bash"}, "cwd": "/github/workspace"})
	real := os.Stdout
	null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	os.Stdout = null
	err = battery(args[:1])
	os.Stdout = real
	if err != nil {
		return err
	}
	text := "Not done yet."
	if last(args[0]) {
		text = "Done. <promise>COMPLETE</promise>"
	}
	say(map[string]any{"type": "assistant", "message": map[string]any{"id": "m1", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{map[string]any{"type": "text", "text": text}}, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1}}, "session_id": "11111111-1111-4111-8111-111111111111"})
	say(map[string]any{"type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": "11111111-1111-4111-8111-111111111111", "total_cost_usd": 0.001, "num_turns": 1, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1}})
	return nil
}
