// Package proposal keeps people up to date while a run goes on: by its pull request,
// which appears with the first push, and by the comment where the run came from. It
// holds up nothing: it writes beside the run, one text at a time and always the newest,
// and what fails is no failure of the run's.
package proposal

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/report"
)

const (
	// pause lies between two updates of one text: forges limit how fast content is
	// made, and people do not read faster.
	pause = 20 * time.Second
	// heartbeat is the longest time without an update while an iteration runs, and
	// the pause after one that failed.
	heartbeat = 2 * time.Minute
	// patience is how long an update that is under way may go on at the end.
	patience = 3 * time.Second
	// maxDoing bounds, in bytes, what is kept of a tool's input.
	maxDoing = 500
)

// Options are the texts to keep up to date. The functions are called beside the run,
// each by one goroutine at a time.
type Options struct {
	Mask func(string) string // takes secrets out of what others see
	// Comment writes the comment anew; nil: there is none.
	Comment func(ctx context.Context, r ralph.Report) error
	Pull    ralph.PullRequest // that is open; Number 0: none
	// Propose makes the pull request of what was pushed; nil: there is none, ever. The
	// zero PullRequest means that there is nothing to propose yet.
	Propose func(ctx context.Context, r ralph.Report, at publish.State) (ralph.PullRequest, error)
	// Update writes a pull request of ours anew.
	Update func(ctx context.Context, number int, r ralph.Report, at publish.State) error
	// Early has the pull request appear as soon as something is pushed and the run
	// goes on, not only when Propose is called.
	Early  bool
	Failed func(error) // told of the first failure only
}

// Live keeps the texts up to date, from New to End. A nil *Live does nothing.
type Live struct {
	opt Options

	writing sync.Mutex // one text of the pull request at a time
	mu      sync.Mutex // guards now
	now     status

	wake   chan struct{}
	quit   func()
	quits  <-chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
}

// status is what is known of the run.
type status struct {
	version    int               // counts what is worth an update
	report     ralph.Report      // masked
	iterations []ralph.Iteration // masked; those that ended
	running    bool              // an iteration is
	number     int               // of the iteration that runs, or ran last
	began      time.Time         // the iteration
	doing      string            // a tool or a guardrail, foreign; empty: nothing that is known
	tool       string            // its id
	since      time.Time         // it is done
	more       bool              // an iteration follows the first
	pushed     bool
	at         publish.State // of what was pushed
	files      []ralph.File  // masked; that it changes
	pull       ralph.PullRequest
	written    bool // something of it, perhaps
}

// New begins to keep the texts up to date. The updates outlive ctx.
func New(ctx context.Context, r ralph.Report, o Options) *Live {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	quits := make(chan struct{})
	l := &Live{
		opt: o, wake: make(chan struct{}, 1), quit: sync.OnceFunc(func() { close(quits) }), quits: quits, cancel: cancel, ended: make(chan struct{}),
		now: status{version: 1, report: report.Redacted(r, o.Mask), pull: o.Pull},
	}
	go l.loop(ctx)
	return l
}

// Event takes note of what the run does. r is its record, without the iterations.
func (l *Live) Event(e ralph.Event, r *ralph.Report) {
	if l == nil {
		return
	}
	var masked ralph.Report
	switch e.Kind {
	case ralph.EventIterationStart:
		masked = *r
		masked.Iterations = nil
		masked = report.Redacted(masked, l.opt.Mask)
	case ralph.EventIterationEnd:
		if e.Record != nil {
			masked = report.Redacted(ralph.Report{Iterations: []ralph.Iteration{*e.Record}}, l.opt.Mask)
		}
	case ralph.EventNext, ralph.EventCheckpoint, ralph.EventToolStart, ralph.EventToolEnd, ralph.EventGuardrailStart, ralph.EventGuardrailEnd:
	default:
		return // most of them
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := &l.now
	switch e.Kind {
	case ralph.EventIterationStart:
		now.report, now.number, now.running, now.began, now.doing = masked, e.Iteration, true, e.At, ""
		l.changed()
	case ralph.EventIterationEnd:
		now.running, now.iterations = false, append(now.iterations, masked.Iterations...)
	case ralph.EventNext:
		if !now.more {
			now.more = true
			l.changed()
		}
	case ralph.EventCheckpoint:
		now.arrived(e.Iteration, *e.Commit)
	case ralph.EventToolStart:
		now.does(e.Tool+": "+e.Text, e)
	case ralph.EventGuardrailStart:
		now.does("guardrail: "+e.Text, e)
	case ralph.EventToolEnd, ralph.EventGuardrailEnd:
		if e.ToolID == now.tool {
			now.doing = ""
		}
	}
}

func (s *status) does(what string, e ralph.Event) {
	s.doing, s.tool, s.since = strings.ToValidUTF8(what[:min(len(what), maxDoing)], ""), e.ToolID, e.At
}

// arrived notes that a commit of an iteration that ended is another one on the server.
func (s *status) arrived(iteration int, c ralph.Commit) {
	s.iterations = slices.Clone(s.iterations) // updates read the old ones
	for i := range s.iterations {
		if s.iterations[i].Number == iteration {
			s.iterations[i].Commit.SHA = c.SHA
		}
	}
}

// Pushed takes note of what is on the server, and what it changes there. It may be
// called beside Event.
func (l *Live) Pushed(at publish.State, files []ralph.File) {
	if l == nil {
		return
	}
	files = report.Redacted(ralph.Report{Publication: ralph.Publication{Files: files}}, l.opt.Mask).Publication.Files
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.now.pushed
	if l.now.at, l.now.files, l.now.pushed = at, files, true; first && l.now.more {
		l.changed()
	}
}

// changed has the texts written anew. The caller holds mu.
func (l *Live) changed() {
	l.now.version++
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// status returns what is known now, with the record to render.
func (l *Live) status() status {
	l.mu.Lock()
	s := l.now
	l.mu.Unlock()
	r := &s.report
	r.Iterations, r.Duration = slices.Clone(s.iterations), time.Since(r.Started)
	r.Now = ralph.Activity{Iteration: s.number}
	if s.running {
		r.Now.Took = time.Since(s.began)
	}
	if s.running && s.doing != "" {
		r.Now.Doing, r.Now.For = s.doing, time.Since(s.since)
		r.Now = report.Redacted(ralph.Report{Now: r.Now}, l.opt.Mask).Now
	}
	if s.pushed {
		p := &r.Publication
		p.Branch, p.Pushed, p.PullRequest, p.Files = s.at.Branch, true, s.pull, s.files
	}
	return s
}

// text is one that is kept up to date.
type text struct {
	write   func(ctx context.Context, s status) error
	due     func(s status) bool // there is something to write
	version int                 // that was written
	written time.Time
	not     time.Time // before then
}

// loop writes the texts until the end.
func (l *Live) loop(ctx context.Context) {
	defer close(l.ended)
	var texts []*text
	if l.opt.Comment != nil {
		texts = append(texts, &text{
			write: func(ctx context.Context, s status) error { return l.opt.Comment(ctx, s.report) },
			due:   func(status) bool { return true },
		})
	}
	if l.opt.Propose != nil && l.opt.Early {
		texts = append(texts, &text{
			write: func(ctx context.Context, _ status) error { _, err := l.propose(ctx); return err },
			due:   func(s status) bool { return s.pushed && s.more },
		})
	}
	failed := false
	for {
		next := heartbeat
		for _, t := range texts {
			select {
			case <-l.quits:
				return
			default:
			}
			wait, err := t.keep(ctx, l.status())
			if next = min(next, wait); err != nil && ctx.Err() == nil && !failed {
				failed = true
				l.opt.Failed(err)
			}
		}
		timer := time.NewTimer(next)
		select {
		case <-l.quits:
			timer.Stop()
			return
		case <-l.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// keep writes the text anew, if it is time to, and returns when to look again.
func (t *text) keep(ctx context.Context, s status) (time.Duration, error) {
	wait := time.Until(t.not)
	if beat := time.Until(t.written.Add(heartbeat)); t.version == s.version {
		if wait = max(wait, beat); !s.running {
			wait = heartbeat // a change wakes us
		}
	}
	switch {
	case !t.due(s):
		return heartbeat, nil
	case wait > 0:
		return wait, nil
	}
	err := t.write(ctx, s)
	t.version, t.written = s.version, time.Now()
	if t.not = t.written.Add(pause); err != nil {
		t.not = t.written.Add(heartbeat)
	}
	return pause, err
}

// Propose makes the pull request of what was pushed at once, or writes it anew.
func (l *Live) Propose(ctx context.Context, at publish.State, files []ralph.File) (ralph.PullRequest, error) {
	if l == nil || l.opt.Propose == nil {
		return ralph.PullRequest{}, nil
	}
	l.Pushed(at, files)
	return l.propose(ctx)
}

func (l *Live) propose(ctx context.Context) (ralph.PullRequest, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.status()
	if s.pull.Foreign {
		return s.pull, nil // its words are somebody else's
	}
	pull, err := s.pull, error(nil)
	if pull.Number != 0 {
		err = l.opt.Update(ctx, pull.Number, s.report, s.at)
	} else {
		pull, err = l.opt.Propose(ctx, s.report, s.at)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.written = true; err == nil {
		l.now.pull = pull
	}
	return pull, err
}

// End ends the updates: when it returns none is under way. What was not written by then
// never is. One that is under way may end by itself for a moment, as long as ctx lasts:
// cut off, it might arrive later.
func (l *Live) End(ctx context.Context) {
	if l == nil {
		return
	}
	l.quit()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-l.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.Cut()
}

// Cut is End without any patience.
func (l *Live) Cut() {
	if l == nil {
		return
	}
	l.quit()
	l.cancel()
	<-l.ended
}

// PullRequest is the one that was made or taken up; its Number is 0 if there is none
// that is known. written reports whether something of it may have been written. Call it
// after End.
func (l *Live) PullRequest() (pull ralph.PullRequest, written bool) {
	if l == nil {
		return ralph.PullRequest{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.pull, l.now.written
}
