package egress

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// nextAddress is how long an address may take before the next one is tried as well.
const nextAddress = 300 * time.Millisecond

// race connects to the first address that answers. Each next one is tried when the
// one before failed, or after a little time (RFC 8305, 5), since the addresses of one
// family may lead nowhere on a machine.
func (w *dialer) race(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	type end struct {
		conn net.Conn
		err  error
	}
	ends := make(chan end)
	running := 0
	defer func() { // the late ones
		cancel()
		for ; running > 0; running-- {
			if late := <-ends; late.conn != nil {
				_ = late.conn.Close()
			}
		}
	}()
	var failed error
	for {
		if ctx.Err() != nil {
			addresses, failed = nil, ctx.Err()
		}
		if len(addresses) == 0 && running == 0 {
			return nil, failed
		}
		var next <-chan time.Time
		if len(addresses) > 0 {
			to := addresses[0].String()
			addresses = addresses[1:]
			running++
			go func() {
				conn, err := w.dial(ctx, "tcp", to)
				ends <- end{conn, err}
			}()
			next = time.After(nextAddress)
		}
		select {
		case <-next:
		case first := <-ends:
			running--
			if first.err == nil {
				return first.conn, nil
			}
			failed = first.err
		}
	}
}
