package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	// tailBytes is how much of a transcript's end one stop reads, and
	// parseBytes how much of it is decoded (one long line may be more), so that
	// a transcript of any length costs the same. What stands before is not seen.
	tailBytes  = 4 << 20
	parseBytes = 1 << 20

	// claude 2.1.197 writes its transcript every 100 ms.
	catchUp  = 25 * time.Millisecond
	catchUps = 12
)

// reading is what the main agent said and did in a part of its transcript.
type reading struct {
	found   bool   // the promise, in what was said since Session.Said
	calls   int    // tools called
	counted bool   // calls is the number, not just a lower bound
	partial bool   // there was more than a stop reads
	last    string // text of the last message
	end     int64  // bytes of the transcript that need not be read again
}

// entry is a line of a transcript as claude 2.1.197 writes it. One message
// with several content blocks is several lines with one message id.
type entry struct {
	Type        string  `json:"type"`
	IsSidechain bool    `json:"isSidechain"`
	Parent      *string `json:"parent_tool_use_id"`
	IsAPIError  bool    `json:"isApiErrorMessage"`
	Timestamp   string  `json:"timestamp"`
	UUID        string  `json:"uuid"`
	Message     struct {
		ID      string  `json:"id"`
		Role    string  `json:"role"`
		Model   string  `json:"model"`
		Content []block `json:"content"` // a plain string, which users' entries have, counts as none
	} `json:"message"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	ID   string `json:"id"`
}

// look reads what the transcript holds beyond earlier stops, and adds the
// CLI's own last_assistant_message: the transcript is written behind the CLI's
// back, and the final message must not be missed.
//
// Before a promise is called missing or a bypass, the transcript gets a moment to
// hold the last message: what the CLI hands over is only its last block, and what
// was called stands before it.
func (s *Session) look(in Input) (reading, error) {
	seen := size(in.TranscriptPath)
	read, err := s.transcript(in.TranscriptPath)
	if in.LastAssistantMessage == "" {
		return read, err
	}
	d := ralph.NewDetector(ralph.Completion{Kind: ralph.CompletionPromise, Token: s.PromiseToken})
	d.Write("last", in.LastAssistantMessage)
	promised := d.Found()
	for range catchUps {
		worked := s.ToolCallsThisRun+read.calls >= s.MinToolCalls
		if err != nil || (promised || read.found) && worked || strings.Contains(read.last, strings.TrimSpace(in.LastAssistantMessage)) {
			break
		}
		time.Sleep(catchUp)
		if now := size(in.TranscriptPath); now != seen {
			seen = now
			read, err = s.transcript(in.TranscriptPath)
		}
	}
	read.found = read.found || promised
	read.last = in.LastAssistantMessage
	return read, err
}

// size is that of a file, in bytes; -1 when there is none.
func size(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

func (s *Session) transcript(path string) (reading, error) {
	keep := reading{end: s.Read}
	if path == "" {
		return keep, errors.New("the hook input names none")
	}
	f, info, err := openTranscript(path)
	if err != nil {
		return keep, err
	}
	defer f.Close()
	from, worked, said := s.Read, s.Began, s.Said
	switch {
	case info.Size() < from: // begun anew: what was counted before is told by its time
		from, worked = 0, s.Said
	case from > 0 && s.Status != PromiseRejected:
		said = time.Time{} // what was not there yet was not searched, however old it is
	}
	partial := info.Size()-from > tailBytes
	if partial {
		from = info.Size() - tailBytes
	}
	tail := make([]byte, info.Size()-from)
	n, err := f.ReadAt(tail, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return keep, err
	}
	tail = tail[:n]
	if partial {
		tail = tail[bytes.IndexByte(tail, '\n')+1:]
	}
	r, whole := scan(tail, s.PromiseToken, worked, said)
	r.partial = r.partial || partial && !whole
	r.counted = !r.partial
	// A last line without its end may still be in the writing.
	r.end = from + int64(n)
	if i := bytes.LastIndexByte(tail, '\n'); i+1 < len(tail) && !json.Valid(tail[i+1:]) {
		r.end -= int64(len(tail) - i - 1)
	}
	return r, nil
}

// openTranscript opens neither a link nor something that blocks, such as a pipe.
func openTranscript(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is no regular file", printable.Clean(path, 200))
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Mentions reports whether the end of a transcript, as much of it as a stop reads,
// holds a text which nobody could foresee: the session has seen it.
func Mentions(path, text string) (bool, error) {
	f, info, err := openTranscript(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	from := max(info.Size()-tailBytes, 0)
	tail := make([]byte, info.Size()-from)
	n, err := f.ReadAt(tail, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return text != "" && bytes.Contains(tail[:n], []byte(text)), nil
}

// scan goes through lines from the last to the first until its budget is used
// up. Lines that are no JSON, and whatever the main agent did not say itself,
// are skipped. whole says that it met a line which is older than all it looks
// for: what stands before is older still.
func scan(lines []byte, token string, worked, said time.Time) (r reading, whole bool) {
	type spoken struct{ message, text string }
	var texts []spoken
	seen := map[string]bool{}
	budget, decoded := parseBytes, 0
	for len(lines) > 0 {
		start := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
		line := lines[start:]
		lines = lines[:start]
		if !bytes.Contains(line, []byte(`"assistant"`)) {
			continue
		}
		if budget -= len(line); budget < 0 && decoded > 0 {
			r.partial = !whole
			break
		}
		decoded++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || !e.own() {
			continue
		}
		at, _ := time.Parse(time.RFC3339, e.Timestamp)
		whole = whole || before(at, worked) && before(at, said)
		for _, b := range slices.Backward(e.Message.Content) {
			switch {
			case b.Type == "tool_use" && !before(at, worked) && (b.ID == "" || !seen[b.ID]):
				seen[b.ID] = true
				r.calls++
			case b.Type == "text" && !before(at, said):
				texts = append(texts, spoken{e.Message.ID, b.Text})
			}
		}
	}
	d := ralph.NewDetector(ralph.Completion{Kind: ralph.CompletionPromise, Token: token})
	var last strings.Builder
	for _, t := range slices.Backward(texts) {
		d.Write(t.message, t.text)
		if t.message == texts[0].message {
			last.WriteString(t.text)
		}
	}
	r.last = last.String()
	r.found = d.Found()
	return r, whole
}

// own reports whether the main agent's model wrote this, and not a subagent, the CLI
// or a replay.
func (e entry) own() bool {
	return e.Type == "assistant" && !e.IsSidechain && e.Parent == nil && !e.IsAPIError &&
		(e.Message.Role == "" || e.Message.Role == "assistant") && e.Message.Model != "<synthetic>"
}

// before is false where one of the times is unknown.
func before(at, since time.Time) bool { return !at.IsZero() && !since.IsZero() && at.Before(since) }
