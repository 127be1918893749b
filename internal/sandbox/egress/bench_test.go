package egress_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

const downloadBytes = 100 << 20

// BenchmarkDownload compares 100 MB fetched without the proxy and through it, by
// CONNECT and in absolute form: as fast as the machine copies, where processors
// are all there is, and as fast as a network of 1 Gbit/s, as real downloads are.
// extra-MiB is what the process allocated per download.
func BenchmarkDownload(b *testing.B) {
	b.Run("unpaced", func(b *testing.B) { download(b, 0) })
	b.Run("1Gbit", func(b *testing.B) { download(b, 125e6) })
}

func download(b *testing.B, bytesPerSecond int) {
	server := listen(b, func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
		block := make([]byte, 256<<10)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", downloadBytes)
		began := time.Now()
		for i := range downloadBytes / len(block) {
			if bytesPerSecond > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(i*len(block)) * time.Second / time.Duration(bytesPerSecond))))
			}
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	})
	p := loopback(b, server)
	block := make([]byte, 256<<10)
	get := func(b *testing.B, open func() net.Conn, path string) {
		b.SetBytes(downloadBytes)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for b.Loop() {
			c := open()
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, server)
			total := 0
			for {
				n, err := c.Read(block)
				total += n
				if err != nil {
					break
				}
			}
			c.Close()
			if total < downloadBytes {
				b.Fatalf("%d bytes", total)
			}
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "extra-MiB")
	}
	b.Run("direct", func(b *testing.B) { get(b, func() net.Conn { return dialled(b, server) }, "/") })
	b.Run("connect", func(b *testing.B) { get(b, func() net.Conn { return connect(b, p, server) }, "/") })
	b.Run("absolute", func(b *testing.B) {
		get(b, func() net.Conn { return dialled(b, p.Address()) }, "http://"+server+"/")
	})
}

// BenchmarkRequests compares small requests, each with a connection of its own.
func BenchmarkRequests(b *testing.B) {
	server := web(b, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	p := loopback(b, server)
	run := func(b *testing.B, transport *http.Transport) {
		defer transport.CloseIdleConnections()
		hc := &http.Client{Transport: transport}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				response, err := hc.Get("http://" + server + "/")
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	b.Run("direct", func(b *testing.B) { run(b, &http.Transport{DisableKeepAlives: true}) })
	b.Run("absolute", func(b *testing.B) {
		run(b, &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address()})})
	})
	b.Run("connect", func(b *testing.B) {
		for b.Loop() {
			c := connect(b, p, server)
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			io.Copy(io.Discard, c)
			c.Close()
		}
	})
}

func dialled(b *testing.B, address string) net.Conn {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// loopback is a proxy that may reach one server of this machine.
func loopback(b *testing.B, server string) *egress.Proxy {
	b.Helper()
	list, err := hosts.ParseList([]string{server})
	if err != nil {
		b.Fatal(err)
	}
	p, err := egress.Start(b.Context(), egress.Options{Hosts: list})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	return p
}
