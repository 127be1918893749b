package logs

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/report/words"
)

// Repeats remembers what the log has shown, so that it need not show it again. The
// zero value has shown nothing. It may be used by many goroutines.
type Repeats struct {
	mu       sync.Mutex
	place    string // where the run is
	seed     maphash.Seed
	outputs  int
	lines    map[uint64]firstShown // each with the line before it
	whole    map[uint64]string     // outputs, and where each was shown
	messages map[uint64]string     // of the agent, and where
}

// firstShown is where and in which output a line was shown.
type firstShown struct {
	place  string
	output int
}

const (
	// rememberedLines bounds what is known of outputs, and rememberedMessages of the
	// agent's words: what lies beyond is shown each time.
	rememberedLines, rememberedMessages = 20_000, 4096
	// A hidden part is followed by a few lines of it: those that lead to a new one,
	// or those that end the output.
	leadingLines, endingLines = 2, 5
)

// What differs from run to run where an output says the same: durations, times of
// day, dates, addresses, ports; files in a folder for temporary ones.
var (
	varyingNumber = lazyregexp.New(`^(?:\d+(?:[.,]\d+)?\s?(?:ns|[µu]s|ms|s|secs?|seconds?|m|min|minutes?|h)\b` +
		`|\d{4}-\d\d-\d\d(?:T|\b)|\d\d?:\d\d:\d\d(?:[.,]\d+)?|0x[0-9a-fA-F]+|127\.0\.0\.1:\d+)`)
	temporaryFile = lazyregexp.New(`(?:/tmp|/var/folders)/[^\s:'"()]+`)
)

// steady is a line without what varies.
func steady(line string) string {
	if strings.Contains(line, "/tmp/") || strings.Contains(line, "/var/folders/") {
		line = temporaryFile.ReplaceAllString(line, "#")
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(line, "0123456789")
		if i < 0 {
			break
		}
		b.WriteString(line[:i])
		before := b.String()
		line = line[i:]
		end := len(line) - len(strings.TrimLeft(line, "0123456789."))
		number := line[:end]
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsLetter(last) || last == '_' {
			// a part of a name
		} else if found := varyingNumber.FindString(line); found != "" {
			number, end = "#", len(found)
		} else if strings.HasSuffix(before, "duration_ms ") || strings.HasSuffix(before, "duration_ms: ") || strings.HasSuffix(before, "localhost:") {
			number = "#"
		}
		b.WriteString(number)
		line = line[end:]
	}
	b.WriteString(line)
	return strings.TrimRight(b.String(), " \t")
}

// Begin notes that the run is in an iteration; before, it is in the baseline.
func (r *Repeats) Begin(iteration int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place = fmt.Sprintf("iteration %d", iteration)
}

// ready makes what the zero value lacks. Callers hold mu.
func (r *Repeats) ready() {
	if r.lines == nil {
		r.seed, r.lines, r.whole, r.messages = maphash.MakeSeed(), map[uint64]firstShown{}, map[uint64]string{}, map[uint64]string{}
	}
}

// message says where a message of the agent was shown before, for a sentence; empty
// when it was not, or is too short for that to matter.
func (r *Repeats) message(text string) string {
	if r == nil || strings.Count(text, "\n") < 2 && len(text) < 200 {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready()
	key := maphash.String(r.seed, text)
	where, before := r.messages[key]
	switch {
	case before && where == r.place:
		return "above"
	case before:
		return "in " + where
	case len(r.messages) < rememberedMessages:
		r.messages[key] = r.place
	}
	return ""
}

// Output is one output of a command. What was shown before in the same order is
// referred to, and not shown but for a few lines.
type Output struct {
	all    *Repeats
	place  string
	number int
	last   uint64   // line
	sum    uint64   // of all lines
	lines  int      // how many
	shown  bool     // some of them
	held   []string // the last of the known lines that wait
	hidden int      // how many waited before those
	places []string // where both were shown
}

// Output begins an output.
func (r *Repeats) Output() *Output {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready()
	r.outputs++
	return &Output{all: r, place: cmp.Or(r.place, "the baseline"), number: r.outputs}
}

// Line takes the next line and returns what is to be shown now: a reference to what
// was shown before, empty when there is none, and lines.
func (o *Output) Line(line string) (reference string, lines []string) {
	r := o.all
	r.mu.Lock()
	defer r.mu.Unlock()
	o.lines++
	if o.lines > rememberedLines {
		reference, lines = o.release(leadingLines)
		return reference, append(lines, line)
	}
	now := maphash.String(r.seed, steady(line))
	o.sum = o.sum*31 + now
	pair := o.last*31 + now
	o.last = now
	first, known := r.lines[pair]
	if !known && len(r.lines) < rememberedLines {
		r.lines[pair] = firstShown{o.place, o.number}
	}
	if !known || first.output == o.number {
		reference, lines = o.release(leadingLines)
		o.shown = true
		return reference, append(lines, line)
	}
	if !slices.Contains(o.places, first.place) {
		o.places = append(o.places, first.place)
	}
	if o.held = append(o.held, line); len(o.held) > endingLines+1 {
		o.held, o.hidden = o.held[1:], o.hidden+1
	}
	return "", nil
}

// End returns what is to be shown once there are no more lines.
func (o *Output) End() (reference string, lines []string) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	reference, lines = o.release(endingLines)
	switch where, same := o.all.whole[o.sum]; {
	case !same:
		o.all.whole[o.sum] = o.place
	case reference != "" && !o.shown:
		reference = fmt.Sprintf("same output as in %s (%s), which ends:", where, words.Plural(o.lines, "line"))
	}
	return reference, lines
}

// Cut is End for an output of which there is more.
func (o *Output) Cut() (reference string, lines []string) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.release(leadingLines)
}

// release lets go of the lines that wait: all of them where a reference would save
// none, else the last n.
func (o *Output) release(n int) (reference string, lines []string) {
	lines, places := o.held, o.places
	hidden := o.hidden + len(lines) - n
	o.held, o.hidden, o.places = nil, 0, nil
	if hidden <= 1 {
		return "", lines
	}
	where := "as before"
	if len(places) <= 2 {
		where = "as in " + strings.Join(places, " and ")
	}
	return words.Plural(hidden, "line") + " " + where, lines[max(0, len(lines)-n):]
}
