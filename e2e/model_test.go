//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// answer is what the model says to one request, in whatever protocol it came.
type answer struct {
	Text  string
	Tool  string // a tool to call, with Input, after the text; see bash
	Input map[string]any

	Status int               // an HTTP failure instead, with a provider's error of this Kind
	Kind   string            // the error's type or code
	Error  map[string]any    // more members of the error
	Header map[string]string // more headers of the failure
	Hang   bool              // begin the answer and never end it

	id   string // of the tool call
	free string // what Tool takes instead of Input, when it takes no JSON
}

// shell stands for the tool that runs commands, which has a name of its own in
// each CLI.
const shell = "a shell"

// bash is an answer that runs a command.
func bash(command string) answer {
	return answer{Tool: shell, Input: map[string]any{"command": command}}
}

// question is one request to the model.
type question struct {
	Number int    // 1-based, among those with tools
	Key    string // the API key it came with
	Model  string
	Text   string // of all user messages, tool results included
	Said   string // of all messages of the model itself
	Last   string // of the last message, tool results included
	Body   string // as it was sent: hooks and settings speak in other places, too
}

// model speaks as much of each provider's API as the CLIs use: Messages
// (claude), Responses (codex), chat completions (opencode) and Gemini's.
type model struct {
	URL    string // without a path, as claude and gemini take it
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

// bodies are the requests so far, as they were sent.
func (m *model) bodies() []string {
	var list []string
	for _, q := range m.questions() {
		list = append(list, q.Body)
	}
	return list
}

type object map[string]any

// request is what the protocols have in common.
type request struct {
	Model    string
	Stream   bool
	Tools    []string
	Messages []message
}

// message has the role "user", "assistant" or another one; what a tool gave back
// is a user's.
type message struct{ Role, Text string }

// event is one of a stream; the name may be empty.
type event struct {
	Name string
	Data any
}

// protocol is one provider's API.
type protocol interface {
	// read understands a request; path is that of the URL.
	read(path string, body []byte) (request, error)
	// stream is an answer for a client that streams, whole for one that does not.
	stream(a answer, model string) []event
	whole(a answer, model string) any
	// failure is the body of an HTTP failure.
	failure(a answer) any
}

// protocolOf chooses by the path; nil: nobody's.
func protocolOf(path string) protocol {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "enerateContent"):
		return gemini{}
	}
	return nil
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch { // what the CLIs ask on the side
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":10}`)
		return
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		fmt.Fprint(w, `{"totalTokens":10}`)
		return
	}
	p := protocolOf(r.URL.Path)
	if r.Method != http.MethodPost || p == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	var in request
	if err == nil {
		in, err = p.read(r.URL.Path, body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := answer{Text: "a title"} // such questions have no tools
	if len(in.Tools) > 0 {
		a = m.ask(in, keyOf(r.Header), string(body))
	}
	if a.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range a.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(p.failure(a))
		return
	}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p.whole(a, in.Model))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range p.stream(a, in.Model) {
		if e.Name != "" {
			fmt.Fprintf(w, "event: %s\n", e.Name)
		}
		data, isText := e.Data.(string)
		if !isText {
			b, _ := json.Marshal(e.Data)
			data = string(b)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
		if a.Hang && i == 0 {
			<-r.Context().Done()
			return
		}
	}
}

// ask notes the question and gives the script's answer, with the tool the CLI has.
func (m *model) ask(in request, key, body string) answer {
	q := question{Key: key, Model: in.Model, Body: body}
	for _, msg := range in.Messages {
		q.Last = msg.Text
		switch msg.Role {
		case "user":
			q.Text += msg.Text + "\n"
		case "assistant":
			q.Said += msg.Text + "\n"
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	q.Number = len(m.seen) + 1
	m.seen = append(m.seen, q)
	a := m.answer(q)
	a.id = fmt.Sprintf("toolu_%04d", q.Number)
	if a.Tool == shell {
		a.Tool, a.Input, a.free = shellCall(in.Tools, a.Input["command"].(string))
	}
	return a
}

// shellCall runs a command by the tool the CLI offers for it.
func shellCall(tools []string, command string) (tool string, input map[string]any, free string) {
	ways := map[string]map[string]any{
		"Bash":              {"command": command, "description": "work"},  // claude
		"exec_command":      {"cmd": command},                             // codex
		"run_shell_command": {"command": command},                         // gemini
		"bash":              {"command": command, "description": "work"},  // opencode, copilot
		"run_commands":      {"commands": []string{command}},              // cline
		"shell":             {"command": []string{"bash", "-c", command}}, // older codex
	}
	for _, name := range tools {
		if input, ok := ways[name]; ok {
			return name, input, ""
		}
	}
	// Models of codex since GPT-6 call tools from JavaScript.
	if slices.Contains(tools, "exec") {
		b, _ := json.Marshal(command)
		return "exec", nil, "text(await tools.exec_command({cmd: " + string(b) + "}))"
	}
	return "no tool of " + strings.Join(tools, ", ") + " runs a command", nil, ""
}

// keyOf is the key in any of the headers providers take it in.
func keyOf(h http.Header) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if key := h.Get(name); key != "" {
			return key
		}
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// complaint is an error object of a provider, with what the script adds.
func (a answer) complaint(members object) object {
	maps.Copy(members, a.Error)
	return members
}

// halves are a text as it streams.
func halves(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text[:len(text)/2], text[len(text)/2:]}
}

// flatten is the text in a message's content: a string, or a list of blocks,
// which may hold more of either.
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
