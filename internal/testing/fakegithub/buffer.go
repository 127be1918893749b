package fakegithub

import (
	"bytes"
	"net/http"
)

// buffer holds an answer back.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newBuffer() *buffer { return &buffer{header: http.Header{}} }

func (b *buffer) Header() http.Header { return b.header }

func (b *buffer) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

func (b *buffer) code() int {
	b.WriteHeader(http.StatusOK)
	return b.status
}

func (b *buffer) send(w http.ResponseWriter) {
	for name, values := range b.header {
		w.Header()[name] = values
	}
	w.WriteHeader(b.code())
	_, _ = w.Write(b.body.Bytes()) // a client that went away cannot be told
}
