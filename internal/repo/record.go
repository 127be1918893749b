package repo

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
	"strings"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// recordName is the record of a run, in the git folder of its work tree.
	recordName     = "ralph-run"
	maxRecordBytes = 64 << 20
	// aliveEvery is how often the record is touched while the agent works, and
	// aliveSlack how long after the last touch the run may still have been alive.
	aliveEvery = 200 * time.Millisecond
	aliveSlack = time.Second
)

// record is what a run keeps in the workspace for the case that it is killed, so
// that the next one can tell its files from other people's.
type record struct {
	Branch string // as it was asked for, without a suffix
	Name   string // with it
	Base   string // of the pull request
	// Held are the uncommitted changes that are not the run's: those before it, and
	// what setup and guardrails made.
	Held []recordPath `json:",omitempty"`
	// Ours are the run's own changes that no commit of the workspace holds.
	Ours []recordPath `json:",omitempty"`
	// Working: the agent may have changed more since.
	Working bool `json:",omitempty"`
}

type recordPath struct {
	Path []byte // which need not be UTF-8
	Is   string // what the path holds; empty, in Held: it counts whatever it holds
}

// holds describes what is at a path.
func holds(e store.Entry) string { return e.Mode.String() + " " + e.Hash.String() }

// Killed is what a run that was killed recorded in a workspace.
type Killed struct {
	record
	last time.Time // it may have been alive until then
	held map[string]string
	ours map[string]string
}

// FindKilled reads the record of a run that was killed in a work tree; nil: none
// was. It uses no git program. Call it while no other run can work there, and
// before the owner of any file is changed, because the times of files tell what
// was changed later. An error says why a record cannot be used.
//
// Only a record that belongs to this process's user counts. An agent of another
// user cannot make one. An agent of the same user can; it gains nothing by it, for
// what it names as the run's own it could as well have changed, which publishes a
// file by the documented rules. What was changed after the record was last touched
// never counts as the run's, whatever it says, unless it has the very content that
// is recorded: nobody can set the time of a change.
func FindKilled(dir string) (*Killed, error) {
	at, err := gitdir.Locate(dir)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // Open says what is wrong with the repository
	}
	root, err := os.OpenRoot(at.Git)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	defer root.Close()
	info, err := root.Lstat(recordName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no run was killed
	}
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return nil, errors.New("it is not a file of this user's")
	}
	b, err := files.Read(root, recordName, maxRecordBytes)
	if err != nil {
		return nil, err
	}
	k := &Killed{last: earlier(info.ModTime(), files.ChangeTime(info)).Add(aliveSlack), held: map[string]string{}, ours: map[string]string{}}
	if err := json.Unmarshal(b, &k.record); err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(k.Name, k.Branch); !ok || !branchSuffix.MatchString(rest) {
		return nil, fmt.Errorf("it names the branch %q, which is not made of %q", printable.Line(k.Name, 80), printable.Line(k.Branch, 80))
	}
	for _, p := range k.Held {
		k.held[string(p.Path)] = p.Is
	}
	for _, p := range k.Ours {
		k.ours[string(p.Path)] = p.Is
	}
	return k, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// made reports whether the killed run made an uncommitted change of the work tree
// at top.
func (k *Killed) made(top *os.Root, ch store.Change) bool {
	if is, ok := k.held[ch.Path]; ok && (is == "" || is == holds(ch.New)) {
		return false
	}
	is, known := k.ours[ch.Path]
	return known && is == holds(ch.New) || (known || k.Working) && k.inItsTime(top, ch)
}

// inItsTime reports whether a change was made while the run was alive. The time of
// a removed file is that of the folder it was in.
func (k *Killed) inItsTime(top *os.Root, ch store.Change) bool {
	name := ch.Path
	for {
		info, err := top.Lstat(name)
		switch {
		case err == nil:
			return !files.ChangeTime(info).After(k.last)
		case ch.New != (store.Entry{}) || name == ".":
			return false
		}
		name = path.Dir(name)
	}
}

// recorder is the state of keeping this run's record.
type recorder struct {
	file   *os.File // the record as it is now; nil: none was written
	stop   func()   // ends the signs of life; nil: there are none
	failed bool
}

// keepRecord writes the record anew. What cannot be written is noted, once.
func (r *Repo) keepRecord(working bool) {
	if err := r.writeRecord(working); err != nil && !r.rec.failed {
		r.rec.failed = true
		r.note("the record of the run's own files could not be written; should the run be killed, the next one cannot tell them from others: %s", printable.Line(err.Error(), 200))
	}
}

func (r *Repo) writeRecord(working bool) error {
	rec := record{Branch: r.asked, Name: r.opt.Branch, Base: r.start.Base, Working: working}
	for _, name := range slices.Sorted(maps.Keys(r.line.held)) {
		rec.Held = append(rec.Held, recordPath{[]byte(name), holds(r.line.held[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(r.line.made)) {
		rec.Held = append(rec.Held, recordPath{Path: []byte(name)})
	}
	own, err := r.uncommitted()
	if err != nil {
		return err
	}
	for _, ch := range own {
		rec.Ours = append(rec.Ours, recordPath{[]byte(ch.Path), holds(ch.New)})
	}
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := files.Replace(r.tree.GitDir, recordName, bytes.NewReader(b), files.Meta{Mode: 0o600, UID: -1, GID: -1}); err != nil {
		return err
	}
	f, err := r.tree.GitDir.OpenFile(recordName, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	r.forgetRecord()
	r.rec.file = f
	return nil
}

// uncommitted are the run's own changes that no commit of the workspace holds, as
// far as the last snapshot has seen them.
func (r *Repo) uncommitted() ([]store.Change, error) {
	l := &r.line
	seen := l.lastTree
	if seen.IsZero() {
		seen = l.begun
	}
	changes, err := r.objects.Store.Diff(l.headTree, seen, nil)
	return slices.DeleteFunc(changes, func(ch store.Change) bool {
		held, ok := l.held[ch.Path]
		return l.made[ch.Path] || ok && held == ch.New
	}), err
}

// forgetRecord empties the record that was written last, under whatever name the
// agent may have kept it: an old one must not come back.
func (r *Repo) forgetRecord() {
	if f := r.rec.file; f != nil {
		_, _ = f.Truncate(0), f.Close() // it is a memory, and decides nothing here
		r.rec.file = nil
	}
}

// dropRecord removes the record: the run ends in order, or keeps none.
func (r *Repo) dropRecord() {
	r.rest()
	r.forgetRecord()
	_ = r.tree.GitDir.Remove(recordName)
}

// Work notes that the agent, or a program of its, is about to change the work tree,
// until the next Checkpoint or Push.
func (r *Repo) Work() {
	if r.rec.stop != nil {
		return
	}
	r.keepRecord(true)
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
				_ = r.tree.GitDir.Chtimes(recordName, now, now)
			}
		}
	}()
	r.rec.stop = func() { close(done); <-ended }
}

// settle ends what Work began: nothing of the agent's runs now.
func (r *Repo) settle() {
	if r.rec.stop != nil {
		r.rest()
		r.keepRecord(false)
	}
}

// rest ends the signs of life.
func (r *Repo) rest() {
	if r.rec.stop != nil {
		r.rec.stop()
		r.rec.stop = nil
	}
}
