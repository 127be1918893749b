package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Environment reads the machine's own proxy from HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY, or their lower-case forms, for [Options.Upstream]. nil when neither
// proxy is set. get gives a variable's value or "".
func Environment(get func(string) string) func(*url.URL) (*url.URL, error) {
	either := func(upper, lower string) string {
		if value := get(upper); value != "" {
			return value
		}
		return get(lower)
	}
	config := httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY", "http_proxy"), HTTPSProxy: either("HTTPS_PROXY", "https_proxy"), NoProxy: either("NO_PROXY", "no_proxy"),
	}
	if config.HTTPProxy == "" && config.HTTPSProxy == "" {
		return nil
	}
	return config.ProxyFunc()
}

// chain opens a tunnel to a target through the machine's own proxy. The errors
// have nothing of its user and password.
func (w *dialer) chain(ctx context.Context, proxy *url.URL, t target) (net.Conn, error) {
	port := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	if port == "" || proxy.Hostname() == "" {
		return nil, fmt.Errorf("the machine's own proxy is of the kind %q; http and https are supported", clean(proxy.Scheme))
	}
	if proxy.Port() != "" {
		port = proxy.Port()
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := w.dial(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("the machine's own proxy: %w", reword(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
	}
	if err := askProxy(conn, proxy.User, t); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if !stop() {
		_ = conn.Close()
		return nil, errors.New("connecting took too long")
	}
	return conn, nil
}

// askProxy sends CONNECT and reads the answer's head, not a byte more.
func askProxy(conn net.Conn, user *url.Userinfo, t target) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", t, t)
	if user != nil {
		password, _ := user.Password()
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	b.WriteString("\r\n")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return fmt.Errorf("the machine's own proxy: %w", reword(err))
	}
	const most = 16 << 10
	head := make([]byte, 0, 512)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if len(head) == most {
			return errors.New("the machine's own proxy: its answer has no end")
		}
		head = append(head, 0)
		if _, err := conn.Read(head[len(head)-1:]); err != nil {
			return fmt.Errorf("the machine's own proxy: %w", reword(err))
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return errors.New("the machine's own proxy: it does not answer in HTTP")
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the machine's own proxy answers %d to CONNECT %s", response.StatusCode, t)
	}
	return nil
}
