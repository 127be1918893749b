package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

// The parent and sandbox-init talk in frames: a letter, a length of four bytes,
// and that many bytes of a value. Descriptors travel with the first byte.
const (
	frameSetup   = 'U' // to init: what all children have in common
	frameStart   = 'S' // to init: a job, with the child's three descriptors
	frameEnd     = 'E' // to init: the grace to end the tree with
	frameOpen    = 'N' // to the parent: why there is no network restriction
	frameFailed  = 'F' // to the parent: why the child could not be started
	frameRefused = 'R' // to the parent: an address, and why it is refused
	frameLimit   = 'B' // to the parent: the Why of a tree that is being ended
	frameLeft    = 'L' // to the parent: the child exited, others are left
	frameOver    = 'O' // to the parent: the tree is gone

	headerSize = 5
	maxFrame   = 64 << 20
)

type frame struct {
	kind byte
	body []byte
	fds  []int
}

func send(c *net.UnixConn, kind byte, value any, fds ...int) error {
	body := wire.Encode(value)
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

// setup is what all children of one sandbox-init have in common.
type setup struct {
	Policy    *confine.Policy
	Memory    int64
	FreeDisk  int64
	DiskPaths []string
	FileSize  int64
	// Tried: the parent, which has the same rights, has found that the network can be
	// restricted. Where that is wrong no child gets through.
	Tried bool
}

// end is a frameOver: how the leader ended, and what the tree used.
type end struct {
	Status syscall.WaitStatus
	Usage  usage
}

// refused is a frameRefused.
type refused struct{ Address, Reason string }

// failure is a frameFailed. Errno is 0 if the reason has none.
type failure struct {
	Errno int
	Text  string
}

// error is the failure as one that errors.Is works with.
func (f failure) error() error {
	if f.Errno > 0 {
		return &StartError{Errno: syscall.Errno(f.Errno), Text: f.Text}
	}
	return errors.New(f.Text)
}
