package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// reachMain is a command of the scripts: what an agent tries on the network.
//
//	reach tcp HOST:PORT | reach udp HOST:PORT | reach unix PATH | reach get URL | reach self
//	reach listen FILE | reach listen-unix PATH
//
// It ends with 1 when the address cannot be reached. get honours the proxy
// variables; self is a server and a client of the agent's own; listen is a server on
// 127.0.0.1 and ::1 that writes its port to a file, listen-unix one at a path.
func reachMain() {
	if len(os.Args) != 3 && (len(os.Args) != 2 || os.Args[1] != "self") {
		fmt.Fprintln(os.Stderr, "reach: wrong arguments")
		os.Exit(2)
	}
	if err := reach(os.Args[1], os.Args[len(os.Args)-1]); err != nil {
		fmt.Println("not reached:", err)
		os.Exit(1)
	}
	fmt.Println("reached")
}

func reach(how, where string) error {
	switch how {
	case "get":
		resp, err := http.Get(where)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		fmt.Println(resp.Status, string(text))
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", resp.Status)
		}
		return nil
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		if six, err := net.Listen("tcp", "[::1]:"+port); err == nil {
			go func() { _ = serve(six) }()
		}
		if err := os.WriteFile(where+".new", []byte(port), 0o600); err != nil {
			return err
		}
		if err := os.Rename(where+".new", where); err != nil {
			return err
		}
		return serve(l)
	case "listen-unix":
		l, err := net.Listen("unix", where)
		if err != nil {
			return err
		}
		return serve(l)
	case "self":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		}()
		how, where = "tcp", l.Addr().String()
	}
	c, err := net.DialTimeout(how, where, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if how == "udp" {
		_, err = c.Write([]byte("x"))
	}
	return err
}

// serve greets whoever connects.
func serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = c.Write([]byte("x"))
		_ = c.Close()
	}
}
