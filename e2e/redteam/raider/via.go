//go:build e2e && linux

package main

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// via speaks to the proxy that the environment names, byte by byte, so that it
// can say what no HTTP library would:
//
//	via connect HOST:PORT [DIRECT]      a tunnel, with a request in it
//	via get URL [HOST-HEADER [DIRECT]]  absolute form
//	via raw BYTES [DIRECT]              with \r \n and {mark} expanded, and the proxy's password added
//	via keyproxy PATH [HEADER...]           the server that ANTHROPIC_BASE_URL or OPENAI_BASE_URL names
//	via keyproxy raw BYTES                  the same, with {word} for the key that was given
//	via keyproxy hold NUMBER                so many requests there whose heads never end
//
// Where there is no proxy, DIRECT is reached instead: what the sandbox keeps out is
// there. An attack got through when the canary answered.
func via(args []string) error {
	mode, what := rest(args, 0, ""), rest(args, 1, "")
	request := "GET /" + os.Getenv("RT_ID") + " HTTP/1.1\r\nHost: %s\r\nX-RT: " + mark() + "\r\nConnection: close\r\n\r\n"
	switch mode {
	case "connect":
		c, direct, err := dialProxy(rest(args, 2, what))
		if err != nil {
			return err
		}
		defer c.Close()
		r := bufio.NewReader(c)
		if !direct {
			fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", what, what, password())
			head, err := readHead(r)
			if err != nil {
				return err
			}
			if !strings.Contains(firstLine(head), " 200") {
				return errors.New(firstLine(head))
			}
		}
		fmt.Fprintf(c, request, what)
		return wantCanary(r)
	case "get":
		u, err := url.Parse(what)
		if err != nil {
			return err
		}
		c, direct, err := dialProxy(rest(args, 3, withPort(u.Host)))
		if err != nil {
			return err
		}
		defer c.Close()
		target := what
		if direct {
			target = u.RequestURI()
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n%sX-RT: %s\r\nConnection: close\r\n\r\n", target, rest(args, 2, u.Host), password(), mark())
		return wantCanary(bufio.NewReader(c))
	case "raw":
		c, _, err := dialProxy(rest(args, 2, ""))
		if err != nil {
			return err
		}
		defer c.Close()
		const version = " HTTP/1.1\r\n"
		if _, err := io.WriteString(c, strings.ReplaceAll(expand(what), version, version+password())); err != nil {
			return err
		}
		return wantCanary(bufio.NewReader(c))
	case "sni":
		return sni(what, rest(args, 2, ""), rest(args, 3, ""))
	case "keyproxy":
		switch what {
		case "raw":
			return keyProxyRaw(rest(args, 2, ""))
		case "hold":
			return keyProxyHold(rest(args, 2, "1"))
		}
		return keyProxy(what, args[2:])
	}
	return fmt.Errorf("no way %q", mode)
}

// proxyAddress is the proxy that the environment names, or nil.
func proxyAddress() *url.URL {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if u, err := url.Parse(os.Getenv(name)); err == nil && u.Host != "" {
			return u
		}
	}
	return nil
}

// password is the field with the proxy's password, with its line end, or "".
func password() string {
	u := proxyAddress()
	if u == nil || u.User == nil {
		return ""
	}
	word, _ := u.User.Password()
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+word)) + "\r\n"
}

// dialProxy connects to the proxy, or directly where there is none.
func dialProxy(direct string) (net.Conn, bool, error) {
	if u := proxyAddress(); u != nil {
		c, err := net.DialTimeout("tcp", u.Host, 3*time.Second) //nolint:gosec // where to is the attack
		if err == nil {
			err = c.SetDeadline(time.Now().Add(5 * time.Second))
		}
		return c, false, err
	}
	if direct == "" {
		return nil, false, errors.New("there is no proxy")
	}
	fmt.Println("no proxy: reaching for", direct)
	c, err := net.DialTimeout("tcp", direct, 3*time.Second) //nolint:gosec // where to is the attack
	if err == nil {
		err = c.SetDeadline(time.Now().Add(5 * time.Second))
	}
	return c, true, err
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return net.JoinHostPort(host, "80")
	}
	return host
}

func readHead(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			return b.String(), fmt.Errorf("%q: %w", b.String(), err)
		}
		if strings.TrimSpace(line) == "" {
			return b.String(), nil
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\r\n")
	return line
}

// wantCanary reads all there is and wants the canary's word in it.
func wantCanary(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, 64<<10))
	fmt.Printf("%.300q\n", data)
	if strings.Contains(string(data), "RT-OK") {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.New(firstLine(string(data)))
}

// keyProxy asks the server that adds the provider's key.
func keyProxy(path string, headers []string) error {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"} {
		u, err := url.Parse(os.Getenv(name))
		if err != nil || u.Host == "" {
			continue
		}
		c, err := net.DialTimeout("tcp", withPort(u.Host), 3*time.Second) //nolint:gosec // where to is the attack
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		target := path
		if strings.HasPrefix(path, "/") {
			target = strings.TrimSuffix(u.Path, "/") + path
		}
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nX-RT: %s\r\n", target, mark())
		host := false
		for _, h := range headers {
			host = host || strings.HasPrefix(strings.ToLower(h), "host:")
			fmt.Fprintf(c, "%s\r\n", h)
		}
		if !host {
			fmt.Fprintf(c, "Host: %s\r\n", u.Host)
		}
		io.WriteString(c, "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}") //nolint:errcheck // the answer says it
		return wantCanary(c)
	}
	return errors.New("no base URL in the environment")
}

// expand writes what a script spelled out.
func expand(text string) string {
	word := os.Getenv("ANTHROPIC_AUTH_TOKEN")
	if word == "" {
		word = os.Getenv("ANTHROPIC_API_KEY")
	}
	return strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\0`, "\x00", `\\\\`, `\\`, "{mark}", mark(), "{run}", os.Getenv("RT_RUN"), "{word}", word).Replace(text)
}

// dialDoor connects to the server that adds the provider's key.
func dialDoor() (net.Conn, error) {
	u, err := url.Parse(os.Getenv("ANTHROPIC_BASE_URL"))
	if err != nil || u.Host == "" {
		return nil, errors.New("no base URL in the environment")
	}
	return net.DialTimeout("tcp", withPort(u.Host), 3*time.Second) //nolint:gosec // where to is the attack
}

func keyProxyRaw(text string) error {
	c, err := dialDoor()
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, expand(text)); err != nil {
		return err
	}
	return wantCanary(c)
}

// keyProxyHold begins requests and leaves them so, until it is ended.
func keyProxyHold(number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	for range n {
		c, err := dialDoor()
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, expand(`POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: {word}\r\nAuthorization: Bearer {word}\r\n`)); err != nil {
			return err
		}
	}
	fmt.Println("held", n)
	time.Sleep(150 * time.Second)
	return nil
}

// sni opens a tunnel and greets with a name of TLS that is another's.
func sni(host, name, direct string) error {
	c, isDirect, err := dialProxy(direct)
	if err != nil {
		return err
	}
	defer c.Close()
	if !isDirect {
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, host, password())
		head, err := readHead(bufio.NewReader(c))
		if err != nil {
			return err
		}
		if !strings.Contains(firstLine(head), " 200") {
			return errors.New(firstLine(head))
		}
	}
	return tls.Client(c, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}).Handshake()
}
