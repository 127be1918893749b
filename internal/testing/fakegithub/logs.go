package fakegithub

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// logServer is where logs lie: another host than the forge, as GitHub's are in a
// store that takes signed addresses.
type logServer struct {
	*httptest.Server

	mu     sync.Mutex
	logs   map[string]string // by path
	tokens []string
	asked  int
}

func newLogServer() *logServer {
	l := &logServer{logs: map[string]string{}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked++
		if have := r.Header.Get("Authorization"); have != "" {
			l.tokens = append(l.tokens, have)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, l.logs[r.URL.Path]) // a client that went away cannot be told
	}))
	return l
}

// add keeps the log of a job and returns its address.
func (l *logServer) add(id int64, text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := fmt.Sprintf("/logs/%d.txt", id)
	l.logs[path] = text
	return l.URL + path + "?sig=x"
}

// Logs says how many logs were fetched, and the Authorization headers that came
// along, of which there must be none.
func (f *Forge) Logs() (fetched int, tokens []string) {
	f.logs.mu.Lock()
	defer f.logs.mu.Unlock()
	return f.logs.asked, f.logs.tokens
}
