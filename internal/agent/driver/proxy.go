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
	// WebSocket says that the CLI tries one first, with the key in the headers of its
	// handshake. One that is answered with 426 makes it go on without at once (seen:
	// codex 0.169.0); any other refusal takes it seven seconds.
	WebSocket bool
}
