package agent

import (
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// KeyVariable is the variable in which the agent looks for a key of the provider
// that the options choose. An error is for the user to read: the provider takes
// none, or which one it takes is not known.
func KeyVariable(o Options) (string, error) {
	f, ok := drivers()[o.Name]
	if !ok {
		return "", nil
	}
	row := catalog.Of(o.Name)
	switch p := row.Provider(f.Provider(o)); {
	case p.Key != "":
		return p.Key, nil
	case row.AnyProvider:
		return "", fmt.Errorf("api-key: which variable %s reads for this provider is not known: set it in env, and name it in pass-env", o.Name)
	case p.Name != "":
		return "", fmt.Errorf("api-key: %s takes no key; see the page about providers for a login by OIDC", p.Name)
	}
	if keys := row.Keys(); len(keys) > 0 {
		return keys[0], nil
	}
	return "", nil
}

// OneKey are the options without the keys of other providers than the one they
// choose, where the key of that one is set.
func OneKey(o Options) Options {
	name, err := KeyVariable(o)
	if err != nil || name == "" || driver.Lookup(o.Env, name) == "" {
		return o
	}
	o.Env = driver.Without(o.Env, slices.DeleteFunc(catalog.Of(o.Name).Keys(), func(key string) bool { return key == name })...)
	return o
}
