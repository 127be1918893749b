//go:build e2e && linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Order is one script of the battery.
type Order struct {
	ID      string
	Script  string // of sh
	Env     []string
	Seconds int  // longest time; 0: 8
	Speak   bool // what it prints goes to the agent's own output, unchanged
}

// Deed is what became of one.
type Deed struct {
	ID     string
	Code   int // of the script; -1: it did not end in time
	Output string
	Millis int64
}

// battery is the agent: it runs the orders of this iteration and writes what
// became of them into the workspace. Its arguments are the file of orders, one
// list for each iteration, and words to end with in the last one.
func battery(args []string) error {
	prompt, _ := io.ReadAll(io.LimitReader(os.Stdin, 4<<20))
	iterations, err := orders(args[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(".rt", 0o755); err != nil {
		return err
	}
	done, err := filepath.Glob(".rt/results-*.jsonl")
	if err != nil {
		return err
	}
	n := len(done)
	if err := os.WriteFile(fmt.Sprintf(".rt/prompt-%d", n+1), prompt, 0o644); err != nil {
		return err
	}
	out, err := os.OpenFile(fmt.Sprintf(".rt/results-%d.jsonl", n+1), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	if n < len(iterations) {
		for _, o := range iterations[n] {
			d := o.run(n + 1)
			line, err := json.Marshal(d)
			if err != nil {
				return err
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	// Something to commit in every iteration.
	if err := os.WriteFile("work.txt", fmt.Appendf(nil, "work of iteration %d\n", n+1), 0o644); err != nil {
		return err
	}
	if rest(args, 1, "") == "quiet" {
		return nil
	}
	fmt.Println("I did some work.")
	if n+1 >= len(iterations) {
		fmt.Println(rest(args, 1, "<promise>COMPLETE</promise>"))
	}
	return nil
}

func orders(path string) (iterations [][]Order, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return iterations, json.Unmarshal(data, &iterations)
}

// last says that no orders are left.
func last(path string) bool {
	iterations, _ := orders(path)
	done, _ := filepath.Glob(".rt/results-*.jsonl")
	return len(done) >= len(iterations)
}

// maxOutput bounds what is kept of a script's output.
const maxOutput = 256 << 10

func (o Order) run(iteration int) Deed {
	limit := 8 * time.Second
	if o.Seconds > 0 {
		limit = time.Duration(o.Seconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", o.Script) //nolint:gosec // attacks are scripts
	cmd.Env = append(os.Environ(), append(o.Env, "RT=/opt/redteam/raider", fmt.Sprintf("RT_ITERATION=%d", iteration))...)
	cmd.WaitDelay = 200 * time.Millisecond
	var out bytes.Buffer
	if o.Speak {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	} else {
		limited := &limitedWriter{&out}
		cmd.Stdout, cmd.Stderr = limited, limited
	}
	began := time.Now()
	err := cmd.Run()
	d := Deed{ID: o.ID, Output: strings.ToValidUTF8(out.String(), "?"), Millis: time.Since(began).Milliseconds()}
	switch {
	case ctx.Err() != nil:
		d.Code = -1
	case errors.Is(err, exec.ErrWaitDelay): // something holds its output; the script ended well
	case err != nil:
		d.Code = 1
		if cmd.ProcessState != nil {
			d.Code = cmd.ProcessState.ExitCode()
		}
		if d.Code == 0 {
			d.Code = 1
		}
	}
	return d
}

type limitedWriter struct{ b *bytes.Buffer }

func (l *limitedWriter) Write(p []byte) (int, error) {
	if room := maxOutput - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
