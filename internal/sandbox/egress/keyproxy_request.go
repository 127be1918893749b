package egress

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// destination is where a request at the key proxy goes on to.
func (k *KeyProxy) destination(r *http.Request) (*url.URL, error) {
	switch {
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace: // TRACE answers with the request, key included
		return nil, errors.New("no such method here")
	case !strings.HasPrefix(r.RequestURI, "/"):
		return nil, errors.New("a path is expected here; this is no proxy")
	}
	path := r.URL.EscapedPath()
	if ambiguous(path) {
		return nil, errors.New("the path has more than one reading")
	}
	if !k.allows(r.Method, path) {
		return nil, errors.New("the agent's key is not for this request: " + clean(r.Method+" "+path))
	}
	if overridesMethod(r.Header) {
		return nil, errOverride
	}
	query, err := withoutKeys(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	u := *k.o.Upstream
	u.Path = strings.TrimRight(u.Path, "/") + r.URL.Path
	u.RawPath = strings.TrimRight(k.o.Upstream.EscapedPath(), "/") + path
	u.RawQuery = query
	return &u, nil
}

// ambiguous paths may mean another one to the server than to us.
func ambiguous(path string) bool {
	lower := strings.ToLower(path)
	for _, sign := range []string{"%2e", "%2f", "%5c", "%00", "%25", "%3b", "\\", "//", ";"} {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "." || part == ".." })
}

func (k *KeyProxy) allows(method, path string) bool {
	return len(k.endpoints) == 0 || slices.ContainsFunc(k.endpoints, func(e endpoint) bool { return e.matches(method, path) })
}

// withoutKeys takes keys out of a query.
func withoutKeys(query string) (string, error) {
	if query == "" {
		return "", nil
	}
	kept := []string{}
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || strings.Contains(part, ";") {
			return "", errors.New("the query has more than one reading")
		}
		if overridingParameter(name) {
			return "", errOverride
		}
		if !credentialParameter(name) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&"), nil
}

func credentialParameter(name string) bool {
	return slices.Contains([]string{
		"key", "api-key", "apikey", "x-api-key", "x-goog-api-key", "subscription-key", "token", "access-token", "auth-token", "oauth-token", "id-token",
		"authorization", "secret", "client-secret", "password",
	}, strings.ReplaceAll(strings.ToLower(name), "_", "-"))
}

// removeCredentials takes out every field by which an account could be chosen:
// the placeholder, and a client's own key, with which it could hand what it read to
// somebody else through an address that is allowed.
func removeCredentials(h http.Header) {
	for name := range h {
		if credential(name) {
			delete(h, name)
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Original-Url", "X-Rewrite-Url"} {
		h.Del(name)
	}
}

// credential goes by parts of names, because there are many names. Which
// organization or project of its own account a key is used for stays open to a
// client.
func credential(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return slices.ContainsFunc([]string{
		"authorization", "api-key", "apikey", "auth-key", "access-key", "subscription-key", "cookie", "secret", "token", "credential", "password", "auth-email",
	}, func(part string) bool { return strings.Contains(name, part) })
}
