package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// An address that leads nowhere, as those of IPv6 on many a machine, does not keep a
// client from the next one.
func TestFirstAddressIsDead(t *testing.T) {
	t.Parallel()
	const dead = "2600::1"
	w := newWorld()
	w.put("a.example", dead, 8443, "")
	w.put("a.example", publicAddress, 8443, echo(t))
	list, err := hosts.ParseList([]string{"a.example:8443"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 8)
	p, err := egress.Start(t.Context(), egress.Options{Hosts: list, Lookup: w.lookup, Dial: func(c ctx, network, address string) (net.Conn, error) {
		if address == "["+dead+"]:8443" {
			<-c.Done()
			ended <- c.Err()
			return nil, c.Err()
		}
		return w.dial(c, network, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c := connect(t, p, "a.example:8443")
	if err := <-ended; !errors.Is(err, context.Canceled) { // nothing goes on behind
		t.Errorf("the dead address ended with %v, want it cancelled as soon as the other one answers", err)
	}
	fmt.Fprint(c, "x")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if !slices.Equal(w.went(), []string{publicAddress + ":8443"}) {
		t.Errorf("connections to %v", w.went())
	}
}
