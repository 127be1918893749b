package fakegithub

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// LogServer is where logs lie: another host than the forge, as GitHub's are in a
// store that takes signed addresses.
type LogServer struct {
	server *httptest.Server

	mu     sync.Mutex
	logs   map[string]string
	tokens []string
	asked  int
}

func newLogServer() *LogServer {
	l := &LogServer{logs: map[string]string{}}
	l.server = httptest.NewServer(l)
	return l
}

func (l *LogServer) add(id int64, text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := fmt.Sprintf("/logs/%d.txt", id)
	l.logs[path] = text
	return l.server.URL + path + "?sig=x"
}

// ServeHTTP serves one log.
func (l *LogServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.asked++
	if have := r.Header.Get("Authorization"); have != "" {
		l.tokens = append(l.tokens, have)
	}
	text, ok := l.logs[r.URL.Path]
	l.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = strings.NewReader(text).WriteTo(w) // a client that went away cannot be told
}

// Logs says how many logs were fetched, and the Authorization headers that came
// along, of which there must be none.
func (f *Forge) Logs() (fetched int, tokens []string) {
	f.logs.mu.Lock()
	defer f.logs.mu.Unlock()
	return f.logs.asked, f.logs.tokens
}
