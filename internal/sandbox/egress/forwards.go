package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// forward listens on the ports of tcp:// rules. Where the server is on this
// machine, clients are let to it and nothing listens.
func (p *Proxy) forward(ctx context.Context, list []hosts.Forward) error {
	for _, f := range list {
		p.ports = append(p.ports, f.Local())
		if f.Loopback() {
			continue
		}
		for _, address := range []string{"127.0.0.1", "::1"} { // what localhost stands for
			listener, err := listen(ctx, address, f.Local())
			switch {
			case address == "::1" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)):
				continue
			case errors.Is(err, syscall.EADDRINUSE):
				return fmt.Errorf("allowed-hosts: tcp://%s needs port %d of %s, where something listens already: tcp://localhost:%[2]d opens that", f.Address(), f.Local(), address)
			case err != nil:
				return fmt.Errorf("allowed-hosts: tcp://%s needs port %d of %s: %w", f.Address(), f.Local(), address, err)
			case !p.open.add(listener):
				return ctx.Err()
			}
			p.running.Go(func() { p.acceptForward(ctx, listener, target{f.Host, f.Port}) })
		}
	}
	return nil
}

func (p *Proxy) acceptForward(ctx context.Context, listener net.Listener, t target) {
	defer p.open.remove(listener)
	limited := limited{listener, p.slots, ctx.Done()}
	for {
		client, err := limited.Accept()
		if ctx.Err() != nil {
			if err == nil {
				p.slots.release()
				_ = client.Close()
			}
			return
		}
		if err != nil { // no descriptors: wait for some
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		go func() {
			defer p.slots.release()
			p.carry(ctx, client, t)
		}()
	}
}

// carry joins a connection of a client with the server behind the port.
func (p *Proxy) carry(ctx context.Context, client net.Conn, t target) {
	if !p.open.add(client) {
		return
	}
	defer p.open.remove(client)
	private, err := p.dialer.decide(t)
	var server net.Conn
	if err == nil {
		server, err = p.dialer.connect(ctx, t, private)
	}
	if err != nil {
		if reason := reasonOf(err); reason != "" {
			p.refusals.add((&url.URL{Scheme: "tcp", Host: t.String()}).String(), reason)
		}
		return
	}
	if !p.open.add(server) {
		return
	}
	defer p.open.remove(server)
	join(client, server, p.idle, func() error { return nil })
}
