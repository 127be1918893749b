package driver

// What a key may be used for: the method and the path of each request by which a
// provider's API answers as a model, or says which models there are. They stand in the
// providers' descriptions of their APIs (platform.claude.com/docs/en/api,
// platform.openai.com/docs/api-reference, ai.google.dev/api,
// learn.microsoft.com/azure/ai-foundry/openai/reference). Files, batches, stored
// responses, fine-tuned models and organizations are left out, and so is everything
// that deletes, changes or goes on after the run. "{name}" is a model or a deployment.

// AnthropicEndpoints are those of Anthropic's API, behind prefix.
func AnthropicEndpoints(prefix string) []string {
	return []string{
		"POST " + prefix + "/messages", "POST " + prefix + "/messages/count_tokens",
		"GET " + prefix + "/models", "GET " + prefix + "/models/{name}",
	}
}

// OpenAIEndpoints are those of OpenAI's API and of servers that are compatible, behind
// prefix. With compact codex shortens a long conversation.
func OpenAIEndpoints(prefix string) []string {
	return []string{
		"POST " + prefix + "/responses", "POST " + prefix + "/responses/compact", "POST " + prefix + "/responses/input_tokens",
		"POST " + prefix + "/chat/completions", "GET " + prefix + "/models", "GET " + prefix + "/models/{name}",
	}
}

// AzureEndpoints are those of a resource at Azure OpenAI.
func AzureEndpoints() []string {
	const deployment = "POST /openai/deployments/{name}"
	return append(append(OpenAIEndpoints("/openai/v1"), OpenAIEndpoints("/openai")...), deployment+"/chat/completions", deployment+"/responses")
}

// GeminiEndpoints are those of Gemini's API, in each of its versions.
func GeminiEndpoints() []string {
	var all []string
	for _, version := range []string{"/v1beta", "/v1", "/v1alpha"} {
		models := version + "/models"
		all = append(all,
			"POST "+models+"/{name}:generateContent", "POST "+models+"/{name}:streamGenerateContent", "POST "+models+"/{name}:countTokens",
			"GET "+models, "GET "+models+"/{name}")
	}
	return all
}
