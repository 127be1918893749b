package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

const marker = "<promise>COMPLETE</promise>"

// decoded is what a decoder made of a stream.
type decoded struct {
	events   []ralph.Event
	turn     ralph.Turn
	failure  *ralph.Failure
	done     bool
	finished int // calls
}

// decodeClaude feeds a stream in pieces of size bytes; 0 is all at once.
func decodeClaude(stream string, size, exit int) decoded {
	return decodeClaudeLines(stream, size, exit, maxLine)
}

// decodeClaudeLines is decodeClaude with a bound of its own for a line.
func decodeClaudeLines(stream string, size, exit, limit int) decoded {
	var got decoded
	d := newClaudeDecoder("claude", func(e ralph.Event) { got.events = append(got.events, e) }, func() { got.finished++ })
	d.out.limit = limit
	feed(d, stream, size)
	got.turn, got.failure, got.done = d.Turn(), d.Failure(exit), d.Done()
	return got
}

func feed(d decoder, stream string, size int) {
	if size == 0 {
		size = max(1, len(stream))
	}
	for len(stream) > 0 {
		n := min(size, len(stream))
		d.Stdout([]byte(stream[:n]))
		stream = stream[n:]
	}
	d.Close()
}

// searchable is what the loop searches: the texts that are no echo, joined per
// message.
func (d decoded) searchable() []string {
	var texts []string
	var message string
	for _, e := range d.events {
		if e.Kind != ralph.EventText || e.Echo {
			continue
		}
		if len(texts) == 0 || e.Message != message {
			texts, message = append(texts, ""), e.Message
		}
		texts[len(texts)-1] += e.Text
	}
	return texts
}

func (d decoded) says(what string) bool {
	for _, text := range d.searchable() {
		if strings.Contains(text, what) {
			return true
		}
	}
	return false
}

func (d decoded) count(kind ralph.EventKind) int {
	n := 0
	for _, e := range d.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// render is the list of events, one per line, for golden files.
func (d decoded) render() string {
	names := map[ralph.EventKind]string{
		ralph.EventText: "text", ralph.EventToolStart: "start", ralph.EventToolEnd: "end",
		ralph.EventTodo: "todo", ralph.EventProgress: "progress", ralph.EventKept: "kept",
		ralph.EventUsage: "usage",
	}
	var b strings.Builder
	for _, e := range d.events {
		fmt.Fprint(&b, names[e.Kind])
		if e.Echo {
			fmt.Fprint(&b, " echo")
		}
		if e.IsError {
			fmt.Fprint(&b, " error")
		}
		for _, s := range []string{e.Message, e.ToolID, e.Tool} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		switch e.Kind {
		case ralph.EventUsage:
			for _, m := range e.Models {
				u := m.Usage
				fmt.Fprintf(&b, " %q %d+%d+%d/%d %s;", m.Model, u.Tokens.Input, u.Tokens.CacheRead, u.Tokens.CacheWrite, u.Tokens.Output, u.Cost)
			}
		case ralph.EventTodo:
			for _, t := range e.Todos {
				fmt.Fprintf(&b, " %d:%s;", t.Status, t.Text)
			}
		default:
			fmt.Fprintf(&b, " %q", e.Text)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func transcript(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "claude", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func kind(f *ralph.Failure) string {
	if f == nil {
		return "none"
	}
	return f.Kind.String()
}
