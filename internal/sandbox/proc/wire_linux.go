package proc

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// The parent and sandbox-init talk in frames: a letter, a length of four bytes,
// and that many bytes. Descriptors travel with the first byte.
const (
	frameSetup   = 'U' // to init: what all children have in common
	frameStart   = 'S' // to init: a job, with the child's three descriptors
	frameEnd     = 'E' // to init: the grace to end the tree with
	frameOpen    = 'N' // to the parent: why there is no network restriction
	frameFailed  = 'F' // to the parent: why the child could not be started
	frameRefused = 'R' // to the parent: an address, a NUL, and why it is refused
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

// setup is what all children of one sandbox-init have in common.
type setup struct {
	Policy    *confine.Policy
	Memory    int64
	FreeDisk  int64
	DiskPaths []string
	FileSize  int64
}

// encode writes a setup. Both ends are the same program, and gob keeps the bytes of
// strings that are no UTF-8.
func (s setup) encode() ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(s)
	return b.Bytes(), err
}

// decodeSetup reads what encode wrote, and nothing else.
func decodeSetup(data []byte) (s setup, err error) {
	r := bytes.NewReader(data)
	if err := gob.NewDecoder(r).Decode(&s); err != nil {
		return s, fmt.Errorf("request: %w", err)
	}
	if r.Len() > 0 {
		return s, errors.New("request: more than one")
	}
	return s, nil
}

// jobNumbers is the first of a job's strings; the others are Path, Dir, Argv and Env.
// Each ends with a NUL.
const jobNumbers = "%d %d %d %d %t %t %t %t"

// encode writes a job, without gob, which costs more than all else that is done for a
// child here. It fails for a string that no exec takes as it is: one with a NUL byte.
func (j job) encode() ([]byte, error) {
	list := slices.Concat([]string{
		fmt.Sprintf(jobNumbers, len(j.Argv), len(j.Env), int64(j.Grace), j.MaxProcs, j.Linger, j.AnyDisk, j.Speaks, j.Judges), j.Path, j.Dir,
	}, j.Argv, j.Env)
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, fmt.Errorf("NUL byte in an argument, a path or the environment: %w", syscall.EINVAL)
		}
	}
	return []byte(strings.Join(list, "\x00") + "\x00"), nil
}

// decodeJob reads what encode wrote, and nothing else.
func decodeJob(data []byte) (j job, err error) {
	text, whole := strings.CutSuffix(string(data), "\x00")
	list := strings.Split(text, "\x00")
	var argc, envc int
	_, err = fmt.Sscanf(list[0], jobNumbers, &argc, &envc, (*int64)(&j.Grace), &j.MaxProcs, &j.Linger, &j.AnyDisk, &j.Speaks, &j.Judges)
	if err != nil || !whole || argc < 0 || envc < 0 || len(list) != 3+argc+envc {
		return job{}, errors.New("request: no job")
	}
	j.Path, j.Dir = list[1], list[2]
	j.Argv, j.Env = list[3:3+argc], list[3+argc:]
	return j, nil
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
