// Package filter runs jq expressions of the user's on an agent's output, within bounds of
// time and memory.
package filter

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	maxFilter  = 64 << 10 // of the expression
	maxOutputs = 64 << 10 // of the filter for one line
)

var (
	// ErrTime is returned if an expression ran too long.
	ErrTime          = errors.New("it did not come to an end")
	errFilterMemory  = errors.New("it needs too much memory")
	errFilterOutputs = errors.New("too many outputs")
	errFilterBytes   = errors.New("too much output")
	errFilterRegex   = fmt.Errorf("more than %d KiB of text, too much for a regular expression", maxExpression>>10)
	errFilterDepth   = fmt.Errorf("an output that nests more than %d deep", maxOutputDepth)
)

// Compile compiles a jq expression; an error says what is wrong with it, and
// where. The language is that of jq 1.8 as gojq has it; there is no environment, no
// further input and no file: env and $ENV are empty, input, inputs, import and include do
// not compile.
func Compile(expr string) (*Code, error) {
	if len(expr) > maxFilter {
		return nil, fmt.Errorf("jq expression: %d bytes; at most %d are read", len(expr), maxFilter)
	}
	query, err := gojq.Parse(expr)
	if parse, ok := errors.AsType[*gojq.ParseError](err); ok {
		return nil, fmt.Errorf("jq expression, %s: %w", position(expr, parse), err)
	}
	if err != nil {
		return nil, fmt.Errorf("jq expression: %w", err)
	}
	same := func(v any, _ []any) any { return v }
	code, err := gojq.Compile(query,
		gojq.WithFunction("debug", 0, 0, same),
		gojq.WithFunction("stderr", 0, 0, same),
		gojq.WithFunction("input_filename", 0, 0, func(any, []any) any { return nil }),
	)
	if err != nil {
		return nil, fmt.Errorf("jq expression %s: %w", driver.Clip(driver.OneLine(expr), driver.MaxName), err)
	}
	return &Code{Code: code, regex: expressions.MatchString(expr)}, nil
}

// Code is a compiled expression.
type Code struct {
	*gojq.Code
	regex bool // it looks for regular expressions
}

// expressions are the functions of jq that look for all matches in a text. What
// gojq needs for that grows with the square of the text, and cannot be stopped.
var expressions = lazyregexp.New(`\b_?(match|capture|scan|splits?|sub|gsub)\b`)

// maxExpression bounds the texts of a line, in bytes, when they are looked through
// for regular expressions.
const maxExpression = 32 << 10

// textSize is how many bytes of text a value holds, counted up to the limit.
func textSize(v any, limit int) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case []any:
		for _, member := range v {
			if n += textSize(member, limit-n); n > limit {
				break
			}
		}
	case map[string]any:
		for _, member := range v {
			if n += textSize(member, limit-n); n > limit {
				break
			}
		}
	}
	return n
}

// position names the place of a parse error: line and character count from 1,
// and what stands there.
func position(expr string, err *gojq.ParseError) string {
	at := min(max(0, err.Offset-len(err.Token)), len(expr))
	for at < len(expr) && !utf8.RuneStart(expr[at]) {
		at++
	}
	before, rest := expr[:at], driver.OneLine(expr[at:])
	where := fmt.Sprintf("character %d", utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
	if line := strings.Count(before, "\n") + 1; strings.Contains(expr, "\n") {
		where = fmt.Sprintf("line %d, %s", line, where)
	}
	if rest == "" {
		return where + " (its end)"
	}
	return fmt.Sprintf("%s (%q)", where, driver.Clip(rest, 40))
}

// Program runs a compiled expression on one value after the other. Time and memory
// of each are bounded, as far as the interpreter can be interrupted: between
// its steps, not within a built-in function.
type Program struct {
	code    *Code
	Guard   guard
	Outputs int // at most, for one value
	Bytes   int // of them
}

// NewProgram runs compiled code within the usual bounds.
func NewProgram(code *Code) *Program {
	return &Program{code: code, Guard: newGuard(), Outputs: maxOutputs, Bytes: driver.MaxLine}
}

// ErrHalt is the expression's own wish to see nothing more.
var ErrHalt = errors.New("halted")

// Run appends what the expression gives for v to dst, each output as `jq -r`
// prints it, with a line end. The empty string says nothing and is left out.
// What came before an error stays. [ErrHalt] is the expression's halt.
func (j *Program) Run(dst []byte, v any) (out []byte, err error) {
	out = dst
	err = j.Each(v, func(v any) (err error) {
		out, err = j.Append(out, v, len(dst)+j.Bytes)
		return err
	})
	return out, err
}

// Each calls yield for each output, up to its first error or the expression's.
func (j *Program) Each(v any, yield func(v any) error) (err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the interpreter is a fault of this line
			err = fmt.Errorf("gojq: %v", r)
		}
	}()
	if j.code.regex && textSize(v, maxExpression) > maxExpression {
		return errFilterRegex
	}
	ctx := j.Guard.start()
	defer j.Guard.stop()
	iter := j.code.RunWithContext(ctx, v)
	for count := 0; ; count++ {
		v, ok := iter.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			return runError(ctx, err)
		}
		if count == j.Outputs {
			return errFilterOutputs
		}
		if err := yield(v); err != nil {
			return err
		}
	}
}

// Append appends an output with a line end, unless out would become longer than
// limit.
func (j *Program) Append(out []byte, v any, limit int) ([]byte, error) {
	end := len(out)
	switch s, ok := v.(string); {
	case ok && s == "":
		return out, nil
	case ok && len(s) > j.Bytes:
		return out, errFilterBytes
	case ok:
		out = append(out, s...)
	default:
		var err error
		if out, err = appendJSON(out, v, 0, limit); err != nil {
			return out[:end], err
		}
	}
	if out = append(out, '\n'); len(out) > limit {
		return out[:end], errFilterBytes
	}
	return out, nil
}

// runError tells why the interpreter stopped.
func runError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok {
		if halt.Value() == nil {
			return ErrHalt
		}
		return fmt.Errorf("%w: %s", ErrHalt, driver.OneLine(strings.TrimPrefix(halt.Error(), "halt error: ")))
	}
	return errors.New(driver.OneLine(err.Error()))
}

const (
	filterTime   = time.Second // for one line
	filterMemory = 256 << 20   // by which the heap may grow during one line
	guardTick    = 10 * time.Millisecond
	guardSample  = 100 * time.Millisecond // how old the size of the heap before a job may be
)

// guard ends what takes too long or too much memory. It looks every tick, so
// that the many short jobs cost it nothing but a timer that never fires.
type guard struct {
	Time   time.Duration
	Memory uint64

	mu      *sync.Mutex
	timer   *time.Timer
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running bool
	started time.Time
	heap    uint64    // before the job
	sampled time.Time // when heap was
}

func newGuard() guard { return guard{Time: filterTime, Memory: filterMemory, mu: &sync.Mutex{}} }

// start begins a job, which has to watch the context.
func (g *guard) start() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.ctx.Err() != nil {
		g.ctx, g.cancel = context.WithCancelCause(context.Background())
	}
	g.running, g.started = true, time.Now()
	if g.started.Sub(g.sampled) > guardSample {
		g.heap, g.sampled = heapSize(), g.started
	}
	if g.timer == nil {
		g.timer = time.AfterFunc(guardTick, g.look)
	} else {
		g.timer.Reset(guardTick)
	}
	return g.ctx
}

// stop ends a job.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	g.timer.Stop()
}

func (g *guard) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running {
		return
	}
	switch {
	case heapSize() > g.heap+g.Memory:
		g.cancel(errFilterMemory)
	case time.Since(g.started) > g.Time:
		g.cancel(ErrTime)
	default:
		g.timer.Reset(guardTick)
	}
}

// heapSize is the memory of all objects, garbage that was not collected yet
// included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

const maxOutputDepth = 1000

// appendJSON appends a value as `jq -S` prints it: members sorted, two spaces for
// each level. It gives up when dst would become longer than limit.
func appendJSON(dst []byte, v any, depth, limit int) ([]byte, error) {
	if len(dst) > limit {
		return dst, errFilterBytes
	}
	if depth > maxOutputDepth {
		return dst, errFilterDepth
	}
	var err error
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return append(dst, "[]"...), nil
		}
		dst = append(dst, '[')
		for i, item := range v {
			if dst, err = appendJSON(newLine(dst, i, depth+1), item, depth+1, limit); err != nil {
				return dst, err
			}
		}
		return append(newLine(dst, 0, depth), ']'), nil
	case map[string]any:
		if len(v) == 0 {
			return append(dst, "{}"...), nil
		}
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
			if dst, err = appendJSON(newLine(dst, i, depth+1), key, depth+1, limit); err != nil {
				return dst, err
			}
			if dst, err = appendJSON(append(dst, ": "...), v[key], depth+1, limit); err != nil {
				return dst, err
			}
		}
		return append(newLine(dst, 0, depth), '}'), nil
	case string:
		if len(v) > limit {
			return dst, errFilterBytes
		}
	}
	b, err := gojq.Marshal(v)
	return append(dst, b...), err
}

// newLine begins the line of the i-th item of a list.
func newLine(dst []byte, i, depth int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(append(dst, '\n'), strings.Repeat("  ", depth)...)
}

// Text is a string as it is and all else as JSON, at most limit bytes of it;
// nothing of null.
func Text(v any, limit int) string {
	s, ok := v.(string)
	if !ok && v != nil {
		b, err := gojq.Marshal(v)
		if err != nil {
			return ""
		}
		s = string(b)
	}
	return strings.ToValidUTF8(s[:min(len(s), limit)], "\uFFFD")
}
