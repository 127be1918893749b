package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// streamFormat is what an agent's CLI prints, and what loops around it use to
// show its words.
type streamFormat struct {
	agent string
	env   []string // what ralph wants to see before it starts the agent
	flags []string // of ralph
	jq    []string // options and filter
	// A stream is head, many steps and tail. A step says something, calls a tool,
	// and gets back what it printed. %[1]d is its number, %[2]s what the tool
	// printed as JSON, %[3]s the same as one line of plain text.
	head, step, tail string
	copies           int // of the tool's output in a step's longest line
}

// streamFormats are the formats as the CLIs of docs/agents.md print them.
func streamFormats() []streamFormat {
	say := func(filter string) []string { return []string{"-rj", filter} }
	claude := streamFormat{
		agent: "claude", env: []string{"ANTHROPIC_API_KEY=sk-ant-0123456789abcdef"}, copies: 1,
		jq:   say(`select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text`),
		head: `{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n",
		step: `{"type":"assistant","message":{"id":"msg_%[1]d","model":"m","content":[{"type":"text","text":"Reading file %[1]d."}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"assistant","message":{"id":"msg_%[1]d","model":"m","content":[{"type":"tool_use","id":"t%[1]d","name":"Read","input":{"file_path":"/w/f%[1]d.go"}}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%[1]d","type":"tool_result","content":%[2]s,"is_error":false}]},"parent_tool_use_id":null,"session_id":"s"}
`,
		tail: `{"type":"assistant","message":{"id":"msg_last","model":"m","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"<promise>COMPLETE</promise>","session_id":"s","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2}}}
`,
	}
	amp := claude
	amp.agent, amp.env = "amp", []string{"AMP_API_KEY=sgamp-0123456789abcdef"}
	return []streamFormat{claude, {
		agent: "codex", env: []string{"CODEX_API_KEY=sk-0123456789abcdef"}, copies: 1,
		jq:   say(`select(.type == "item.completed" and .item.type == "agent_message") | .item.text`),
		head: `{"type":"thread.started","thread_id":"s"}` + "\n" + `{"type":"turn.started"}` + "\n",
		step: `{"type":"item.completed","item":{"id":"item_m%[1]d","type":"agent_message","text":"Reading file %[1]d."}}
{"type":"item.started","item":{"id":"item_c%[1]d","type":"command_execution","command":"/bin/bash -lc 'cat f%[1]d.go'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_c%[1]d","type":"command_execution","command":"/bin/bash -lc 'cat f%[1]d.go'","aggregated_output":%[2]s,"exit_code":0,"status":"completed"}}
`,
		tail: `{"type":"item.completed","item":{"id":"last","type":"agent_message","text":"<promise>COMPLETE</promise>"}}
{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":1600,"cache_write_input_tokens":0,"output_tokens":100,"reasoning_output_tokens":0}}
`,
	}, {
		agent: "gemini", env: []string{"GEMINI_API_KEY=0123456789abcdef"}, copies: 1,
		jq:   say(`select(.type == "message" and .role == "assistant") | .content`),
		head: `{"type":"init","timestamp":"2026-11-21T00:14:34.313Z","session_id":"s","model":"m"}` + "\n",
		step: `{"type":"message","timestamp":"2026-11-21T00:14:34.565Z","role":"assistant","content":"Reading ","delta":true}
{"type":"message","timestamp":"2026-11-21T00:14:34.565Z","role":"assistant","content":"file %[1]d.","delta":true}
{"type":"tool_use","timestamp":"2026-11-21T00:14:34.876Z","tool_name":"read_file","tool_id":"t%[1]d","parameters":{"file_path":"f%[1]d.go"}}
{"type":"tool_result","timestamp":"2026-11-21T00:14:35.275Z","tool_id":"t%[1]d","status":"success","output":%[2]s}
`,
		tail: `{"type":"message","timestamp":"2026-11-21T00:14:35.322Z","role":"assistant","content":"<promise>COMPLETE</promise>","delta":true}
{"type":"result","timestamp":"2026-11-21T00:14:35.370Z","status":"success","stats":{"total_tokens":2100,"input_tokens":2000,"output_tokens":100,"cached":1600,"input":400,"duration_ms":1057,"tool_calls":1,"models":{"m":{"total_tokens":2100,"input_tokens":2000,"output_tokens":100,"cached":1600,"input":400}}}}
`,
	}, {
		agent: "opencode", env: []string{"ANTHROPIC_API_KEY=sk-ant-0123456789abcdef"}, copies: 2,
		jq: say(`select(.type == "text") | .part.text`),
		step: `{"type":"step_start","timestamp":1795221630980,"sessionID":"s","part":{"id":"p1_%[1]d","messageID":"m%[1]d","sessionID":"s","type":"step-start"}}
{"type":"text","timestamp":1795221630983,"sessionID":"s","part":{"id":"p2_%[1]d","messageID":"m%[1]d","sessionID":"s","type":"text","text":"Reading file %[1]d.","time":{"start":1795221630898,"end":1795221630964}}}
{"type":"tool_use","timestamp":1795221631196,"sessionID":"s","part":{"type":"tool","tool":"bash","callID":"t%[1]d","state":{"status":"completed","input":{"command":"cat f%[1]d.go","description":"read"},"output":%[2]s,"metadata":{"output":%[2]s,"exit":0,"truncated":false},"title":"read","time":{"start":1795221630952,"end":1795221631179}},"id":"p3_%[1]d","sessionID":"s","messageID":"m%[1]d"}}
{"type":"step_finish","timestamp":1795221631727,"sessionID":"s","part":{"id":"p4_%[1]d","reason":"tool-calls","messageID":"m%[1]d","sessionID":"s","type":"step-finish","tokens":{"total":1050,"input":200,"output":50,"reasoning":0,"cache":{"write":0,"read":800}},"cost":0.001}}
`,
		tail: `{"type":"text","timestamp":1795221632429,"sessionID":"s","part":{"id":"l1","messageID":"ml","sessionID":"s","type":"text","text":"<promise>COMPLETE</promise>","time":{"start":1795221632364,"end":1795221632397}}}
{"type":"step_finish","timestamp":1795221632566,"sessionID":"s","part":{"id":"l2","reason":"stop","messageID":"ml","sessionID":"s","type":"step-finish","tokens":{"total":1050,"input":200,"output":50,"reasoning":0,"cache":{"write":0,"read":800}},"cost":0.001}}
`,
	}, {
		agent: "copilot", env: []string{"COPILOT_GITHUB_TOKEN=github_pat_0123456789abcdef"}, copies: 2,
		jq: say(`select(.type == "assistant.message") | .data.content`),
		step: `{"type":"assistant.message_delta","data":{"messageId":"m%[1]d","deltaContent":"Reading "},"ephemeral":true,"id":"a%[1]d","timestamp":"2026-11-21T00:44:41.761Z","parentId":"p"}
{"type":"assistant.message_delta","data":{"messageId":"m%[1]d","deltaContent":"file %[1]d."},"ephemeral":true,"id":"b%[1]d","timestamp":"2026-11-21T00:44:41.761Z","parentId":"p"}
{"type":"assistant.message","data":{"messageId":"m%[1]d","model":"m","content":"Reading file %[1]d.","toolRequests":[{"toolCallId":"t%[1]d","name":"bash","arguments":{"command":"cat f%[1]d.go"},"type":"function"}],"turnId":"%[1]d"},"id":"c%[1]d","timestamp":"2026-11-21T00:44:41.771Z","parentId":"p"}
{"type":"tool.execution_start","data":{"toolCallId":"t%[1]d","toolName":"bash","arguments":{"command":"cat f%[1]d.go","description":"read","mode":"sync"},"turnId":"%[1]d","model":"m"},"id":"d%[1]d","timestamp":"2026-11-21T00:44:41.775Z","parentId":"p"}
{"type":"tool.execution_complete","data":{"toolCallId":"t%[1]d","model":"m","turnId":"%[1]d","success":true,"result":{"content":%[2]s,"detailedContent":%[2]s}},"id":"e%[1]d","timestamp":"2026-11-21T00:44:41.837Z","parentId":"p"}
`,
		tail: `{"type":"assistant.message","data":{"messageId":"ml","model":"m","content":"<promise>COMPLETE</promise>","toolRequests":[],"turnId":"l"},"id":"l1","timestamp":"2026-11-21T00:44:41.867Z","parentId":"p"}
{"type":"result","timestamp":"2026-11-21T00:44:41.894Z","sessionId":"s","exitCode":0,"usage":{"premiumRequests":0,"totalApiDurationMs":57,"sessionDurationMs":747,"codeChanges":{"linesAdded":0,"linesRemoved":0,"filesModified":[]}}}
`,
	}, {
		agent: "cline", env: []string{"OPENAI_API_KEY=sk-0123456789abcdef"}, copies: 1,
		jq:   say(`select(.type == "agent_event" and .event.type == "content_end" and .event.contentType == "text") | .event.text`),
		head: `{"ts":"2026-11-21T00:47:30.214Z","type":"hook_event","hookEventName":"agent_start","agentId":"a","taskId":"s","parentAgentId":null}` + "\n",
		step: `{"ts":"2026-11-21T00:47:30.501Z","type":"agent_event","event":{"type":"content_start","contentType":"text","text":"Reading file %[1]d.","accumulated":"Reading file %[1]d."}}
{"ts":"2026-11-21T00:47:30.578Z","type":"agent_event","event":{"type":"content_end","contentType":"text","text":"Reading file %[1]d."}}
{"ts":"2026-11-21T00:47:30.597Z","type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"run_commands","toolCallId":"t%[1]d","input":{"commands":["cat f%[1]d.go"]}}}
{"ts":"2026-11-21T00:47:30.638Z","type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"run_commands","toolCallId":"t%[1]d","output":[{"query":"cat f%[1]d.go","result":%[2]s,"success":true}],"durationMs":40}}
`,
		tail: `{"ts":"2026-11-21T00:47:30.707Z","type":"agent_event","event":{"type":"content_end","contentType":"text","text":"<promise>COMPLETE</promise>"}}
{"ts":"2026-11-21T00:47:31.258Z","type":"run_result","finishReason":"completed","iterations":2,"usage":{"inputTokens":2000,"outputTokens":100,"cacheReadTokens":1600,"cacheWriteTokens":0,"totalCost":0},"aggregateUsage":{"inputTokens":2000,"outputTokens":100,"cacheReadTokens":1600,"cacheWriteTokens":0,"totalCost":0},"durationMs":544,"text":"<promise>COMPLETE</promise>","model":{"id":"m","provider":"p"}}
`,
	}, amp, {
		agent: "custom", copies: 1, flags: []string{"--agent-filters", `text: select(.kind == "said") | .text`},
		jq: say(`select(.kind == "said") | .text`),
		step: `{"kind":"said","text":"Reading file %[1]d."}
{"kind":"called","id":"t%[1]d","tool":"read","file":"f%[1]d.go"}
{"kind":"came back","id":"t%[1]d","output":%[2]s}
`,
		tail: `{"kind":"said","text":"<promise>COMPLETE</promise>"}` + "\n",
	}, {
		agent: "text", copies: 1, jq: []string{"-R", "-r", "."},
		step: "Reading file %[1]d.\n%[3]s\n", tail: "<promise>COMPLETE</promise>\n",
	}}
}

// write makes a stream of about size bytes whose longest lines have about
// lineBytes: a tool's output with the quotes and line ends of source code.
func (f streamFormat) write(path string, size, lineBytes int) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	const code = "\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n"
	output := strings.Repeat(code, max(1, lineBytes/f.copies/len(code)))
	quoted, err := json.Marshal(output)
	if err != nil {
		return err
	}
	line := strings.ReplaceAll(output, "\n", " ")
	w := bufio.NewWriterSize(file, 1<<20)
	written, _ := w.WriteString(f.head)
	for i := 0; written < size; i++ {
		n, err := fmt.Fprintf(w, f.step, i, quoted, line) // with numbered verbs, it minds no argument that is left over
		if err != nil {
			return err
		}
		written += n
	}
	_, _ = w.WriteString(f.tail)
	return w.Flush()
}
