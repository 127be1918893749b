package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/egress"
	"github.com/org/ralph-action/internal/secret"
)

const (
	realKey     = "sk-real-0123456789abcdef"
	placeholder = "ralph-placeholder-0123456789"
)

// door opens one before a server.
func door(t *testing.T, o egress.DoorOptions, h http.HandlerFunc) *egress.Door {
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
	d, err := egress.StartDoor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// knock asks a door, and gives status, body and head.
func knock(t *testing.T, d *egress.Door, method, path string, fields map[string]string) (int, string, http.Header) {
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

func TestDoorAddsTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, scheme, sent, want string }{
		{"x-api-key", "", placeholder, realKey},
		{"Authorization", "Bearer", "Bearer " + placeholder, "Bearer " + realKey},
		{"Authorization", "Bearer ", "bearer " + placeholder, "Bearer " + realKey},
		{"x-goog-api-key", "", placeholder, realKey},
	} {
		var got *http.Request
		var body []byte
		d := door(t, egress.DoorOptions{Header: c.header, Scheme: c.scheme, Upstream: &url.URL{Path: "/base/"}}, func(w http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "answer")
		})
		status, text, _ := knock(t, d, "POST", "/v1/messages?beta=true&key=mine&page_token=3", map[string]string{c.header: c.sent, "anthropic-beta": "x"})
		if status != http.StatusTeapot || text != "answer" {
			t.Errorf("%s: %d %q", c.header, status, text)
		}
		if got == nil || got.Header.Get(c.header) != c.want || got.URL.String() != "/base/v1/messages?beta=true&page_token=3" || got.Header.Get("Anthropic-Beta") != "x" || string(body) != "body" {
			t.Errorf("%s: the API got %v %v %q", c.header, got.URL, got.Header, body)
		}
		if got.Host == strings.TrimPrefix(d.URL(), "http://") || got.Header.Get("X-Forwarded-For") != "" {
			t.Errorf("%s: Host %q, header %v: want the API's, and nothing of the door", c.header, got.Host, got.Header)
		}
	}
}

func TestDoorIsForTheAgentAlone(t *testing.T) {
	t.Parallel()
	asked := 0
	d := door(t, egress.DoorOptions{}, func(http.ResponseWriter, *http.Request) { asked++ })
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
		if status, body, _ := knock(t, d, "GET", "/v1/models", fields); status != http.StatusUnauthorized || strings.Contains(body, placeholder) {
			t.Errorf("%s: %d %q, want 401", name, status, body)
		}
	}
	if asked != 0 {
		t.Errorf("the API was asked %d times", asked)
	}
	other := door(t, egress.DoorOptions{Placeholder: "ralph-another-placeholder"}, func(http.ResponseWriter, *http.Request) {})
	if status, _, _ := knock(t, other, "GET", "/", map[string]string{"x-api-key": placeholder}); status != http.StatusUnauthorized {
		t.Errorf("another run's placeholder: %d, want 401", status)
	}
}

func TestDoorMakesPlaceholders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		u, _ := url.Parse("https://api.example.com")
		d, err := egress.StartDoor(t.Context(), egress.DoorOptions{Upstream: u, Key: secret.New(realKey), Header: "x-api-key"})
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
func TestDoorTakesOutOtherKeys(t *testing.T) {
	t.Parallel()
	var got http.Header
	d := door(t, egress.DoorOptions{Header: "x-api-key"}, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	names := []string{
		"Authorization", "Proxy-Authorization", "Cookie", "X-Goog-Api-Key", "Api-Key", "Api_key", "X_Api_Key", "X-Auth-Token", "X-Amz-Security-Token",
		"Ocp-Apim-Subscription-Key", "X-Forwarded-Authorization", "X-Auth-Key", "X-Auth-Email", "X-Access-Key", "Forwarded", "X-Forwarded-For", "X-Http-Method-Override", "X-Original-URL",
	}
	fields := map[string]string{"x-api-key": placeholder, "Connection": "x-api-key"}
	for _, name := range names {
		fields[name] = "sk-somebody-elses"
	}
	if status, body, _ := knock(t, d, "GET", "/", fields); status != 200 {
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

func TestDoorPaths(t *testing.T) {
	t.Parallel()
	asked := ""
	d := door(t, egress.DoorOptions{Paths: []string{"/v1/messages", "/models"}, Upstream: &url.URL{Path: "/base"}}, func(_ http.ResponseWriter, r *http.Request) { asked = r.RequestURI })
	for path, want := range map[string]string{
		"/v1/messages": "/base/v1/messages", "/v1/messages?beta=true": "/base/v1/messages?beta=true", "/v1/messages/count_tokens": "/base/v1/messages/count_tokens",
		"/models/x%20y:generate": "/base/models/x%20y:generate", "/models:list": "/base/models:list",
		"/v1/messagesx": "", "/v1/files": "", "/": "", "/v1": "", "/V1/messages": "",
		"/v1/messages/../files": "", "/v1/messages/..": "", "/v1/messages/%2e%2e/files": "", "/v1/messages/.%2E/files": "", "/v1/messages%2f..%2ffiles": "",
		"/v1/messages/..%5cfiles": "", "//v1/messages": "", "/v1//messages": "", "/v1/messages;/../files": "", "/v1/messages/./x": "",
	} {
		asked = ""
		raw := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", path, placeholder)
		status, body := ask(t, strings.TrimPrefix(d.URL(), "http://"), raw)
		if asked != want || (want == "") != (status == http.StatusForbidden) {
			t.Errorf("%s: %d %q, the API was asked for %q, want %q", path, status, body, asked, want)
		}
	}
}

func TestDoorIsNoProxy(t *testing.T) {
	t.Parallel()
	asked := 0
	d := door(t, egress.DoorOptions{}, func(http.ResponseWriter, *http.Request) { asked++ })
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

// codex takes 426 for "use plain requests", and does not count it as a failure.
func TestDoorRefusesWebSockets(t *testing.T) {
	t.Parallel()
	d := door(t, egress.DoorOptions{Header: "Authorization", Scheme: "Bearer"}, func(http.ResponseWriter, *http.Request) { t.Error("the API was asked") })
	status, _, _ := knock(t, d, "GET", "/responses", map[string]string{"Authorization": "Bearer " + placeholder, "Upgrade": "websocket", "Connection": "Upgrade"})
	if status != http.StatusUpgradeRequired {
		t.Errorf("%d, want 426", status)
	}
}

// A server that sends back what it gets does not tell the key.
func TestDoorHidesTheKeyInAnswers(t *testing.T) {
	t.Parallel()
	d := door(t, egress.DoorOptions{}, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key")
		w.Header().Set("X-Echo", "it was "+key)
		w.Header().Set("X-"+key, "1")
		w.Header().Add("Set-Cookie", "session=1")
		w.Header().Set("Trailer", "X-Late")
		w.Header().Set("Link", key)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		for _, part := range []string{"<", key[:7], key[7:], "|", base64.StdEncoding.EncodeToString([]byte(key)), "|", url.QueryEscape(key), ">"} {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-Late", key)
	})
	c := guest(t, strings.TrimPrefix(d.URL(), "http://"))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: gzip\r\nTE: trailers\r\nx-api-key: %s\r\n\r\n", placeholder)
	raw, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if string(body) != "<***|***|***>" || response.Header.Get("X-Echo") != "it was ***" {
		t.Errorf("the guest got %q", text)
	}
	for _, part := range []string{realKey, realKey[7:], strings.ToLower(realKey), "Set-Cookie", "X-Late"} {
		if strings.Contains(text, part) || strings.Contains(strings.ToLower(text), part) {
			t.Errorf("the guest got %q: %q", part, text)
		}
	}
}

func TestDoorFollowsNoRedirects(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		d := door(t, egress.DoorOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://evil.example/?"+realKey)
			w.WriteHeader(code)
		})
		status, body, header := knock(t, d, "GET", "/", map[string]string{"x-api-key": placeholder})
		if status != http.StatusBadGateway || header.Get("Location") != "" || strings.Contains(body, realKey) || !strings.Contains(body, "redirects to https://evil.example") {
			t.Errorf("%d: %d %q %v, want 502", code, status, body, header)
		}
	}
}

func TestDoorStreams(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	d := door(t, egress.DoorOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	})
	r, _ := http.NewRequest("POST", d.URL()+"/v1/messages", nil)
	r.Header.Set("x-api-key", placeholder)
	response, err := (&http.Client{Timeout: 60 * time.Second}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for i := range 3 {
		if line, err := lines.ReadString('\n'); line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d is %q, %v", i, line, err)
		}
		next <- struct{}{} // the server goes on only now
	}
}

// The certificate of the API is checked; what goes wrong is told without the key.
func TestDoorFailures(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	selfSigned, _ := url.Parse(s.URL)
	down, _ := url.Parse("http://127.0.0.1:" + fmt.Sprint(freePort(t)))
	for name, u := range map[string]*url.URL{"a certificate nobody signed": selfSigned, "nothing there": down} {
		d := door(t, egress.DoorOptions{Upstream: u}, nil)
		status, body, _ := knock(t, d, "GET", "/", map[string]string{"x-api-key": placeholder})
		if status != http.StatusBadGateway || !strings.Contains(body, "does not answer") || strings.Contains(body, realKey) {
			t.Errorf("%s: %d %q, want 502", name, status, body)
		}
	}
	unreadable := door(t, egress.DoorOptions{Upstream: down, Proxy: egress.Environment(environment(map[string]string{"HTTP_PROXY": "http://user:hunter22@[::1"}))}, nil)
	if status, body, _ := knock(t, unreadable, "GET", "/", map[string]string{"x-api-key": placeholder}); status != http.StatusBadGateway || strings.Contains(body, "hunter22") {
		t.Errorf("an unreadable proxy: %d %q", status, body)
	}
	d := door(t, egress.DoorOptions{Transport: failing{}, Upstream: down}, nil)
	if _, body, _ := knock(t, d, "GET", "/", map[string]string{"x-api-key": placeholder}); strings.Contains(body, realKey) {
		t.Errorf("an error tells the key: %q", body)
	}
}

type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("sending %v: refused", r.Header)
}

// The API is reached by HTTP/2, and through the machine's own proxy.
func TestDoorWays(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	d := door(t, egress.DoorOptions{Upstream: u, Transport: transport}, nil)
	if status, body, _ := knock(t, d, "GET", "/", map[string]string{"x-api-key": placeholder}); status != 200 || body != "HTTP/2.0" {
		t.Errorf("%d %q, want HTTP/2.0", status, body)
	}

	co := newCompany(t, echo(t))
	proxy := egress.Environment(environment(map[string]string{"HTTP_PROXY": "http://" + strings.Replace(companyLogin, " ", "%20", 1) + "@" + co.address}))
	far, _ := url.Parse("http://api.example")
	d = door(t, egress.DoorOptions{Upstream: far, Proxy: proxy}, nil)
	if status, body, _ := knock(t, d, "GET", "/v1", map[string]string{"x-api-key": placeholder}); status != 200 || body != "from" {
		t.Errorf("through the machine's proxy: %d %q", status, body)
	}
}

func TestDoorCloses(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	asked := make(chan struct{})
	s := listen(t, func(net.Conn) { asked <- struct{}{}; <-hang })
	u, _ := url.Parse("http://" + s)
	d := door(t, egress.DoorOptions{Upstream: u}, nil)
	c := guest(t, strings.TrimPrefix(d.URL(), "http://"))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", placeholder)
	<-asked
	d.Close()
	if _, err := io.ReadAll(c); err != nil {
		if network, ok := err.(net.Error); ok && network.Timeout() {
			t.Error("a request outlived the door")
		}
	}
}

func TestDoorOptions(t *testing.T) {
	t.Parallel()
	good := func() egress.DoorOptions {
		u, _ := url.Parse("https://api.example.com/v1")
		return egress.DoorOptions{Upstream: u, Key: secret.New(realKey), Header: "x-api-key"}
	}
	for name, change := range map[string]func(*egress.DoorOptions){
		"no address":              func(o *egress.DoorOptions) { o.Upstream = nil },
		"no host":                 func(o *egress.DoorOptions) { o.Upstream = &url.URL{Scheme: "https"} },
		"another scheme":          func(o *egress.DoorOptions) { o.Upstream.Scheme = "ftp" },
		"a user in the address":   func(o *egress.DoorOptions) { o.Upstream.User = url.User("x") },
		"a query in the address":  func(o *egress.DoorOptions) { o.Upstream.RawQuery = "x" },
		"no key":                  func(o *egress.DoorOptions) { o.Key = secret.String{} },
		"a key of two lines":      func(o *egress.DoorOptions) { o.Key = secret.New("a\r\nX: b") },
		"no field":                func(o *egress.DoorOptions) { o.Header = "" },
		"a short placeholder":     func(o *egress.DoorOptions) { o.Placeholder = "x" },
		"the key for placeholder": func(o *egress.DoorOptions) { o.Placeholder = realKey },
	} {
		o := good()
		change(&o)
		if d, err := egress.StartDoor(context.Background(), o); err == nil {
			d.Close()
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), realKey) {
			t.Errorf("%s: the error tells the key: %v", name, err)
		}
	}
}
