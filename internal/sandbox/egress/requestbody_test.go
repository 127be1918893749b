package egress_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// fickle is a server of HTTP/2 that takes nothing of the first question of all, as it
// says when it has read it, and answers each other one with its length.
func fickle(t *testing.T, certificate tls.Certificate, goAway bool, asked *atomic.Int32) string {
	return listen(t, func(raw net.Conn) {
		c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(c, c)
		f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 16 << 20})
		f.WriteWindowUpdate(0, 16<<20)
		length := 0
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					f.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				length = 0
			case *http2.DataFrame:
				length += len(frame.Data())
			}
			if data, ok := frame.(*http2.DataFrame); !ok || !data.StreamEnded() {
				continue
			}
			id := frame.Header().StreamID
			if asked.Add(1) == 1 {
				if goAway {
					f.WriteGoAway(0, http2.ErrCodeNo, nil)
					return
				}
				f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
				continue
			}
			var head bytes.Buffer
			hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true})
			f.WriteData(id, true, []byte(strconv.Itoa(length)))
		}
	})
}

// What a server took nothing of is asked again, with all of it; the client sees one answer.
func TestKeyProxyAsksAgainWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	const length = 300_000
	for name, goAway := range map[string]bool{"a stream that is refused": false, "a connection that is given up": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			transport := s.Client().Transport.(*http.Transport).Clone()
			transport.ForceAttemptHTTP2 = true
			transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
			t.Cleanup(transport.CloseIdleConnections)
			u := &url.URL{Scheme: "https", Host: fickle(t, s.TLS.Certificates[0], goAway, &asked)}
			d := keyProxy(t, egress.KeyProxyOptions{Upstream: u, Transport: transport}, nil)
			for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", length)), io.LimitReader(zeros{}, length)} { // a length, and none
				asked.Store(0)
				r, _ := http.NewRequest("POST", d.URL()+"/v1/messages", body)
				r.Header.Set("x-api-key", placeholder)
				response, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK || string(answer) != strconv.Itoa(length) || err != nil || asked.Load() != 2 {
					t.Errorf("%d, %.200q, %v, asked %d times; want 200, %d and 2", response.StatusCode, answer, err, asked.Load(), length)
				}
			}
		})
	}
}
