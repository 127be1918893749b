package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The owner and sandbox-init talk in frames: a letter, a length of four bytes,
// and that many bytes. Descriptors travel with the first byte.
const (
	frameSetup   = 'U' // to init: what all children have in common
	frameStart   = 'S' // to init: a job, with the child's three descriptors
	frameEnd     = 'E' // to init: the grace to end the tree with
	frameOpen    = 'N' // to the owner: why there is no network wall
	frameFailed  = 'F' // to the owner: why the child could not be started
	frameRefused = 'R' // to the owner: an address, a NUL, and why it is refused
	frameLimit   = 'B' // to the owner: the Why of a tree that is being ended
	frameLeft    = 'L' // to the owner: the child exited, others are left
	frameOver    = 'O' // to the owner: the tree is gone

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

// entries are how requests are written: a letter, a value and a NUL, which no
// argument of an exec and no path can contain.
type entries struct {
	b   bytes.Buffer
	nul bool
}

var errNUL = fmt.Errorf("NUL byte in an argument, a path or the environment: %w", syscall.EINVAL)

func (e *entries) put(kind byte, values ...string) {
	for _, v := range values {
		e.nul = e.nul || strings.IndexByte(v, 0) >= 0
		e.b.WriteByte(kind)
		e.b.WriteString(v)
		e.b.WriteByte(0)
	}
}

func (e *entries) bytes() ([]byte, error) {
	if e.nul {
		return nil, errNUL
	}
	return e.b.Bytes(), nil
}

// eachEntry reads what entries wrote and refuses everything else.
func eachEntry(data []byte, f func(kind byte, value string) error) error {
	for len(data) > 0 {
		entry, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(entry) == 0 {
			return errors.New("request: cut short")
		}
		if err := f(entry[0], string(entry[1:])); err != nil {
			return fmt.Errorf("request: entry %q: %w", entry[0], err)
		}
		data = rest
	}
	return nil
}

var errUnknown = errors.New("unknown")

// request is a job on the wire.
type request struct {
	job
	MaxProcs uint64
}

func (r request) encode() ([]byte, error) {
	var e entries
	e.put('p', r.Path)
	e.put('d', r.Dir)
	e.put('g', strconv.FormatInt(int64(r.Grace), 10))
	e.put('n', strconv.FormatUint(r.MaxProcs, 10))
	e.put('l', strconv.FormatBool(r.Linger))
	e.put('f', strconv.FormatBool(r.AnyDisk))
	e.put('s', strconv.FormatBool(r.Speaks))
	e.put('j', strconv.FormatBool(r.Judges))
	e.put('a', r.Argv...)
	e.put('e', r.Env...)
	return e.bytes()
}

func parseRequest(data []byte) (r request, err error) {
	err = eachEntry(data, func(kind byte, value string) (err error) {
		switch kind {
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
		case 'f':
			r.AnyDisk, err = strconv.ParseBool(value)
		case 'j':
			r.Judges, err = strconv.ParseBool(value)
		case 's':
			r.Speaks, err = strconv.ParseBool(value)
		case 'a':
			r.Argv = append(r.Argv, value)
		case 'e':
			r.Env = append(r.Env, value)
		default:
			err = errUnknown
		}
		return err
	})
	if err != nil {
		return request{}, err
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

// parseFailed reads why a child could not be started, so that errors.Is works.
func parseFailed(body []byte) error {
	number, text, _ := strings.Cut(string(body), " ")
	if n, err := strconv.Atoi(number); err == nil && n > 0 {
		return &StartError{Errno: syscall.Errno(n), Text: text}
	}
	return errors.New(text)
}
