package egress

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// endpoint is a method and a path that a key is good for.
type endpoint struct {
	method string
	parts  []string // of the path, from the first slash on
}

// anyName stands in an endpoint's path for one name, of a model for example.
const anyName = "{name}"

// parseEndpoints reads endpoints as "METHOD /path".
func parseEndpoints(texts []string) ([]endpoint, error) {
	var all []endpoint
	for _, text := range texts {
		method, path, _ := strings.Cut(text, " ")
		if method == "" || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# ") {
			return nil, fmt.Errorf("the endpoint %q is no method and path", text)
		}
		all = append(all, endpoint{method, strings.Split(path[1:], "/")})
	}
	return all, nil
}

// matches reports whether a request is for the endpoint; path is escaped.
func (e endpoint) matches(method, path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if method != e.method || len(parts) != len(e.parts) {
		return false
	}
	for i, want := range e.parts {
		before, after, open := strings.Cut(want, anyName)
		got, ok := strings.CutPrefix(parts[i], before)
		if ok {
			got, ok = strings.CutSuffix(got, after)
		}
		if !ok || open != (got != "") || strings.ContainsFunc(got, func(r rune) bool { return !nameRune(r) }) {
			return false
		}
	}
	return true
}

// nameRune reports whether a name in a path may have the character. A colon ends a
// name at Google, and what is escaped has more than one reading.
func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~@", r)
}

// errOverride is for requests that a server may take for one of another method, or
// with other fields.
var errOverride = errors.New("a request that names another method than its own is not sent on")

// overridesMethod reports whether fields of a request name another method than its own.
func overridesMethod(h http.Header) bool {
	for name := range h {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.Contains([]string{"x-http-method", "x-method", "x-http-verb", "http-method", "method", "-method"}, name) || strings.Contains(name, "method-override") {
			return true
		}
	}
	return false
}

// overridingParameter reports whether a query's parameter names a method or, with "$",
// is one by which Google's servers take the fields of a request from its query
// (https://cloud.google.com/apis/docs/system-parameters).
func overridingParameter(name string) bool {
	return strings.HasPrefix(name, "$") || strings.Contains(strings.ToLower(name), "method")
}
