package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// record is what bench/latest.json holds.
type record struct {
	Started   time.Time `json:"started"`
	Seconds   int       `json:"seconds"`
	Machine   machine   `json:"machine"`
	LoadAfter string    `json:"load_after"`
	Rows      []row     `json:"rows"`
}

// row is one line of the table.
type row struct {
	What       string `json:"what"`
	Ours       value  `json:"ours"`
	Comparison string `json:"comparison,omitempty"`
	Theirs     *value `json:"theirs,omitempty"`
	// Ratio is ours by theirs, unless a row says better; 0 when one is missing.
	Ratio   float64 `json:"ratio,omitempty"`
	Target  target  `json:"to_reach"`
	Reached string  `json:"reached"` // yes, no, or empty where there is nothing to reach or nothing was measured
	Note    string  `json:"note,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// value is a number with all that it was taken from.
type value struct {
	Median  float64   `json:"median"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples,omitempty"`
}

func measured(unit string, samples []float64) value {
	return value{Median: median(samples), Unit: unit, Samples: samples}
}

func (v value) String() string {
	digits := 0
	switch {
	case v.Median < 10:
		digits = 2
	case v.Median < 100:
		digits = 1
	}
	return strconv.FormatFloat(v.Median, 'f', digits, 64) + " " + v.Unit
}

// target is what a row has to reach: a bound of our own number or of its ratio
// to the comparison. The zero target is for rows that only inform.
type target struct {
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
	Ratio   bool    `json:"ratio,omitempty"`
	Unit    string  `json:"unit,omitempty"`
}

func (t target) String() string {
	unit := t.Unit
	if t.Ratio {
		unit = "×"
	}
	switch {
	case t.AtMost > 0:
		return fmt.Sprintf("≤ %g %s", t.AtMost, unit)
	case t.AtLeast > 0:
		return fmt.Sprintf("≥ %g %s", t.AtLeast, unit)
	}
	return ""
}

// judged fills in the ratio and whether the target was reached.
func (r row) judged() row {
	if r.Ratio == 0 && r.Theirs != nil && r.Theirs.Median != 0 {
		r.Ratio = r.Ours.Median / r.Theirs.Median
	}
	got := r.Ours.Median
	if r.Target.Ratio {
		got = r.Ratio
	}
	r.Reached = ""
	switch t := r.Target; {
	case t.String() == "", got == 0:
	case t.AtMost > 0 && got <= t.AtMost, t.AtLeast > 0 && got >= t.AtLeast:
		r.Reached = "yes"
	default:
		r.Reached = "no"
	}
	return r
}

func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// inTurns takes n samples of each function, alternating which goes first.
func inTurns(n int, ours, theirs func() (float64, error)) (a, b []float64, err error) {
	take := func(samples *[]float64, f func() (float64, error)) {
		if err != nil {
			return
		}
		var v float64
		if v, err = f(); err == nil {
			*samples = append(*samples, v)
		}
	}
	for i := range n {
		if i%2 == 0 {
			take(&a, ours)
			take(&b, theirs)
		} else {
			take(&b, theirs)
			take(&a, ours)
		}
	}
	return a, b, err
}

// compare fills a row with n samples of each function, in milliseconds.
func (r row) compare(n int, ours, theirs func() (float64, error)) (row, error) {
	a, b, err := inTurns(n, ours, theirs)
	bare := measured("ms", b)
	r.Ours, r.Theirs = measured("ms", a), &bare
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// print writes the table for people. It is also good Markdown.
func (r record) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n\n", r.Machine)
	lines := [][]string{{"what", "ours", "comparison", "theirs", "ratio", "to reach", "reached"}}
	var notes []string
	for _, row := range r.Rows {
		row = row.judged()
		ours, theirs, ratio, reached, mark := row.Ours.String(), "", "", row.Reached, ""
		if row.Theirs != nil {
			theirs, ratio = row.Theirs.String(), fmt.Sprintf("%.2f ×", row.Ratio)
		}
		if reached == "no" {
			reached = "NO"
		}
		if row.Error != "" {
			ours, reached = "not measured", ""
		}
		if note := strings.TrimSpace(row.Note + " " + row.Error); note != "" {
			notes = append(notes, note)
			mark = fmt.Sprintf(" [%d]", len(notes))
		}
		lines = append(lines, []string{row.What + mark, ours, row.Comparison, theirs, ratio, row.Target.String(), reached})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprint(w, "| ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)), " ")
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprint(w, "|", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
	fmt.Fprintln(w)
	for i, note := range notes {
		fmt.Fprintf(w, "[%d] %s\n", i+1, note)
	}
	fmt.Fprintf(w, "\nTook %d s; load afterwards %s. Medians; each pair was measured in turns.\n", r.Seconds, r.LoadAfter)
}

func (r record) write(path string) error {
	for i := range r.Rows {
		r.Rows[i] = r.Rows[i].judged()
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
