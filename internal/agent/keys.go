package agent

import (
	"errors"
	"fmt"
	"slices"
)

// KeyVariable is the variable in which the agent looks for a key of the provider
// that the options choose. An error is for the user to read: the provider takes
// none, or which one it takes is not known.
func KeyVariable(o Options) (string, error) {
	_, known := formats()
	f, ok := known[o.Name]
	if !ok {
		return "", nil
	}
	keys, _ := f.credentials()
	switch o.Name {
	case "claude":
		p := providerOf(o)
		if p.name == "vertex" {
			return "", errors.New("api-key: vertex takes no key; see the page about providers for a login by OIDC")
		}
		return p.key, nil
	case "codex":
		return codexKeys(o)[0], nil
	case "gemini":
		if o.Provider == "vertex" {
			return "GOOGLE_API_KEY", nil
		}
	case "copilot":
		if o.Provider != "" && o.Provider != "github" || o.BaseURL != "" {
			return "COPILOT_PROVIDER_API_KEY", nil
		}
	case "opencode":
		if key := opencodeKeys(opencodeModel(o)); slices.Contains(keys, key) {
			return key, nil
		}
		return "", fmt.Errorf("api-key: which variable %s reads for this provider is not known: set it in env, and name it in pass-env", o.Name)
	case "cline":
		key, ok := map[string]string{
			"": "CLINE_API_KEY", "cline": "CLINE_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY",
			"openai-native": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY", "gemini": "GEMINI_API_KEY",
		}[o.Provider]
		if !ok {
			return "", fmt.Errorf("api-key: which variable %s reads for this provider is not known: set it in env, and name it in pass-env", o.Name)
		}
		return key, nil
	}
	if len(keys) == 0 {
		return "", nil
	}
	return keys[0], nil
}

// OneKey are the options without the keys of other providers than the one they
// choose, where the key of that one is set.
func OneKey(o Options) Options {
	name, err := KeyVariable(o)
	if err != nil || name == "" || lookup(o.Env, name) == "" {
		return o
	}
	_, known := formats()
	keys, _ := known[o.Name].credentials()
	o.Env = without(o.Env, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == name })...)
	return o
}
