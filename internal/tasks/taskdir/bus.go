package taskdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const (
	waitType = "wait_without_restart"

	maxLook = 1 << 20  // bytes of the bus that are read at a time
	maxLine = 64 << 10 // bytes; a longer line is no message
	maxBody = 8 << 10  // bytes of a message of ours: escaped it stays below maxLine
	maxName = 200      // runes of a type or a run's name
	maxWhy  = 4000     // runes of what an agent waits for
	maxFact = 500      // runes
)

// Types of our own messages.
const (
	Info    = "INFO"
	Warning = "WARNING"
	Error   = "ERROR"
)

// Message is a line of the task's message bus.
type Message struct {
	At       time.Time // written in UTC
	Type     string    // Info, Warning, Error
	Body     string    // cut at 8 KiB
	Run      string    // the name of the run directory; empty: none
	Attempt  int       // from 1; 0: none
	ExitCode *int      // nil: none
}

// line is a Message on the bus.
type line struct {
	At       string `json:"ts"` // RFC 3339 with nanoseconds
	Type     string `json:"type"`
	Body     string `json:"body"`
	Run      string `json:"run,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// Post adds a message to the bus, in one write.
func (d *Dir) Post(m Message) error {
	text, err := json.Marshal(line{
		At: m.At.UTC().Format(time.RFC3339Nano), Type: cut(m.Type, maxName), Body: cut(m.Body, maxBody),
		Run: cut(m.Run, maxName), Attempt: m.Attempt, ExitCode: m.ExitCode,
	})
	if err == nil {
		err = d.appendLine(d.root, busName, text)
	}
	if err != nil {
		return fmt.Errorf("write to %s in task folder %s: %w", busName, d.path, atomicfile.Reason(err))
	}
	return nil
}

// Fact adds a list item to the project's message bus one level up. It is best
// effort: the error may be ignored.
func (d *Dir) Fact(at time.Time, text string) error {
	err := d.noAbove
	if err == nil {
		item := fmt.Sprintf("- %s %s: %s", at.UTC().Format(time.RFC3339), markdown(filepath.Base(d.path)), markdown(text))
		err = d.appendLine(d.above, ProjectBus, []byte(item))
	}
	if err != nil {
		return fmt.Errorf("write to %s above task folder %s: %w", ProjectBus, d.path, atomicfile.Reason(err))
	}
	return nil
}

// markdown makes one line of text that means itself in a list item.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`).Replace(oneLine(text, maxFact))
}

// appendLine adds a line, and ends one that was left open.
func (d *Dir) appendLine(in *os.Root, name string, text []byte) error {
	f, err := d.appendable(in, name)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	text = append(text, '\n')
	if last := []byte{'\n'}; info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			text = slices.Insert(text, 0, '\n')
		}
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// appendable opens a file of ours, or makes it. Anything else that has the name
// is left alone.
func (d *Dir) appendable(in *os.Root, name string) (*os.File, error) {
	f, err := openNow(in, name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err == nil {
		if err := d.own(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return regular(in, name, os.O_RDWR|os.O_APPEND)
}

// regular opens an existing regular file with one name. It does not wait for
// anybody, as a named pipe would, and it does not follow links.
func regular(in *os.Root, name string, flag int) (*os.File, error) {
	before, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s: %w", atomicfile.Kind(before.Mode()), ErrPlanted)
	}
	if st, ok := before.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return nil, fmt.Errorf("it is a second name of another file: %w", ErrPlanted)
	}
	f, err := openNow(in, name, flag)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		_ = f.Close()
		return nil, fmt.Errorf("it was replaced while it was opened: %w", ErrPlanted)
	}
	return f, nil
}

func openNow(in *os.Root, name string, flag int) (*os.File, error) {
	return in.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
}

// mark is a place on the bus: everything before it has been seen.
type mark struct {
	file   fs.FileInfo // nil: there was no bus
	offset int64
	before []byte // the last bytes before it: a new file may have the old one's number
}

const markBytes = 64

func (d *Dir) busEnd() mark {
	f, err := regular(d.root, busName, os.O_RDONLY)
	if err != nil {
		return mark{}
	}
	defer f.Close()
	return endOf(f)
}

func endOf(f *os.File) mark {
	info, err := f.Stat()
	if err != nil {
		return mark{}
	}
	m := mark{file: info, offset: info.Size()}
	m.before = make([]byte, min(markBytes, m.offset))
	n, _ := f.ReadAt(m.before, m.offset-int64(len(m.before)))
	m.before = m.before[:n]
	return m
}

// holds reports whether f still is the file that was seen up to the mark.
func (m mark) holds(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || m.file == nil || !os.SameFile(info, m.file) || info.Size() < m.offset {
		return false
	}
	before := make([]byte, len(m.before))
	_, err = f.ReadAt(before, m.offset-int64(len(before)))
	return err == nil && bytes.Equal(before, m.before)
}

// waitPosted looks through the messages after the mark, or the last of them
// where there are many, and moves the mark.
func (d *Dir) waitPosted() (body string, ok bool) {
	f, err := regular(d.root, busName, os.O_RDONLY)
	if err != nil {
		d.seen = mark{}
		return "", false
	}
	defer f.Close()
	end := endOf(f)
	var from int64
	if d.seen.holds(f) {
		from = d.seen.offset
	}
	d.seen = end
	cutShort := end.offset-from > maxLook
	if cutShort {
		from = end.offset - maxLook
	}
	data := make([]byte, max(0, end.offset-from))
	n, _ := f.ReadAt(data, from)
	data = data[:n]
	if cutShort { // in the middle of a line
		_, data, _ = bytes.Cut(data, []byte{'\n'})
	}
	return lastWait(data)
}

// lastWait finds the last message that asks to wait, and its body as one short
// line. What is no message is skipped.
func lastWait(data []byte) (body string, ok bool) {
	for text := range bytes.Lines(data) {
		if len(text) > maxLine {
			continue
		}
		var m struct {
			Type string
			Body json.RawMessage
		}
		if json.Unmarshal(text, &m) != nil || m.Type != waitType {
			continue
		}
		var s string
		_ = json.Unmarshal(m.Body, &s) // a body that is no text says nothing
		body, ok = oneLine(s, maxWhy), true
	}
	return body, ok
}
