//go:build e2e

package e2e

import (
	"encoding/json"
	"path"
	"strings"
)

// gemini is Google's Gemini API; the path names the model and the method.
type gemini struct{}

func (gemini) read(p string, body []byte) (request, error) {
	var in struct {
		Tools    []struct{ FunctionDeclarations []struct{ Name string } }
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse struct{ Response json.RawMessage }
			}
		}
	}
	err := json.Unmarshal(body, &in)
	name, method, _ := strings.Cut(path.Base(p), ":")
	r := request{Model: name, Stream: method == "streamGenerateContent"}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		if c.Role == "model" {
			c.Role = "assistant"
		}
		m := message{Role: c.Role}
		for _, part := range c.Parts {
			var back struct{ Output string }
			if json.Unmarshal(part.FunctionResponse.Response, &back) == nil {
				m.Text += back.Output + "\n"
			}
			m.Text += part.Text + "\n"
		}
		r.Messages = append(r.Messages, m)
	}
	return r, err
}

func (gemini) failure(a answer) any {
	return object{"error": a.complaint(object{"code": a.Status, "message": "scripted", "status": a.Kind})}
}

// chunk is a response; a stream is many of them.
func (gemini) chunk(model string, finish any, parts ...object) object {
	return object{
		"candidates":    []object{{"content": object{"role": "model", "parts": parts}, "index": 0, "finishReason": finish}},
		"usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050},
		"modelVersion":  model,
	}
}

func (p gemini) stream(a answer, model string) []event {
	var events []event
	for _, half := range halves(a.Text) {
		events = append(events, event{"", p.chunk(model, nil, object{"text": half})})
	}
	if a.Tool != "" {
		events = append(events, event{"", p.chunk(model, nil, object{"functionCall": object{"name": a.Tool, "args": a.Input}})})
	}
	return append(events, event{"", p.chunk(model, "STOP", object{"text": ""})})
}

func (p gemini) whole(a answer, model string) any {
	parts := []object{{"text": a.Text}}
	if a.Tool != "" {
		parts = append(parts, object{"functionCall": object{"name": a.Tool, "args": a.Input}})
	}
	return p.chunk(model, "STOP", parts...)
}
