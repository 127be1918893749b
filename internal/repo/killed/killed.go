// Package killed keeps a record of a run in the workspace for the case that the run is
// killed, so that the next one can tell its files from other people's.
package killed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/repo/branchname"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	fileName   = "ralph-run" // in the git directory of the work tree
	recordMode = 0o600       // of a regular file
	maxBytes   = 64 << 20
	// aliveEvery is how often the record is touched while the agent works, and
	// aliveSlack how long after the last touch the run may still have been alive.
	aliveEvery = 200 * time.Millisecond
	aliveSlack = time.Second
)

// Record is what a run writes down.
type Record struct {
	Branch string // as it was asked for, without a suffix
	Name   string // with it
	Base   string // of the pull request
	At     string // the commit that the run had checked out, whatever the agent made of that
	// Held are the uncommitted changes that are not the run's: those before it, and
	// what setup and guardrails made.
	Held []Path `json:",omitempty"`
	// Ours are the run's own changes that no commit of the workspace holds.
	Ours []Path `json:",omitempty"`
	// Working: the agent may have changed more since.
	Working bool `json:",omitempty"`
	// Note is the caller's (Keeping).
	Note json.RawMessage `json:",omitempty"`
}

// List sets Held and Ours.
func (rec *Record) List(held map[string]store.Entry, made map[string]bool, own []store.Change) {
	for _, name := range slices.Sorted(maps.Keys(held)) {
		rec.Held = append(rec.Held, Path{[]byte(name), held[name].String()})
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		rec.Held = append(rec.Held, Path{Path: []byte(name)})
	}
	for _, ch := range own {
		rec.Ours = append(rec.Ours, Path{[]byte(ch.Path), ch.New.String()})
	}
}

// Path is a path and its entry.
type Path struct {
	Path []byte // which need not be UTF-8
	Is   string // store.Entry as a string; empty, in Held: it counts whatever it holds
}

// Run is what a run that was killed recorded in a workspace.
type Run struct {
	Record
	text []byte
	last time.Time // it may have been alive until then
	held map[string]string
	ours map[string]string
}

// Find reads the record of a run that was killed in a work tree; it returns nil if none
// was. It runs no git. Call it while no other run can work there, and before the owner of
// any file is changed, because the times of files tell what was changed later. An error
// says why a record cannot be used.
//
// Only a record that belongs to this process's user counts. An agent of another user
// cannot make one. An agent of the same user can; it gains nothing by it, for what it
// names as the run's own it could as well have changed, which publishes a file by the
// documented rules. What was changed after the record was last touched never counts as the
// run's, unless it has the very content that is recorded: nobody can set the time of a change.
func Find(dir string) (*Run, error) {
	at, err := gitdir.Locate(dir)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // worktree.Open says what is wrong with the repository
	}
	root, err := os.OpenRoot(at.Git)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	defer root.Close()
	return FindIn(root)
}

// FindIn is Find for the copy of a record (Keeping.Sealed).
func FindIn(root *os.Root) (*Run, error) {
	info, err := root.Lstat(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no run was killed
	}
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); info.Mode() != recordMode || !ok || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return nil, errors.New("it is not a file of this user's")
	}
	b, err := files.Read(root, fileName, maxBytes)
	if err != nil {
		return nil, err
	}
	last := info.ModTime()
	if change := files.ChangeTime(info); change.Before(last) {
		last = change
	}
	run := &Run{text: b, last: last.Add(aliveSlack), held: map[string]string{}, ours: map[string]string{}}
	if err := json.Unmarshal(b, &run.Record); err != nil {
		return nil, err
	}
	if !branchname.IsMadeOf(run.Name, run.Branch) {
		return nil, fmt.Errorf("it names the branch %q, which is not made of %q", printable.Line(run.Name, 80), printable.Line(run.Branch, 80))
	}
	for _, p := range run.Held {
		run.held[string(p.Path)] = p.Is
	}
	for _, p := range run.Ours {
		run.ours[string(p.Path)] = p.Is
	}
	return run, nil
}

// Same reports whether two runs recorded the same.
func (run *Run) Same(other *Run) bool { return bytes.Equal(run.text, other.text) }

// Forget removes the copy of a record that FindIn would find.
func Forget(root *os.Root) error { return root.Remove(fileName) }

// Made reports whether the killed run made an uncommitted change of the work tree at top.
func (run *Run) Made(top *os.Root, ch store.Change) bool {
	if is, ok := run.held[ch.Path]; ok && (is == "" || is == ch.New.String()) {
		return false
	}
	is, known := run.ours[ch.Path]
	return known && is == ch.New.String() || (known || run.Working) && run.changedInTime(top, ch)
}

// changedInTime reports whether a change was made while the run was alive. The time of a
// removed file is that of the directory it was in.
func (run *Run) changedInTime(top *os.Root, ch store.Change) bool {
	name := ch.Path
	for {
		info, err := top.Lstat(name)
		switch {
		case err == nil:
			return !files.ChangeTime(info).After(run.last)
		case ch.New != (store.Entry{}) || name == ".":
			return false
		}
		name = path.Dir(name)
	}
}

// RemoveLocks removes the locks of git commands that were killed with the run.
func (run *Run) RemoveLocks(gitDir, common *os.Root) {
	remove := func(root *os.Root, names ...string) {
		for _, name := range names {
			if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && !files.ChangeTime(info).After(run.last) {
				_ = root.Remove(name) // git says what is wrong
			}
		}
	}
	remove(gitDir, "index.lock", "HEAD.lock")
	remove(common, "refs/heads/"+run.Name+".lock", "packed-refs.lock", "shallow.lock")
}

// Keeping is the caller's part in a record.
type Keeping struct {
	Note   func() []byte // makes the Note of each record; nil: there is none
	Sealed *os.Root      // a folder that the agent cannot reach, for a copy of the record; nil: there is no copy
}

// Recorder keeps the record of this run.
type Recorder struct {
	Keeping
	gitDir *os.Root
	copied bool     // Sealed has the record as it is now
	file   *os.File // the record as it is now; nil: none was written
	stop   func()   // ends the signs of life; nil: there are none
	Stays  bool     // after Remove: somebody is to go on with the run
}

// NewRecorder returns a recorder for the work tree with a git directory.
func NewRecorder(gitDir *os.Root, k Keeping) *Recorder {
	return &Recorder{Keeping: k, gitDir: gitDir}
}

// places are the folders that hold the record, the copy first.
func (r *Recorder) places() []*os.Root {
	if r.Sealed == nil {
		return []*os.Root{r.gitDir}
	}
	return []*os.Root{r.Sealed, r.gitDir}
}

// Written reports whether there is a record.
func (r *Recorder) Written() bool { return r.file != nil || r.copied }

// Write writes the record anew.
func (r *Recorder) Write(rec Record) error {
	if r.Note != nil {
		rec.Note = r.Note()
	}
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	for _, place := range r.places() {
		if err := files.Replace(place, fileName, bytes.NewReader(b), files.Meta{Mode: recordMode, UID: -1, GID: -1}); err != nil {
			return err
		}
		r.copied = r.Sealed != nil
	}
	f, err := r.gitDir.OpenFile(fileName, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	r.empty()
	r.file = f
	return nil
}

// empty empties the record that was written last, under whatever name the agent may have
// kept it: an old one must not come back.
func (r *Recorder) empty() {
	if r.file != nil {
		_, _ = r.file.Truncate(0), r.file.Close() // a failure only costs the next run time
		r.file = nil
	}
}

// Remove removes the record: the run ends in order. With Stays it does nothing.
func (r *Recorder) Remove() {
	r.Rest()
	if r.Stays {
		return
	}
	r.empty()
	for _, place := range r.places() {
		_ = place.Remove(fileName)
	}
}

// Close leaves the record where it is.
func (r *Recorder) Close() error {
	r.Rest()
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// Work touches the record regularly, until Rest is called.
func (r *Recorder) Work() {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				for _, place := range r.places() {
					_ = place.Chtimes(fileName, now, now)
				}
			}
		}
	}()
	r.stop = func() { close(done); <-ended }
}

// Working reports whether Work was called and Rest was not.
func (r *Recorder) Working() bool { return r.stop != nil }

// Rest ends what Work began.
func (r *Recorder) Rest() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}
