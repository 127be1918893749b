// Package lane is a run that works on some stories of a list and hands them over, for another
// job to integrate: a commit for each story, in a bundle, with a result beside it. Both lie
// where the agent cannot reach them, and are uploaded as often as a story is done.
package lane

import (
	"context"
	"crypto/sha256"

	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/actions/artifact"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
)

// Options are what a lane is opened with.
type Options struct {
	Key         fanout.LaneKey
	Attempt     string // of the job; the names of artifacts have it
	Base        string // the commit at which the lane began
	Digest      string // of tasks.json there
	Stories     []string
	Unprotected string // why reviews could be forged, see ralph.TaskList
	Branch      *publish.Branch
	Dir         string            // of ours, which the agent cannot reach
	Keep        string            // a directory in which the last result is left, too; empty: none
	Service     *artifact.Service // nil: nothing is uploaded

	Author, Committer store.Identity
	// Message is the message of a story's commit; without done, of the commit of what is not.
	Message func(it ralph.Iteration, cost ralph.Cost, done bool) string
	List    func() []ralph.Story // as it stands
	Mask    func(string) string
	Warn    func(string)
	Started time.Time
}

// Lane is what is known of what will be handed over. While Send goes on, only Event may be
// called beside it.
type Lane struct {
	o Options

	mu     sync.Mutex
	result fanout.Result
	books  map[string]*book
	at     string     // the commit of the last story that is done, or the base
	cost   ralph.Cost // of the iterations that are over
	hand   ralph.Cost // of the one at hand, once it is looked at
	story  string     // that the iteration at hand is for

	sent   int   // sequence of the last result that arrived
	failed error // why the last one did not; nobody was told yet
}

// book is what the result does not say of a story.
type book struct {
	cost       ralph.Cost
	iterations int             // that are over
	said       ralph.Iteration // the last one that worked on it
	transcript hash.Hash
}

// New begins a lane, after an earlier attempt of which the result is given; nil: there is none.
func New(o Options, earlier *fanout.Result) *Lane {
	l := &Lane{o: o, books: map[string]*book{}, at: o.Base}
	l.result = fanout.Result{Version: 1, Key: o.Key.String(), Base: o.Base, Digest: o.Digest, Started: o.Started.UTC()}
	for _, id := range o.Stories {
		done := fanout.Done{ID: id}
		if earlier != nil {
			if i := slices.IndexFunc(earlier.Stories, func(d fanout.Done) bool { return d.ID == id }); i >= 0 {
				done = earlier.Stories[i]
			}
		}
		if done.Commit != "" {
			l.at = done.Commit // they stand on each other, in this order
		}
		l.books[id] = &book{cost: amount(done.Cost), iterations: done.Iterations, transcript: sha256.New()}
		_, _ = io.WriteString(l.books[id].transcript, done.Transcript)
		l.result.Stories = append(l.result.Stories, done)
	}
	if earlier != nil {
		l.result.Sequence, l.result.Started, l.cost = earlier.Sequence, earlier.Started, amount(earlier.Cost)
	}
	return l
}

// Spent is what earlier attempts of the lane cost.
func (l *Lane) Spent() ralph.MicroUSD {
	if l == nil {
		return 0
	}
	return l.cost.Amount
}

// Event takes note of what happens.
func (l *Lane) Event(e ralph.Event) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == ralph.EventIterationStart {
		l.story = e.Step.Story
	}
	done, b := l.done(l.story), l.books[l.story]
	if e.Kind == ralph.EventIterationEnd && e.Record != nil {
		l.cost, l.hand = l.cost.Add(e.Record.Usage().Cost), ralph.Cost{}
	}
	if b == nil {
		return
	}
	switch {
	case e.Kind == ralph.EventIterationStart:
		if done.Started.IsZero() {
			done.Started = e.At.UTC()
		}
	case e.Kind == ralph.EventIterationEnd && e.Record != nil:
		b.cost = b.cost.Add(e.Record.Usage().Cost)
		b.iterations++
		done.Iterations, done.Ended = b.iterations, e.At.UTC()
		done.Cost = inFile(b.cost)
	case e.Kind <= ralph.EventResult:
		fmt.Fprintf(b.transcript, "%d %q %q\n", e.Kind, e.Tool, e.Text)
	}
}

// Took makes the commits of the stories that are done since it was asked last, once a
// checkpoint of an iteration holds their work, and reports whether there is a new result.
func (l *Lane) Took(ctx context.Context, it ralph.Iteration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		l.o.Warn("What the lane hands over did not arrive, and is sent again with the next story: " + l.o.Mask(l.failed.Error()))
		l.failed = nil
	}
	l.hand = it.Usage().Cost
	l.look(it)
	more := false
	for _, story := range l.finished() {
		more = l.take(ctx, story, it) || more
	}
	if !more {
		return false
	}
	if err := l.write("", ""); err != nil {
		l.o.Warn("What the lane hands over could not be written: " + err.Error())
		return false
	}
	return true
}

// look notes how the stories stand.
func (l *Lane) look(it ralph.Iteration) {
	for _, s := range l.o.List() {
		if done := l.done(s.ID); done != nil && done.Commit == "" {
			done.State, done.Reviews, done.AtCap = s.Status, s.Reviews, s.AutoApproved
			if done.Unprotected = ""; s.Unprotected {
				done.Unprotected = l.o.Unprotected
			}
		}
	}
	done, b := l.done(it.Step.Story), l.books[it.Step.Story]
	if done == nil {
		return
	}
	if it.Step.Mode != ralph.StepReview {
		b.said = it
	}
	done.Iterations = b.iterations + 1
	done.Guardrails = nil
	for _, v := range it.Verdicts {
		done.Guardrails = append(done.Guardrails, fanout.Check{Command: l.o.Mask(v.Command), Passed: v.Passed})
	}
}

// finished are the stories that are done and have no commit, in the lane's order.
func (l *Lane) finished() []ralph.Story {
	var list []ralph.Story
	all := l.o.List()
	for _, d := range l.result.Stories {
		if i := slices.IndexFunc(all, func(s ralph.Story) bool { return s.ID == d.ID }); i >= 0 && all[i].Done && d.Commit == "" {
			list = append(list, all[i])
		}
	}
	return list
}

// take makes the commit of a story, of all that the branch gained since the last one.
func (l *Lane) take(ctx context.Context, s ralph.Story, it ralph.Iteration) bool {
	done, b := l.done(s.ID), l.books[s.ID]
	cost := b.cost
	if it.Step.Story == s.ID {
		cost = cost.Add(it.Usage().Cost)
	}
	commit, paths, err := l.commit(ctx, s, cost, true)
	if err != nil {
		done.Withheld = l.o.Mask(err.Error())
		l.o.Warn(fmt.Sprintf("Story %s is done, and is not handed over: %s", l.o.Mask(s.ID), done.Withheld))
		return false
	}
	done.Commit, done.Paths, done.Withheld, done.Ended, done.Cost = commit, paths, "", time.Now().UTC(), inFile(cost)
	l.at, l.result.Rest = commit, ""
	return true
}

// commit makes a commit of all that the branch gained since the last story.
func (l *Lane) commit(ctx context.Context, s ralph.Story, cost ralph.Cost, done bool) (commit string, paths []string, err error) {
	it := l.books[s.ID].said
	it.Step = ralph.Step{Mode: ralph.StepImplement, Story: s.ID, Title: s.Title}
	if it.Settled.Status = ""; done {
		it.Settled.Status = ralph.StoryNeedsReview
	}
	now := time.Now()
	return l.o.Branch.Squash(ctx, l.at, store.Commit{
		Author: l.o.Author.Signature(now), Committer: l.o.Committer.Signature(now), Message: l.o.Message(it, cost, done),
	})
}

// End writes the last result, with what is not done on top of what is. why is what keeps
// work of the run from being published; empty: nothing does.
func (l *Lane) End(ctx context.Context, outcome ralph.Outcome, reason, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(ralph.Iteration{})
	rest := ralph.Story{ID: l.story}
	if d := l.done(l.story); d == nil || d.Commit != "" { // nobody works on one: what there is belongs to the next
		for _, d := range slices.Backward(l.result.Stories) {
			if d.Commit == "" {
				rest.ID = d.ID
			}
		}
	}
	for _, s := range l.o.List() {
		if done := l.done(s.ID); done != nil && done.Commit == "" && s.Done && done.Withheld == "" {
			done.Withheld = l.o.Mask(why)
		}
		if s.ID == rest.ID {
			rest = s
		}
	}
	if b := l.books[rest.ID]; b != nil {
		commit, paths, err := l.commit(ctx, rest, b.cost, false)
		var blocked *inspection.BlockedError
		switch {
		case err == nil && len(paths) > 0:
			l.result.Rest = commit
		case err != nil && !errors.As(err, &blocked): // else the run says so
			l.o.Warn("What is not done of the lane could not be kept: " + l.o.Mask(err.Error()))
		}
	}
	if err := l.write(outcome, l.o.Mask(reason)); err != nil {
		l.o.Warn("What the lane hands over could not be written: " + err.Error())
	}
}

func (l *Lane) done(id string) *fanout.Done {
	if i := slices.IndexFunc(l.result.Stories, func(d fanout.Done) bool { return d.ID == id }); i >= 0 {
		return &l.result.Stories[i]
	}
	return nil
}

// Count is how many of the lane's stories are handed over.
func (l *Lane) Count() (done, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.result.Stories {
		if d.Commit != "" {
			done++
		}
	}
	return done, len(l.result.Stories)
}

// name is the name of the artifact with the result.
func (l *Lane) name() string {
	return fmt.Sprintf("ralph-lane-%s-%s-%d", l.result.Key, l.o.Attempt, l.result.Sequence)
}

// write makes the next result, in the place of the one before.
func (l *Lane) write(outcome ralph.Outcome, reason string) error {
	before := l.name()
	l.result.Sequence++
	l.result.Outcome, l.result.Reason, l.result.Ended = string(outcome), reason, time.Now().UTC()
	l.result.Cost = inFile(l.cost.Add(l.hand))
	for i := range l.result.Stories {
		if d := &l.result.Stories[i]; !d.Started.IsZero() {
			d.Transcript = sum(l.books[d.ID].transcript)
		}
	}
	if err := l.files(); err != nil {
		l.result.Sequence--
		return err
	}
	_ = os.RemoveAll(filepath.Join(l.o.Dir, before))
	return l.keep(before)
}

// files writes bundle and result into a directory of the result's name, in one step.
func (l *Lane) files() error {
	dir := filepath.Join(l.o.Dir, l.name())
	part := dir + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o700)); err != nil {
		return err
	}
	var err error
	l.result.Bundle, l.result.RestSum = "", ""
	if l.at != l.o.Base {
		l.result.Bundle, err = l.bundle(filepath.Join(part, fanout.BundleName), l.o.Base, l.at)
	}
	if l.result.Rest != "" && err == nil {
		l.result.RestSum, err = l.bundle(filepath.Join(part, fanout.RestName), l.at, l.result.Rest)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(part, fanout.ResultName), l.result.Encode(), 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(part, dir)
}

// bundle writes a bundle and returns its digest.
func (l *Lane) bundle(path, base, tip string) (string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	err = l.o.Branch.Bundle(io.MultiWriter(f, digest), base, tip, l.result.Key)
	return sum(digest), errors.Join(err, f.Close())
}

// keep leaves the result in the directory that the user named, in the place of the one before.
func (l *Lane) keep(before string) error {
	if l.o.Keep == "" {
		return nil
	}
	name := l.name()
	part := filepath.Join(l.o.Keep, "."+name+".part")
	err := os.RemoveAll(part)
	if err == nil {
		err = os.CopyFS(part, os.DirFS(filepath.Join(l.o.Dir, name)))
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(l.o.Keep, name))
	}
	if err != nil {
		return err
	}
	_ = os.RemoveAll(filepath.Join(l.o.Keep, before))
	return nil
}

// Bounds of an upload.
const (
	uploadTime = 2 * time.Minute
	renames    = 3 // results that are written anew because a name is taken
)

// Send uploads the last result, unless it has arrived. What fails is tried again with the next.
func (l *Lane) Send(ctx context.Context) error {
	if l.o.Service == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, uploadTime, fmt.Errorf("no answer within %s", uploadTime))
	defer cancel()
	for n := 1; ; n++ {
		l.mu.Lock()
		name, sequence := l.name(), l.result.Sequence
		l.mu.Unlock()
		if l.sent == sequence {
			return nil
		}
		err := l.o.Service.Upload(ctx, name, filepath.Join(l.o.Dir, name))
		if err == nil {
			l.sent = sequence
			return nil
		}
		if !errors.Is(err, artifact.ErrExists) || n == renames {
			return err
		}
		l.mu.Lock() // an attempt whose answer was lost has the name
		err = l.write(ralph.Outcome(l.result.Outcome), l.result.Reason)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// SendBeside is Send beside the agent's turn: what fails is said with the next checkpoint.
func (l *Lane) SendBeside(ctx context.Context) { l.failed = l.Send(ctx) }

// Handed is the directory of the last result, and whether it arrived as an artifact, which
// has the directory's name.
func (l *Lane) Handed() (dir string, arrived bool) {
	return filepath.Join(l.o.Dir, l.name()), l.sent == l.result.Sequence && l.sent > 0
}

func amount(c fanout.Cost) ralph.Cost {
	return ralph.Cost{Amount: c.MicroUSD, Unknown: c.Unknown, Estimated: c.Estimated}
}

func inFile(c ralph.Cost) fanout.Cost {
	return fanout.Cost{MicroUSD: c.Amount, Unknown: c.Unknown, Estimated: c.Estimated}
}

// sum is the digest of what was written so far.
func sum(h hash.Hash) string {
	return hex.EncodeToString(h.Sum(nil))
}
