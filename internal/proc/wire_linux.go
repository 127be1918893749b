package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The owner and sandbox-init talk in frames: a letter, a length of four bytes,
// and that many bytes. Descriptors travel with the first byte.
const (
	frameWalls  = 'W' // to init: the sandbox.Spec of all children
	frameStart  = 'S' // to init: a job, with the child's three descriptors
	frameEnd    = 'E' // to init: the grace to end the tree with
	frameFailed = 'F' // to the owner: why the child could not be started
	frameLeft   = 'L' // to the owner: the child exited, others are left
	frameOver   = 'O' // to the owner: the tree is gone

	headerSize = 5
	maxFrame   = 64 << 20
)

type frame struct {
	kind byte
	body []byte
	fds  []int
}

func send(c *net.UnixConn, kind byte, body []byte, fds ...int) error {
	if len(body) > maxFrame {
		return fmt.Errorf("%d bytes of arguments and environment: %w", len(body), syscall.E2BIG)
	}
	msg := make([]byte, 0, headerSize+len(body))
	msg = append(msg, kind)
	msg = binary.BigEndian.AppendUint32(msg, uint32(len(body)))
	msg = append(msg, body...)
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(msg, rights, nil)
	for err == nil && n < len(msg) {
		var more int
		more, err = c.Write(msg[n:])
		n += more
	}
	return err
}

func receive(c *net.UnixConn) (frame, error) {
	var header [headerSize]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, nr, _, _, err := c.ReadMsgUnix(header[:], rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return frame{}, err
	}
	f := frame{kind: header[0], fds: descriptors(rights[:nr])}
	if _, err := io.ReadFull(c, header[n:]); err != nil {
		return f, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > maxFrame {
		return f, fmt.Errorf("frame of %d bytes", size)
	}
	f.body = make([]byte, size)
	_, err = io.ReadFull(c, f.body)
	return f, err
}

func descriptors(rights []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

// request is a job on the wire. It is written as entries of a letter, a value
// and a NUL, which no argument of an exec can contain.
type request struct {
	job
	MaxProcs uint64
}

var errNUL = fmt.Errorf("NUL byte in an argument or the environment: %w", syscall.EINVAL)

func (r request) encode() ([]byte, error) {
	var b bytes.Buffer
	nul := false
	put := func(kind byte, values ...string) {
		for _, v := range values {
			nul = nul || bytes.IndexByte([]byte(v), 0) >= 0
			b.WriteByte(kind)
			b.WriteString(v)
			b.WriteByte(0)
		}
	}
	put('p', r.Path)
	put('d', r.Dir)
	put('g', strconv.FormatInt(int64(r.Grace), 10))
	put('n', strconv.FormatUint(r.MaxProcs, 10))
	put('l', strconv.FormatBool(r.Linger))
	put('a', r.Argv...)
	put('e', r.Env...)
	if nul {
		return nil, errNUL
	}
	return b.Bytes(), nil
}

func parseRequest(data []byte) (r request, err error) {
	for len(data) > 0 {
		entry, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(entry) == 0 {
			return request{}, errors.New("request: cut short")
		}
		value := string(entry[1:])
		switch entry[0] {
		case 'p':
			r.Path = value
		case 'd':
			r.Dir = value
		case 'g':
			r.Grace, err = parseDuration(value)
		case 'n':
			r.MaxProcs, err = strconv.ParseUint(value, 10, 64)
		case 'l':
			r.Linger, err = strconv.ParseBool(value)
		case 'a':
			r.Argv = append(r.Argv, value)
		case 'e':
			r.Env = append(r.Env, value)
		default:
			err = fmt.Errorf("request: unknown entry %q", entry[0])
		}
		if err != nil {
			return request{}, err
		}
		data = rest
	}
	return r, nil
}

func parseDuration(s string) (time.Duration, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Duration(n), err
}

// encodeOver and parseOver carry how the leader ended and what the tree used.
func encodeOver(status syscall.WaitStatus, u usage) []byte {
	return fmt.Appendf(nil, "%d %d %d %d", uint32(status), u.user, u.system, u.maxRSS)
}

func parseOver(body []byte) (e event, err error) {
	e.kind = over
	_, err = fmt.Sscanf(string(body), "%d %d %d %d", &e.status, &e.usage.user, &e.usage.system, &e.usage.maxRSS)
	return e, err
}
