//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
)

// responses is OpenAI's Responses API, as codex 0.169 uses it.
type responses struct{}

// toolList is a tool, or a namespace of them.
type toolList []struct {
	Type, Name string
	Tools      toolList
}

func (l toolList) names() (names []string) {
	for _, t := range l {
		names = append(names, cmp.Or(t.Name, t.Type))
		names = append(names, t.Tools.names()...)
	}
	return names
}

func (responses) read(_ string, body []byte) (request, error) {
	var in struct {
		Model  string
		Stream bool
		Tools  toolList
		Input  []struct {
			Type, Role, Arguments string
			Content, Output       json.RawMessage
			Tools                 toolList // of the type additional_tools, since GPT-6
		}
	}
	err := json.Unmarshal(body, &in)
	r := request{Model: in.Model, Stream: in.Stream, Tools: in.Tools.names()}
	for _, item := range in.Input {
		r.Tools = append(r.Tools, item.Tools.names()...)
		switch item.Type {
		case "message", "":
			r.Messages = append(r.Messages, message{item.Role, flatten(item.Content)})
		case "function_call_output", "custom_tool_call_output":
			r.Messages = append(r.Messages, message{"user", flatten(item.Output)})
		}
	}
	return r, err
}

func (responses) failure(a answer) any {
	return object{"error": a.complaint(object{"message": "scripted", "type": a.Kind, "code": a.Kind, "param": nil})}
}

func (p responses) stream(a answer, model string) []event {
	var events []event
	say := func(name string, data object) {
		data["type"] = name
		events = append(events, event{name, data})
	}
	say("response.created", object{"response": object{"id": "resp_" + a.id, "object": "response", "status": "in_progress", "output": []any{}}})
	output := p.output(a)
	for i, item := range output {
		say("response.output_item.added", object{"output_index": i, "item": item})
		if item["type"] == "message" {
			for _, half := range halves(a.Text) {
				say("response.output_text.delta", object{"item_id": item["id"], "output_index": i, "content_index": 0, "delta": half})
			}
		}
		say("response.output_item.done", object{"output_index": i, "item": item})
	}
	say("response.completed", object{"response": p.whole(a, model)})
	return events
}

func (responses) output(a answer) []object {
	output := []object{}
	if a.Text != "" {
		output = append(output, object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": a.Text, "annotations": []any{}}}})
	}
	switch {
	case a.free != "":
		output = append(output, object{"id": "ctc_" + a.id, "type": "custom_tool_call", "call_id": a.id, "name": a.Tool, "input": a.free, "status": "completed"})
	case a.Tool != "":
		arguments, _ := json.Marshal(a.Input)
		output = append(output, object{"id": "fc_" + a.id, "type": "function_call", "call_id": a.id, "name": a.Tool, "arguments": string(arguments), "status": "completed"})
	}
	return output
}

func (p responses) whole(a answer, model string) any {
	return object{
		"id": "resp_" + a.id, "object": "response", "status": "completed", "model": model, "output": p.output(a),
		"usage": object{"input_tokens": 1000, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 50,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 1050},
	}
}

// chat is OpenAI's older API, which most other providers speak as well.
type chat struct{}

func (chat) read(_ string, body []byte) (request, error) {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function struct{ Name string } }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	err := json.Unmarshal(body, &in)
	r := request{Model: in.Model, Stream: in.Stream}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		if m.Role == "tool" {
			m.Role = "user"
		}
		r.Messages = append(r.Messages, message{m.Role, flatten(m.Content)})
	}
	return r, err
}

func (chat) failure(a answer) any { return responses{}.failure(a) }

func (chat) calls(a answer) []object {
	if a.Tool == "" {
		return nil
	}
	arguments, _ := json.Marshal(a.Input)
	return []object{{"index": 0, "id": a.id, "type": "function", "function": object{"name": a.Tool, "arguments": string(arguments)}}}
}

func (chat) stop(a answer) string {
	if a.Tool != "" {
		return "tool_calls"
	}
	return "stop"
}

func (chat) usage() object {
	return object{"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
}

func (p chat) stream(a answer, model string) []event {
	var events []event
	chunk := func(choices []object, usage any) {
		events = append(events, event{"", object{
			"id": "chatcmpl_" + a.id, "object": "chat.completion.chunk", "created": 1700000000, "model": model, "choices": choices, "usage": usage,
		}})
	}
	delta := func(d object, finish any) { chunk([]object{{"index": 0, "delta": d, "finish_reason": finish}}, nil) }
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, half := range halves(a.Text) {
		delta(object{"content": half}, nil)
	}
	if calls := p.calls(a); calls != nil {
		delta(object{"tool_calls": calls}, nil)
	}
	delta(object{}, p.stop(a))
	chunk([]object{}, p.usage())
	return append(events, event{"", "[DONE]"})
}

func (p chat) whole(a answer, model string) any {
	said := object{"role": "assistant", "content": a.Text}
	if calls := p.calls(a); calls != nil {
		said["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl_" + a.id, "object": "chat.completion", "created": 1700000000, "model": model, "usage": p.usage(),
		"choices": []object{{"index": 0, "message": said, "finish_reason": p.stop(a)}},
	}
}
