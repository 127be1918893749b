package egress_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/sandbox/egress"
)

const (
	realKey     = "sk-real-0123456789abcdef"
	placeholder = "ralph-placeholder-0123456789"
)

// keyProxy starts one in front of a server.
func keyProxy(t *testing.T, o egress.KeyProxyOptions, h http.HandlerFunc) *egress.KeyProxy {
	t.Helper()
	if h != nil {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		u, _ := url.Parse(s.URL)
		if o.Upstream != nil {
			u.Path = o.Upstream.Path
		}
		o.Upstream = u
	}
	if !o.Key.IsSet() {
		o.Key = secret.New(realKey)
	}
	if o.Header == "" {
		o.Header = "x-api-key"
	}
	if o.Placeholder == "" {
		o.Placeholder = placeholder
	}
	d, err := egress.StartKeyProxy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// askKeyProxy sends a request, and returns status, body and head of the answer.
func askKeyProxy(t *testing.T, d *egress.KeyProxy, method, path string, fields map[string]string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, d.URL()+path, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		r.Header.Set(name, value)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Header
}

func TestKeyProxyAddsTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, scheme, sent, want string }{
		{"x-api-key", "", placeholder, realKey},
		{"Authorization", "Bearer", "Bearer " + placeholder, "Bearer " + realKey},
		{"Authorization", "Bearer ", "bearer " + placeholder, "Bearer " + realKey},
		{"x-goog-api-key", "", placeholder, realKey},
	} {
		var got *http.Request
		var body []byte
		d := keyProxy(t, egress.KeyProxyOptions{Header: c.header, Scheme: c.scheme, Upstream: &url.URL{Path: "/base/"}}, func(w http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "answer")
		})
		status, text, _ := askKeyProxy(t, d, "POST", "/v1/messages?beta=true&key=mine&page_token=3", map[string]string{c.header: c.sent, "anthropic-beta": "x"})
		if status != http.StatusTeapot || text != "answer" {
			t.Errorf("%s: %d %q", c.header, status, text)
		}
		if got == nil || got.Header.Get(c.header) != c.want || got.URL.String() != "/base/v1/messages?beta=true&page_token=3" || got.Header.Get("Anthropic-Beta") != "x" || string(body) != "body" {
			t.Errorf("%s: the API got %v %v %q", c.header, got.URL, got.Header, body)
		}
		if got.Host == strings.TrimPrefix(d.URL(), "http://") || got.Header.Get("X-Forwarded-For") != "" {
			t.Errorf("%s: Host %q, header %v: want the API's, and nothing of the key proxy", c.header, got.Host, got.Header)
		}
	}
}

func TestKeyProxyIsForTheAgentAlone(t *testing.T) {
	t.Parallel()
	asked := 0
	d := keyProxy(t, egress.KeyProxyOptions{}, func(http.ResponseWriter, *http.Request) { asked++ })
	for name, fields := range map[string]map[string]string{
		"no key":                  {},
		"another key":             {"x-api-key": "sk-ant-somebody-elses"},
		"an empty key":            {"x-api-key": ""},
		"the real key":            {"x-api-key": realKey},
		"a part of it":            {"x-api-key": placeholder[:10]},
		"more than it":            {"x-api-key": placeholder + "x"},
		"in capitals":             {"x-api-key": strings.ToUpper(placeholder)},
		"in another field":        {"x-something": placeholder},
		"in a cookie":             {"Cookie": "x-api-key=" + placeholder},
		"as a password":           {"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+placeholder))},
		"a WebSocket without one": {"Upgrade": "websocket", "Connection": "Upgrade"},
	} {
		if status, body, _ := askKeyProxy(t, d, "GET", "/v1/models", fields); status != http.StatusUnauthorized || strings.Contains(body, placeholder) {
			t.Errorf("%s: %d %q, want 401", name, status, body)
		}
	}
	if asked != 0 {
		t.Errorf("the API was asked %d times", asked)
	}
	other := keyProxy(t, egress.KeyProxyOptions{Placeholder: "ralph-another-placeholder"}, func(http.ResponseWriter, *http.Request) {})
	if status, _, _ := askKeyProxy(t, other, "GET", "/", map[string]string{"x-api-key": placeholder}); status != http.StatusUnauthorized {
		t.Errorf("another run's placeholder: %d, want 401", status)
	}
}

func TestKeyProxyMakesPlaceholders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		u, _ := url.Parse("https://api.example.com")
		d, err := egress.StartKeyProxy(t.Context(), egress.KeyProxyOptions{Upstream: u, Key: secret.New(realKey), Header: "x-api-key"})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if seen[d.Placeholder()] || len(d.Placeholder()) < 26 {
			t.Errorf("Placeholder() = %q, want a long one, another each time", d.Placeholder())
		}
		seen[d.Placeholder()] = true
		if d.URL() != fmt.Sprintf("http://127.0.0.1:%d", d.Port()) {
			t.Errorf("URL() = %q, Port() = %d", d.URL(), d.Port())
		}
	}
}

// Nobody hands what he read to another account, with a key of his own, through
// the address that is allowed.
func TestKeyProxyTakesOutOtherKeys(t *testing.T) {
	t.Parallel()
	var got http.Header
	d := keyProxy(t, egress.KeyProxyOptions{Header: "x-api-key"}, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	names := []string{
		"Authorization", "Proxy-Authorization", "Cookie", "X-Goog-Api-Key", "Api-Key", "Api_key", "X_Api_Key", "X-Auth-Token", "X-Amz-Security-Token",
		"Ocp-Apim-Subscription-Key", "X-Forwarded-Authorization", "X-Auth-Key", "X-Auth-Email", "X-Access-Key", "Forwarded", "X-Forwarded-For", "X-Original-URL",
	}
	fields := map[string]string{"x-api-key": placeholder, "Connection": "x-api-key"}
	for _, name := range names {
		fields[name] = "sk-somebody-elses"
	}
	if status, body, _ := askKeyProxy(t, d, "GET", "/", fields); status != 200 {
		t.Fatalf("%d %q", status, body)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "somebody") || strings.Contains(strings.Join(values, " "), placeholder) {
			t.Errorf("the API got %s: %q", name, values)
		}
	}
	if got.Get("X-Api-Key") != realKey || len(got["X-Api-Key"]) != 1 {
		t.Errorf("the API got the key %q", got["X-Api-Key"])
	}
}

func TestKeyProxyEndpoints(t *testing.T) {
	t.Parallel()
	asked := ""
	d := keyProxy(t, egress.KeyProxyOptions{
		Endpoints: []string{"POST /v1/messages", "POST /v1/messages/count_tokens", "GET /models", "GET /models/{name}", "POST /models/{name}:generate"},
		Upstream:  &url.URL{Path: "/base"},
	}, func(_ http.ResponseWriter, r *http.Request) { asked = r.Method + " " + r.RequestURI })
	for request, want := range map[string]string{
		"POST /v1/messages": "POST /base/v1/messages", "POST /v1/messages?beta=true": "POST /base/v1/messages?beta=true",
		"POST /v1/messages/count_tokens": "POST /base/v1/messages/count_tokens",
		"GET /models":                    "GET /base/models", "GET /models?limit=1000": "GET /base/models?limit=1000",
		"GET /models/x-1.5": "GET /base/models/x-1.5", "POST /models/x-1.5:generate?alt=sse": "POST /base/models/x-1.5:generate?alt=sse",

		"GET /v1/messages": "", "PUT /v1/messages": "", "PATCH /v1/messages": "", "DELETE /v1/messages": "", "OPTIONS /v1/messages": "", "HEAD /models": "", "post /v1/messages": "",
		"POST /v1/messages/batches": "", "GET /v1/messages/batches": "", "GET /v1/messages/batches/b1/results": "", "POST /v1/messages/batches/b1/cancel": "", "DELETE /v1/messages/batches/b1": "",
		"DELETE /models/x": "", "PUT /models/x": "", "POST /models": "", "POST /models/x": "", "GET /models/": "", "GET /models/x/y": "", "GET /models:list": "", "GET /models/x:y": "",
		"POST /models/:generate": "", "POST /models/x:batchGenerate": "", "POST /models/x:generateMore": "", "POST /models/x:batch:generate": "", "POST /models/x%3Abatch:generate": "", "POST /models/x%20y:generate": "",
		"GET /models/x:generate": "", "POST /v1/messagesx": "", "POST /v1/messages/": "", "POST /v1/files": "", "POST /": "", "POST /v1": "", "POST /V1/messages": "",
		"POST /v1/messages/../files": "", "POST /v1/messages/..": "", "POST /v1/messages/%2e%2e/files": "", "POST /v1/messages/.%2E/files": "", "POST /v1/messages%2f..%2ffiles": "", "POST /v1/mess%61ges": "",
		"POST /v1/messages/..%5cfiles": "", "POST //v1/messages": "", "POST /v1//messages": "", "POST /v1/messages;/../files": "", "POST /v1/messages/..%3b/files": "", "POST /v1/messages/./x": "",
		"POST /v1/messages?_method=DELETE": "", "POST /v1/messages?a=b&x-http-method-override=PUT": "", "POST /v1/messages?%24httpHeaders=X-HTTP-Method-Override:DELETE": "", "POST /v1/messages?$alt=sse": "",
	} {
		asked = ""
		raw := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", request, placeholder)
		status, body := ask(t, strings.TrimPrefix(d.URL(), "http://"), raw)
		if asked != want || (want == "") != (status == http.StatusForbidden) {
			t.Errorf("%s: %d %q, the API was asked for %q, want %q", request, status, body, asked, want)
		}
	}
	for _, text := range []string{"", "/v1/messages", "POST", "POST v1/messages", "POST /v1/messages?beta=true", "POST /v1 /x"} {
		u, _ := url.Parse("https://api.example.com")
		if d, err := egress.StartKeyProxy(t.Context(), egress.KeyProxyOptions{Upstream: u, Key: secret.New(realKey), Header: "x-api-key", Endpoints: []string{text}}); err == nil {
			d.Close()
			t.Errorf("StartKeyProxy with the endpoint %q: no error", text)
		}
	}
}

// No server is told of another method than the one that was looked at.
func TestKeyProxyRefusesOtherMethods(t *testing.T) {
	t.Parallel()
	asked := 0
	d := keyProxy(t, egress.KeyProxyOptions{Endpoints: []string{"POST /v1/messages"}}, func(http.ResponseWriter, *http.Request) { asked++ })
	for _, name := range []string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Method", "X-HTTP-Verb", "X_HTTP_Method_Override", "x_http_method", "HTTP-Method-Override", "X-Http_Method-override", "_method",
	} {
		raw := fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n%s: DELETE\r\n\r\n", placeholder, name)
		if status, body := ask(t, strings.TrimPrefix(d.URL(), "http://"), raw); status != http.StatusForbidden || !strings.Contains(body, "method") {
			t.Errorf("%s: %d %q, want 403", name, status, body)
		}
	}
	if asked != 0 {
		t.Errorf("the API was asked %d times", asked)
	}
}

func TestKeyProxyIsNoProxy(t *testing.T) {
	t.Parallel()
	asked := 0
	d := keyProxy(t, egress.KeyProxyOptions{}, func(http.ResponseWriter, *http.Request) { asked++ })
	address := strings.TrimPrefix(d.URL(), "http://")
	for _, line := range []string{"GET http://evil.example/", "CONNECT evil.example:443", "TRACE /", "OPTIONS *", "GET evil.example"} {
		raw := fmt.Sprintf("%s HTTP/1.1\r\nHost: evil.example\r\nx-api-key: %s\r\n\r\n", line, placeholder)
		if status, body := ask(t, address, raw); status < 400 || status == http.StatusBadGateway {
			t.Errorf("%s: %d %q, want a refusal", line, status, body)
		}
	}
	if asked != 0 {
		t.Errorf("the API was asked %d times", asked)
	}
}
