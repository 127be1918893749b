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

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/sandbox/egress"
)

// codex takes 426 for "use plain requests", and does not count it as a failure.
func TestKeyProxyRefusesWebSockets(t *testing.T) {
	t.Parallel()
	d := keyProxy(t, egress.KeyProxyOptions{Header: "Authorization", Scheme: "Bearer"}, func(http.ResponseWriter, *http.Request) { t.Error("the API was asked") })
	status, _, _ := askKeyProxy(t, d, "GET", "/responses", map[string]string{"Authorization": "Bearer " + placeholder, "Upgrade": "websocket", "Connection": "Upgrade"})
	if status != http.StatusUpgradeRequired {
		t.Errorf("%d, want 426", status)
	}
}

// A server that sends back what it gets does not tell the key.
func TestKeyProxyHidesTheKeyInAnswers(t *testing.T) {
	t.Parallel()
	d := keyProxy(t, egress.KeyProxyOptions{}, func(w http.ResponseWriter, r *http.Request) {
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
	c := dial(t, strings.TrimPrefix(d.URL(), "http://"))
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
		t.Errorf("the client got %q", text)
	}
	for _, part := range []string{realKey, realKey[7:], strings.ToLower(realKey), "Set-Cookie", "X-Late"} {
		if strings.Contains(text, part) || strings.Contains(strings.ToLower(text), part) {
			t.Errorf("the client got %q: %q", part, text)
		}
	}
}

func TestKeyProxyFollowsNoRedirects(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		d := keyProxy(t, egress.KeyProxyOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://evil.example/?"+realKey)
			w.WriteHeader(code)
		})
		status, body, header := askKeyProxy(t, d, "GET", "/", map[string]string{"x-api-key": placeholder})
		if status != http.StatusBadGateway || header.Get("Location") != "" || strings.Contains(body, realKey) || !strings.Contains(body, "redirects to https://evil.example") {
			t.Errorf("%d: %d %q %v, want 502", code, status, body, header)
		}
	}
}

func TestKeyProxyStreams(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	d := keyProxy(t, egress.KeyProxyOptions{}, func(w http.ResponseWriter, _ *http.Request) {
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
// A server may answer before it has the whole question. Were the rest closed then,
// answers to whole questions would be lost, too, now and then.
func TestAnswerBeforeTheQuestionEnds(t *testing.T) {
	t.Parallel()
	early := func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}
	world := newWorld()
	world.put("good.example", publicAddress, 8080, web(t, early))
	proxy := world.start(t, egress.Options{}, "good.example:8080")
	for name, c := range map[string]struct{ address, target string }{
		"key proxy": {strings.TrimPrefix(keyProxy(t, egress.KeyProxyOptions{}, early).URL(), "http://"), "/v1/messages"},
		"proxy":     {proxy.Address(), "http://good.example:8080/"},
	} {
		conn := dial(t, c.address)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: good.example:8080\r\nx-api-key: %s\r\nContent-Length: 8\r\n\r\nhalf", c.target, placeholder)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusAccepted {
			t.Fatalf("%s: %v, %v", name, response, err)
		}
		io.WriteString(conn, "half")
		if body, err := io.ReadAll(response.Body); string(body) != "8 <nil>" || err != nil {
			t.Errorf("%s: %q, %v; want an answer that has seen all 8 bytes", name, body, err)
		}
	}
}

func TestKeyProxyFailures(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	selfSigned, _ := url.Parse(s.URL)
	down, _ := url.Parse("http://127.0.0.1:" + fmt.Sprint(freePort(t)))
	for name, u := range map[string]*url.URL{"a certificate nobody signed": selfSigned, "nothing there": down} {
		d := keyProxy(t, egress.KeyProxyOptions{Upstream: u}, nil)
		status, body, _ := askKeyProxy(t, d, "GET", "/", map[string]string{"x-api-key": placeholder})
		if status != http.StatusBadGateway || !strings.Contains(body, "does not answer") || strings.Contains(body, realKey) {
			t.Errorf("%s: %d %q, want 502", name, status, body)
		}
	}
	unreadable := keyProxy(t, egress.KeyProxyOptions{Upstream: down, Proxy: egress.Environment(environment(map[string]string{"HTTP_PROXY": "http://user:hunter22@[::1"}))}, nil)
	if status, body, _ := askKeyProxy(t, unreadable, "GET", "/", map[string]string{"x-api-key": placeholder}); status != http.StatusBadGateway || strings.Contains(body, "hunter22") {
		t.Errorf("an unreadable proxy: %d %q", status, body)
	}
	d := keyProxy(t, egress.KeyProxyOptions{Transport: failing{}, Upstream: down}, nil)
	if _, body, _ := askKeyProxy(t, d, "GET", "/", map[string]string{"x-api-key": placeholder}); strings.Contains(body, realKey) {
		t.Errorf("an error tells the key: %q", body)
	}
}

type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("sending %v: refused", r.Header)
}

// The API is reached by HTTP/2, and through the machine's own proxy.
func TestKeyProxyTransports(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	d := keyProxy(t, egress.KeyProxyOptions{Upstream: u, Transport: transport}, nil)
	if status, body, _ := askKeyProxy(t, d, "GET", "/", map[string]string{"x-api-key": placeholder}); status != 200 || body != "HTTP/2.0" {
		t.Errorf("%d %q, want HTTP/2.0", status, body)
	}

	co := newCompany(t, echo(t))
	proxy := egress.Environment(environment(map[string]string{"HTTP_PROXY": "http://" + strings.Replace(companyLogin, " ", "%20", 1) + "@" + co.address}))
	far, _ := url.Parse("http://api.example")
	d = keyProxy(t, egress.KeyProxyOptions{Upstream: far, Proxy: proxy}, nil)
	if status, body, _ := askKeyProxy(t, d, "GET", "/v1", map[string]string{"x-api-key": placeholder}); status != 200 || body != "from" {
		t.Errorf("through the machine's proxy: %d %q", status, body)
	}
}

func TestKeyProxyCloses(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	asked := make(chan struct{})
	s := listen(t, func(net.Conn) { asked <- struct{}{}; <-hang })
	u, _ := url.Parse("http://" + s)
	d := keyProxy(t, egress.KeyProxyOptions{Upstream: u}, nil)
	c := dial(t, strings.TrimPrefix(d.URL(), "http://"))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", placeholder)
	<-asked
	d.Close()
	if _, err := io.ReadAll(c); err != nil {
		if network, ok := err.(net.Error); ok && network.Timeout() {
			t.Error("a request outlived the key proxy")
		}
	}
}

func TestKeyProxyOptions(t *testing.T) {
	t.Parallel()
	good := func() egress.KeyProxyOptions {
		u, _ := url.Parse("https://api.example.com/v1")
		return egress.KeyProxyOptions{Upstream: u, Key: secret.New(realKey), Header: "x-api-key"}
	}
	for name, change := range map[string]func(*egress.KeyProxyOptions){
		"no address":              func(o *egress.KeyProxyOptions) { o.Upstream = nil },
		"no host":                 func(o *egress.KeyProxyOptions) { o.Upstream = &url.URL{Scheme: "https"} },
		"another scheme":          func(o *egress.KeyProxyOptions) { o.Upstream.Scheme = "ftp" },
		"a user in the address":   func(o *egress.KeyProxyOptions) { o.Upstream.User = url.User("x") },
		"a query in the address":  func(o *egress.KeyProxyOptions) { o.Upstream.RawQuery = "x" },
		"no key":                  func(o *egress.KeyProxyOptions) { o.Key = secret.String{} },
		"a key of two lines":      func(o *egress.KeyProxyOptions) { o.Key = secret.New("a\r\nX: b") },
		"no field":                func(o *egress.KeyProxyOptions) { o.Header = "" },
		"a short placeholder":     func(o *egress.KeyProxyOptions) { o.Placeholder = "x" },
		"the key for placeholder": func(o *egress.KeyProxyOptions) { o.Placeholder = realKey },
	} {
		o := good()
		change(&o)
		if d, err := egress.StartKeyProxy(context.Background(), o); err == nil {
			d.Close()
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), realKey) {
			t.Errorf("%s: the error tells the key: %v", name, err)
		}
	}
}
