//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// answer is what the model says to one request.
type answer struct {
	Text  string
	Tool  string // a tool to call, with Input, after the text
	Input map[string]any

	Status int // an HTTP failure instead, with a provider's error of this Kind
	Kind   string
	Hang   bool // begin the answer and never end it

	id string // of the tool call
}

// bash is an answer that runs a command.
func bash(command string) answer {
	return answer{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}
}

// question is one request to the model.
type question struct {
	Number int    // 1-based, among those with tools
	Key    string // the API key it came with
	Text   string // of all user messages
	Last   string // of the last message, tool results included
}

// model speaks the part of Anthropic's Messages API that Claude's CLI uses.
type model struct {
	URL    string
	answer func(question) answer

	mu   sync.Mutex
	seen []question
}

// newModel starts a model on loopback. Answers are asked for one at a time.
func newModel(t *testing.T, f func(question) answer) *model {
	t.Helper()
	m := &model{answer: f}
	s := httptest.NewServer(m)
	m.URL = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return m
}

// script answers with one step after the other; the last one is repeated.
func script(steps ...answer) func(question) answer {
	return func(q question) answer { return steps[min(q.Number, len(steps))-1] }
}

// questions are the requests so far.
func (m *model) questions() []question {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]question(nil), m.seen...)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages") {
		http.NotFound(w, r)
		return
	}
	var in struct {
		Model    string
		Stream   bool
		Tools    []json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		fmt.Fprint(w, `{"input_tokens":10}`)
		return
	}
	a := answer{Text: "a title"} // what the CLI asks on the side has no tools
	if len(in.Tools) > 0 {
		q := question{Key: r.Header.Get("X-Api-Key")}
		for _, msg := range in.Messages {
			q.Last = flatten(msg.Content)
			if msg.Role == "user" {
				q.Text += q.Last + "\n"
			}
		}
		m.mu.Lock()
		q.Number = len(m.seen) + 1
		m.seen = append(m.seen, q)
		a = m.answer(q)
		a.id = fmt.Sprintf("toolu_%04d", q.Number)
		m.mu.Unlock()
	}
	if a.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": a.Kind, "message": "scripted"}})
		return
	}
	events := a.events(in.Model)
	if !in.Stream {
		_ = json.NewEncoder(w).Encode(a.whole(in.Model))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range events {
		b, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b)
		w.(http.Flusher).Flush()
		if a.Hang && i == 0 {
			<-r.Context().Done()
			return
		}
	}
}

type object map[string]any

func (a answer) stop() string {
	if a.Tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

// events is the answer as the stream of events that platform.claude.com
// documents under "Streaming messages".
func (a answer) events(name string) []object {
	e := []object{{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": name, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 1000, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
	}}}
	index := 0
	block := func(content object, deltas ...object) {
		e = append(e, object{"type": "content_block_start", "index": index, "content_block": content})
		for _, d := range deltas {
			e = append(e, object{"type": "content_block_delta", "index": index, "delta": d})
		}
		e = append(e, object{"type": "content_block_stop", "index": index})
		index++
	}
	if a.Text != "" {
		half := len(a.Text) / 2
		block(object{"type": "text", "text": ""},
			object{"type": "text_delta", "text": a.Text[:half]}, object{"type": "text_delta", "text": a.Text[half:]})
	}
	if a.Tool != "" {
		input, _ := json.Marshal(a.Input)
		block(object{"type": "tool_use", "id": a.id, "name": a.Tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(input)})
	}
	return append(e,
		object{"type": "message_delta", "delta": object{"stop_reason": a.stop(), "stop_sequence": nil}, "usage": object{"output_tokens": 50}},
		object{"type": "message_stop"})
}

// whole is the answer for a client that does not stream.
func (a answer) whole(name string) object {
	content := []object{{"type": "text", "text": a.Text}}
	if a.Tool != "" {
		content = append(content, object{"type": "tool_use", "id": a.id, "name": a.Tool, "input": a.Input})
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": name, "content": content, "stop_reason": a.stop(),
		"usage": object{"input_tokens": 1000, "output_tokens": 50},
	}
}

// flatten is the text in a message's content: a string, or a list of blocks.
func flatten(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []struct {
		Text    string
		Content json.RawMessage
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		parts = append(parts, b.Text)
		if b.Content != nil {
			parts = append(parts, flatten(b.Content))
		}
	}
	return strings.Join(parts, "\n")
}
