package parallel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	maxLine = 4096 // bytes of a line of a lane that are shown

	// A lane that is asked to end has saved its work within ten seconds.
	endWithin = 15 * time.Second
	askEvery  = 200 * time.Millisecond // a request that comes before a lane is ready is none
)

// runAll runs lanes until all have ended, at most so many at a time as were asked for.
func (r *waves) runAll(ctx context.Context, w *wave, lanes []*lane) error {
	first, err := proc.Start(ctx, proc.Options{})
	if err != nil {
		return err
	}
	pool := proc.NewPool(first)
	defer func() {
		if err := errors.Join(pool.Close(), first.Close()); err != nil {
			r.Print.Warn(err.Error())
		}
	}()
	until := r.laneEnd()
	turns := make(chan struct{}, r.Lanes)
	var all sync.WaitGroup
	var working atomic.Int64
	stop := r.follow(w, func() string {
		return fmt.Sprintf("wave %d: %d of %s", w.plan.Wave, working.Load(), words.Plural(len(lanes), "lane")+map[bool]string{true: " works", false: " work"}[len(lanes) == 1])
	})
	defer stop()
	for _, l := range lanes {
		all.Go(func() {
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-ctx.Done():
				return
			}
			if err := r.prepare(ctx, w, l); err != nil {
				if ctx.Err() == nil {
					r.Print.Warn(err.Error())
				}
				return
			}
			working.Add(1)
			defer working.Add(-1)
			r.runLane(ctx, pool, w, l, until)
		})
	}
	all.Wait()
	return nil
}

// laneEnd is when lanes have to have ended, so that the integration has its time; zero: never.
func (r *waves) laneEnd() time.Time {
	if r.Limits.Until.IsZero() {
		return time.Time{}
	}
	left := time.Until(r.Limits.Until)
	return r.Limits.Until.Add(-min(10*time.Minute, left/5))
}

// runLane runs a lane to its end. The terminal's signals do not reach it: it is asked to end
// as 'ralph cancel' asks, and has the time that it needs to save its work.
func (r *waves) runLane(ctx context.Context, pool *proc.Pool, w *wave, l *lane, until time.Time) {
	project := filepath.Join(l.tree, filepath.FromSlash(r.prefix))
	ended := make(chan struct{})
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case <-ctx.Done():
			askToEnd(project, ended)
			kill()
		case <-ended:
		}
	})
	show := func(line string) { r.Print.Say(l.Name + " │ " + line) }
	aside := func(line string) { r.Print.Aside(l.Name + " │ " + line) }
	stdout, stderr := &lines{show: show}, &lines{show: aside}
	exit, err := pool.Run(running, proc.Command{
		Argv: r.argv(w, l, project, until), Dir: project, Env: r.Environ, Stdout: stdout, Stderr: stderr,
	})
	l.ran = err == nil && exit.Code != ralph.Invalid.ExitCode(false)
	close(ended)
	asking.Wait()
	stdout.end()
	stderr.end()
	switch {
	case err != nil:
		r.Print.Warn(fmt.Sprintf("Lane %s: %v", l.Name, err))
	case exit.Signal != 0:
		r.Print.Warn(fmt.Sprintf("Lane %s was killed (%v). It goes on from what it has handed over.", l.Name, exit.Signal))
	}
}

// argv is the command line of a lane.
func (r *waves) argv(w *wave, l *lane, project string, until time.Time) []string {
	argv := append([]string{
		r.Self, "tasks", "run", "--project-dir=" + project, "--ralph-dir=" + r.RalphDir, "--publish=bundle",
		"--stories=" + strings.Join(l.Stories, ","), "--lane=" + l.key, "--lanes=" + filepath.Join(w.dir, l.Name),
	}, r.Args...)
	if l.budget > 0 {
		argv = append(argv, fmt.Sprintf("--max-cost-usd=%d.%06d", l.budget/ralph.USD, l.budget%ralph.USD))
	}
	if l.iterations > 0 {
		argv = append(argv, "--max-iterations="+strconv.Itoa(l.iterations))
	}
	if !until.IsZero() {
		argv = append(argv, "--max-duration="+span(until))
	}
	return argv
}

// askToEnd asks the ralph in a directory to end until it has, but not for ever.
func askToEnd(dir string, ended <-chan struct{}) {
	limit := time.After(endWithin)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		_, _ = rundir.AskToEnd(dir) // it may not be there yet
		select {
		case <-ended:
			return
		case <-limit:
			return
		case <-tick.C:
		}
	}
}

// lines shows what a lane prints, line by line.
type lines struct {
	show func(string)
	rest []byte
}

func (w *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		w.rest = append(w.rest, line[:min(len(line), maxLine+1-len(w.rest))]...)
		if whole {
			w.end()
		}
		rest = after
	}
	return len(p), nil
}

// end shows a line that has no end.
func (w *lines) end() {
	text := strings.ToValidUTF8(string(w.rest[:min(len(w.rest), maxLine)]), "")
	if w.rest = w.rest[:0]; len(text) == maxLine {
		text += "…"
	}
	if strings.TrimSpace(text) != "" {
		w.show(text)
	}
}
