package wire_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/wire"
)

type inner struct {
	Texts []string
	Ports []uint16
	At    []netip.AddrPort
}

type message struct {
	Inner2
	Text    string
	Yes     bool
	Number  int
	Pause   time.Duration
	Most    uint64
	Pointer *inner
	None    *inner
}

type Inner2 struct{ Embedded int64 }

func messages() []message {
	return []message{
		{},
		{Text: "a\x00b\xff", Yes: true, Number: -1, Pause: -time.Second, Most: 1<<64 - 1, Pointer: &inner{}},
		{Pointer: &inner{Texts: []string{"", "x y\n"}, Ports: []uint16{1, 65535}, At: []netip.AddrPort{netip.MustParseAddrPort("[::1]:80"), {}}}},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range messages() {
		data := wire.Encode(want)
		var got message
		if err := wire.Decode(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(Encode(%+v)) = %+v, %v", want, got, err)
		}
		for n := range data {
			if err := wire.Decode(data[:n], &message{}); err == nil {
				t.Errorf("Decode(%d of %d bytes of %+v) = nil, want an error", n, len(data), want)
			}
		}
		if err := wire.Decode(append(data, 0), &message{}); err == nil {
			t.Errorf("Decode(a byte more than %+v) = nil, want an error", want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range messages() {
		f.Add(wire.Encode(m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message
		if err := wire.Decode(data, &m); err != nil {
			return
		}
		var again message
		if err := wire.Decode(wire.Encode(m), &again); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("Decode(Encode(%+v)) = %+v, %v", m, again, err)
		}
	})
}
