//go:build e2e

package e2e

import "encoding/json"

// messages is Anthropic's Messages API; platform.claude.com documents its stream
// under "Streaming messages".
type messages struct{}

func (messages) read(_ string, body []byte) (request, error) {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	err := json.Unmarshal(body, &in)
	r := request{Model: in.Model, Stream: in.Stream}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range in.Messages {
		r.Messages = append(r.Messages, message{m.Role, flatten(m.Content)})
	}
	return r, err
}

func (messages) failure(a answer) any {
	return object{"type": "error", "error": a.complaint(object{"type": a.Kind, "message": "scripted"})}
}

func (messages) stop(a answer) string {
	if a.Tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (p messages) stream(a answer, model string) []event {
	var events []event
	say := func(name string, data object) {
		data["type"] = name
		events = append(events, event{name, data})
	}
	say("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 1000, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
	}})
	index := 0
	block := func(content object, deltas ...object) {
		say("content_block_start", object{"index": index, "content_block": content})
		for _, d := range deltas {
			say("content_block_delta", object{"index": index, "delta": d})
		}
		say("content_block_stop", object{"index": index})
		index++
	}
	if a.Text != "" {
		var deltas []object
		for _, half := range halves(a.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": half})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	if a.Tool != "" {
		input, _ := json.Marshal(a.Input)
		block(object{"type": "tool_use", "id": a.id, "name": a.Tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(input)})
	}
	say("message_delta", object{"delta": object{"stop_reason": p.stop(a), "stop_sequence": nil}, "usage": object{"output_tokens": 50}})
	say("message_stop", object{})
	return events
}

func (p messages) whole(a answer, model string) any {
	content := []object{{"type": "text", "text": a.Text}}
	if a.Tool != "" {
		content = append(content, object{"type": "tool_use", "id": a.id, "name": a.Tool, "input": a.Input})
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": p.stop(a),
		"usage": object{"input_tokens": 1000, "output_tokens": 50},
	}
}
