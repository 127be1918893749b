package driver

// KeyProxy says how an agent's key can stay with the owner: the CLI asks a server of
// ours on loopback, over plain HTTP, with a placeholder for a key, and that
// server asks Upstream with the key.
type KeyProxy struct {
	// Upstream is the address of the API, without a slash at its end. A request for
	// /path at the key proxy is one for Upstream + /path; its query stays.
	Upstream string
	// Header holds the key, behind Scheme and a space where Scheme is not empty:
	// "x-api-key", or "Authorization" with "Bearer". The placeholder comes in the same
	// form. Nothing else in a request is the key.
	Header, Scheme string
	// Endpoints are the requests below Upstream that the key is good for, each a method
	// and a path; see [AnthropicEndpoints]. They leave out what a model needs not:
	// files, batches, keys, an organization.
	Endpoints []string
	// KeyVariable holds the key in [Options.Env].
	KeyVariable string
	// WebSocket reports whether the CLI tries one first, with the key in the headers of its
	// handshake. One that is answered with 426 makes it go on without at once (seen:
	// codex 0.169.0); any other refusal takes it seven seconds.
	WebSocket bool
}

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
