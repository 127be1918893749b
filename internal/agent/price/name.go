package price

import (
	"regexp"
	"strings"
)

var (
	// Bedrock: us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic.claude-opus-4-6-v1
	bedrock = regexp.MustCompile(`^(?:(?:us|eu|apac|jp|au|ca|us-gov|global)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v[0-9]+(?::[0-9]+)?)?$`)
	// Vertex: claude-haiku-4-5@20251001
	vertex = regexp.MustCompile(`^(claude-[a-z0-9-]+)@[0-9]{8}$`)
	// A snapshot: claude-sonnet-4-5-20250929, gpt-5-2025-08-07
	snapshot = regexp.MustCompile(`^(.+)-20[0-9]{2}(?:[01][0-9][0-3][0-9]|-[01][0-9]-[0-3][0-9])$`)
	// How claude is asked for its long context: claude-sonnet-4-5[1m]
	long = regexp.MustCompile(`^(.*claude-.+)\[1m\]$`)
)

// maxName bounds the name of a model, in bytes.
const maxName = 200

// find looks for a model under its exact name, then without what those who
// pass it on put around the name. Nothing is guessed.
func (t Table) find(name string) (model, bool) {
	if len(name) > maxName {
		return model{}, false
	}
	m, ok := t.names[name]
	for _, strip := range [...]func(string) string{longContext, seller, seller, cloud, undated} {
		if ok {
			break
		}
		name = strip(name)
		m, ok = t.names[name]
	}
	return m, ok
}

func longContext(name string) string { return long.ReplaceAllString(name, "$1") }

// seller takes away who sells the model, as opencode, OpenRouter and LiteLLM
// put it before the name; OpenRouter stands before another one.
func seller(name string) string {
	for _, prefix := range [...]string{
		"openrouter/", "github-copilot/", "anthropic/", "openai/", "azure/", "google/", "gemini/", "models/", "google-vertex/", "google-vertex-anthropic/",
		"vertex_ai/", "amazon-bedrock/", "bedrock/", "xai/", "x-ai/", "moonshotai/", "zai/", "z-ai/", "alibaba/", "qwen/",
	} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

func cloud(name string) string {
	return vertex.ReplaceAllString(bedrock.ReplaceAllString(name, "$1"), "$1")
}

func undated(name string) string { return snapshot.ReplaceAllString(name, "$1") }
