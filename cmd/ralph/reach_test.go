package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// reachMain is a command of the scripts: what an agent tries on the network.
//
//	reach tcp HOST:PORT | reach udp HOST:PORT | reach unix PATH | reach get URL | reach self
//
// It ends with 1 when the address cannot be reached. get honours the proxy
// variables; self is a server and a client of the agent's own.
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
