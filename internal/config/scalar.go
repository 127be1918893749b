package config

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// refuse notes that v's value is wrong; format says what would be right.
func (l *loader) refuse(v value, format string, args ...any) {
	l.Report(v.Where, "%s is not allowed: %s", l.Quote(strings.TrimSpace(v.Text)), fmt.Sprintf(format, args...))
}

// tooLong checks what holds for every text: its length, and that it is text.
func (l *loader) tooLong(v value) bool {
	size, unit, limit := len(v.Text), "bytes", int64(64<<10)
	switch v.in.Kind {
	case Text:
		limit = v.in.Max
	case Line, Identity:
		size, unit, limit = utf8.RuneCountInString(v.Text), "characters", v.in.Max
	case Words:
		limit = 1 << 20 // an argument may be a prompt
	case Secret:
		return false // it has a check of its own
	}
	if int64(size) > limit {
		l.Report(v.Where, "%d %s are too many: at most %d", size, unit, limit)
		return true
	}
	if !utf8.ValidString(v.Text) || strings.ContainsRune(v.Text, 0) {
		l.Report(v.Where, "is binary: give UTF-8 text without NUL bytes")
		return true
	}
	return false
}

func (l *loader) text(v value) string { return v.Text }

// choice is one of the input's values, in the table's spelling.
func (l *loader) choice(v value) string {
	s := strings.TrimSpace(v.Text)
	for _, e := range v.in.Enum {
		if strings.EqualFold(s, e) {
			return e
		}
	}
	l.refuse(v, "give %s%s", problem.OrList(v.in.Enum), l.DidYouMean(s, v.in.Enum))
	return ""
}

// secret wraps a token. Its value is never shown, not even when it is wrong.
func (l *loader) secret(v value) secret.String {
	s := strings.TrimSpace(v.Text)
	for _, r := range s {
		if r <= ' ' || r > '~' {
			l.Report(v.Where, "the token holds white space or characters no token has: was it pasted with something else?")
			return secret.String{}
		}
	}
	if len(s) > 4096 {
		l.Report(v.Where, "%d bytes are too long for a token: at most 4096", len(s))
		return secret.String{}
	}
	return secret.New(s)
}

// scalar reads a value within the bounds of its input.
func scalar[T any](l *loader, v value, read func(Input, string) (T, string)) T {
	n, want := read(v.in, strings.TrimSpace(v.Text))
	if want != "" {
		l.refuse(v, "%s", want)
	}
	return n
}

func (l *loader) count(v value) int64            { return scalar(l, v, Input.Count) }
func (l *loader) dollars(v value) ralph.MicroUSD { return scalar(l, v, Input.Dollars) }
func (l *loader) duration(v value) time.Duration { return scalar(l, v, Input.Duration) }
func (l *loader) size(v value) int64             { return scalar(l, v, Input.Size) }
func (l *loader) boolean(v value) bool           { return scalar(l, v, Input.Bool) }
func (l *loader) line(v value) string            { return scalar(l, v, Input.Line) }
func (l *loader) model(v value) string           { return scalar(l, v, Input.Model) }
func (l *loader) token(v value) string           { return scalar(l, v, Input.Token) }
func (l *loader) slashCommand(v value) string    { return scalar(l, v, Input.SlashCommand) }
func (l *loader) word(v value) string            { return scalar(l, v, Input.Word) }
func (l *loader) version(v value) string         { return scalar(l, v, Input.Version) }
func (l *loader) repository(v value) string      { return scalar(l, v, Input.Repository) }
