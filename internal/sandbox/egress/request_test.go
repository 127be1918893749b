package egress_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// recorder is a server that keeps what comes in, byte by byte, and answers each
// connection once.
func recorder(t *testing.T, answer string) (address string, got chan string) {
	got = make(chan string, 16)
	return listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		var raw bytes.Buffer
		request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(oneByOne{r}, &raw)))
		if err != nil {
			got <- "unreadable: " + err.Error()
			return
		}
		io.Copy(io.Discard, request.Body)
		got <- raw.String()
		io.WriteString(c, answer)
	}), got
}

// oneByOne keeps a reader from taking more than it needs at once.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

const closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: 5\r\nProxy-Authenticate: Basic\r\nX-End: 2\r\nContent-Length: 2\r\n\r\nok"

func TestRequestIsWrittenAnew(t *testing.T) {
	t.Parallel()
	address, got := recorder(t, closing)
	w := newWorld()
	w.put("good.example", publicAddress, 80, address)
	p := w.start(t, egress.Options{}, "good.example")
	cases := []struct {
		name, raw    string
		has, has_not []string
	}{
		{
			"the fields of one connection",
			"GET http://good.example/p?q=1 HTTP/1.1\r\nHost: good.example\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nProxy-Connection: keep-alive\r\n" +
				"Proxy-Authorization: Basic eDp5\r\nKeep-Alive: 3\r\nTE: trailers\r\nTrailer: X-T\r\nUpgrade: h2c\r\nX-Stays: 1\r\n\r\n",
			[]string{"GET /p?q=1 HTTP/1.1\r\n", "Host: good.example\r\n", "X-Stays: 1\r\n"},
			[]string{"X-Secret", "Proxy-", "Keep-Alive", "Te:", "Trailer", "Upgrade", "User-Agent", "Forwarded", "Via"},
		}, {
			"a Host field that names another host",
			"GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
			[]string{"Host: good.example\r\n"}, []string{"evil"},
		}, {
			"a Host field that is folded",
			"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nX-Fold: a\r\n b\r\n Host: evil.example\r\n\r\n",
			[]string{"X-Fold: a b Host: evil.example\r\n", "Host: good.example\r\n"}, []string{"\r\nHost: evil"},
		}, {
			"a Host field named by Connection",
			"GET http://GOOD.example.:80/ HTTP/1.1\r\nHost: x\r\nConnection: host\r\n\r\n",
			[]string{"Host: good.example\r\n"}, nil,
		}, {
			"a length and chunks",
			"POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
			[]string{"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"}, []string{"Content-Length"},
		}, {
			"a request hidden in a body",
			"POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length: 51\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: evil.ex\r\n\r\n",
			[]string{"Content-Length: 51\r\n"}, nil,
		}, {
			"a body that waits for leave",
			"POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
			[]string{"\r\n\r\nhi"}, []string{"Expect"},
		},
	}
	for _, c := range cases {
		conn := dial(t, p.Address())
		io.WriteString(conn, c.raw)
		r := bufio.NewReader(conn)
		response, err := http.ReadResponse(r, nil)
		if err == nil && response.StatusCode == http.StatusContinue {
			response, err = http.ReadResponse(r, nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != 200 || string(body) != "ok" || response.Header.Get("X-End") != "2" || response.Header.Get("Keep-Alive")+response.Header.Get("Content-Type")+response.Header.Get("Proxy-Authenticate") != "" {
			t.Errorf("%s: the answer is %d %q %v", c.name, response.StatusCode, body, response.Header)
		}
		raw := <-got
		for _, part := range c.has {
			if !strings.Contains(raw, part) {
				t.Errorf("%s: %q is not in what the server got: %q", c.name, part, raw)
			}
		}
		for _, part := range c.has_not {
			if strings.Contains(raw, part) {
				t.Errorf("%s: %q is in what the server got: %q", c.name, part, raw)
			}
		}
	}
	if list := p.Refusals(); len(list) != 0 {
		t.Errorf("Refusals() = %v, want none", list)
	}
}

// A second request on the same connection is judged as the first was.
func TestRequestsOnOneConnection(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("good.example", publicAddress, 80, web(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	p := w.start(t, egress.Options{}, "good.example")
	c := dial(t, p.Address())
	r := bufio.NewReader(c)
	for i, host := range []string{"good.example", "good.example", "evil.example"} {
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if want := map[bool]int{true: 403, false: 200}[i == 2]; response.StatusCode != want {
			t.Errorf("%s: %d %q, want %d", host, response.StatusCode, body, want)
		}
	}
}

// The answer comes piece by piece, a body of any length goes up, and one that
// ends early does not look whole.
func TestRequestStreams(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	w := newWorld()
	w.put("good.example", publicAddress, 8080, web(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
				<-next
			}
		case "/count":
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n)
		default:
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		}
	}))
	p := w.start(t, egress.Options{}, "good.example:8080")
	hc := client(p)
	response, err := hc.Get("http://good.example:8080/events")
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(response.Body)
	for i := range 3 {
		line, err := r.ReadString('\n')
		if line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("piece %d is %q, %v", i, line, err)
		}
		r.ReadString('\n')
		next <- struct{}{} // the server goes on only now
	}
	response.Body.Close()
	if response, err = hc.Post("http://good.example:8080/count", "", io.LimitReader(zeros{}, 5<<20)); err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); string(body) != fmt.Sprint(5<<20) {
		t.Errorf("%s bytes went up, want %d", body, 5<<20)
	}
	if response, err = hc.Get("http://good.example:8080/short"); err == nil {
		if body, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("a body that ended early looks whole: %q", body)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A server that changes the protocol or says nothing for too long is an error of
// the server's.
func TestRequestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("upgrade.example", publicAddress, 80, listen(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
	}))
	w.put("silent.example", "93.184.215.15", 80, listen(t, func(c net.Conn) { io.Copy(io.Discard, c) }))
	w.put("huge.example", "93.184.215.16", 80, listen(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
		io.Copy(c, io.LimitReader(zeros{}, 4<<20))
	}))
	p := w.start(t, egress.Options{Idle: 300 * time.Millisecond}, "*.example")
	for _, host := range []string{"upgrade.example", "silent.example", "huge.example"} {
		status, body := ask(t, p.Address(), "GET http://"+host+"/ HTTP/1.1\r\nHost: "+host+"\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		if status != http.StatusBadGateway {
			t.Errorf("%s: %d %q, want 502", host, status, body)
		}
	}
}
