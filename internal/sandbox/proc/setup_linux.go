package proc

import (
	"net/netip"
	"strconv"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// setup is what all children of one sandbox-init have in common, on the wire.
type setup struct {
	Walls     *confine.Walls
	Memory    int64
	FreeDisk  int64
	DiskPaths []string
	FileSize  int64
}

func (s setup) encode() ([]byte, error) {
	var e entries
	number := func(kind byte, n int64) { e.put(kind, strconv.FormatInt(n, 10)) }
	number('m', s.Memory)
	number('f', s.FreeDisk)
	number('z', s.FileSize)
	e.put('k', s.DiskPaths...)
	if w := s.Walls; w != nil {
		e.put('W', strconv.FormatBool(w.Strict))
		e.put('r', w.ReadOnly...)
		e.put('w', w.ReadWrite...)
		e.put('d', w.Devices...)
		if n := w.Network; n != nil {
			e.put('N', "")
			for _, p := range n.Proxies {
				e.put('x', p.String())
			}
			for _, p := range n.Ports {
				number('p', int64(p))
			}
			e.put('u', n.Sockets...)
		}
	}
	return e.bytes()
}

// parseSetup reads what encode wrote and refuses everything else, because a
// misread wall is no wall.
func parseSetup(data []byte) (s setup, err error) {
	err = eachEntry(data, func(kind byte, value string) (err error) {
		switch kind {
		case 'm':
			s.Memory, err = strconv.ParseInt(value, 10, 64)
		case 'f':
			s.FreeDisk, err = strconv.ParseInt(value, 10, 64)
		case 'z':
			s.FileSize, err = strconv.ParseInt(value, 10, 64)
		case 'k':
			s.DiskPaths = append(s.DiskPaths, value)
		case 'W':
			s.Walls = &confine.Walls{}
			s.Walls.Strict, err = strconv.ParseBool(value)
		default:
			if s.Walls == nil {
				return errUnknown
			}
			return parseWalls(s.Walls, kind, value)
		}
		return err
	})
	if err != nil {
		return setup{}, err
	}
	return s, nil
}

func parseWalls(w *confine.Walls, kind byte, value string) error {
	switch kind {
	case 'r':
		w.ReadOnly = append(w.ReadOnly, value)
	case 'w':
		w.ReadWrite = append(w.ReadWrite, value)
	case 'd':
		w.Devices = append(w.Devices, value)
	case 'N':
		w.Network = &confine.Network{}
	default:
		if w.Network == nil {
			return errUnknown
		}
		return parseNetwork(w.Network, kind, value)
	}
	return nil
}

func parseNetwork(n *confine.Network, kind byte, value string) error {
	switch kind {
	case 'x':
		p, err := netip.ParseAddrPort(value)
		if err != nil {
			return err
		}
		n.Proxies = append(n.Proxies, p)
	case 'p':
		port, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return err
		}
		n.Ports = append(n.Ports, uint16(port))
	case 'u':
		n.Sockets = append(n.Sockets, value)
	default:
		return errUnknown
	}
	return nil
}
