// Package lastrun keeps a record of the last run in a directory, for those who ask what
// it does and for the run that goes on with it. The record lies among the user's own
// files and not in the workspace: what a sandboxed agent can write must become neither
// the command line nor the allowance of another run.
package lastrun

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/rundir"
)

const (
	maxBytes = 16 << 20               // of a record, or of a file that is identified
	maxKept  = 10_000                 // records that are looked at
	kept     = 90 * 24 * time.Hour    // how long one is, without another run
	pause    = 200 * time.Millisecond // between two writes of what changes often
	suffix   = ".json"                // of a record
)

// Run is what is known of a run. Every text in it is masked.
type Run struct {
	Version   string
	Workspace string // absolute
	Folder    string // that the run has locked: the workspace, or the task directory it supervises
	PID       int
	Command   Command
	Mode      string
	Task      string // its beginning
	Agent     string
	Started   time.Time
	Seen      time.Time // when this was written

	Log    string // session log, absolute
	Files  string // directory of the run's files, absolute; empty: it has none
	Branch string // the work's: of ralph, else the one that is checked out
	Ours   bool   // ralph commits to it
	Lanes  int    // of a parallel run, at a time; its stories become commits on the branch. 0: it is none
	Base   string // of the pull request

	Now           string // what the run does, in our words
	Tool          string // what the agent does, in its words
	Since         time.Time
	Iteration     int // the last that began; 0: none
	MaxIterations int // 0: no limit
	Done          int // iterations that ended
	Used          ralph.Usage
	Turn          ralph.Usage      // of the turn that goes on, at least
	Before        ralph.Cost       // of the runs that this one went on with
	Earlier       int              // iterations that ended in those
	Limits        map[string]int64 // by flag: as the user gave them, where this run had what those left
	Guardrails    []Guardrail      // their last results
	End           *End             // nil: the run goes on, or was killed
}

// Command is how the run was started.
type Command struct {
	Flags    map[string]string // by name
	Withheld []string          // flags that hold a secret, and are not kept
	Files    map[string]string // what was read of configuration and task, with a digest
}

// Guardrail is the last result of one.
type Guardrail struct {
	Command            string
	Passed             bool
	ExitCode           int
	Reason             string // see [ralph.Verdict]
	Broken, Unfinished bool
	Iteration          int // 0: before any change
	Log                string
}

// End is how a run ended in order.
type End struct {
	Outcome     ralph.Outcome
	Limit       string // input that ended it; empty: another reason
	ExitCode    int
	Headline    string
	Reason      string
	Duration    time.Duration
	Pushed      bool
	PullRequest string
	Left        []string // what is not done, not published, or lies elsewhere
}

// Dir is where the records lie, by the environment; empty when there is no home.
func Dir(getenv func(string) string) string {
	if state := getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "ralph", "runs")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "ralph", "runs")
	}
	return ""
}

// Digests identifies what files hold: paths from dir, or absolute. A file that cannot be
// read has an empty one.
func Digests(dir string, names []string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		all[name] = ""
		if data, err := read(path); err == nil {
			sum := sha256.Sum256(data)
			all[name] = hex.EncodeToString(sum[:])
		}
	}
	return all
}

// Judged keeps the last result of a guardrail.
func (run *Run) Judged(g Guardrail) {
	i := slices.IndexFunc(run.Guardrails, func(old Guardrail) bool { return old.Command == g.Command })
	if i < 0 {
		run.Guardrails = append(run.Guardrails, g)
		return
	}
	run.Guardrails[i] = g
}

// Recorder writes the record of a run that goes on. Its methods do nothing on nil, and
// may be used by many goroutines. What cannot be written once the run has begun is not:
// the run matters more.
type Recorder struct {
	mu    sync.Mutex
	root  *os.Root
	name  string
	run   Run
	later *time.Timer // writes what has changed; nil: nothing has
	old   []byte      // the record in whose place it is; nil: there was none
}

// Begin writes the record of a run in the place of the one before it.
func Begin(dir string, run Run) (*Recorder, error) {
	if rel, err := filepath.Rel(canonical(run.Workspace), canonical(dir)); err != nil || filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s, where it would be recorded, lies in the workspace", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Recorder{root: root, name: run.name(), run: run}
	r.run.Since = run.Started
	r.old, _ = read(filepath.Join(dir, r.name))
	if err := r.write(); err != nil {
		_ = root.Close()
		return nil, err
	}
	return r, nil
}

// Note changes the record, and writes it soon: what changes often is not written each
// time.
func (r *Recorder) Note(change func(*Run)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change(change)
	wait := pause - time.Since(r.run.Seen)
	switch {
	case r.root == nil || r.later != nil:
	case wait <= 0:
		_ = r.write()
	default:
		r.later = time.AfterFunc(wait, r.flush)
	}
}

// Write changes the record and writes it before it returns.
func (r *Recorder) Write(change func(*Run)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change(change)
	_ = r.write()
}

func (r *Recorder) change(change func(*Run)) {
	doing := r.run.Now
	change(&r.run)
	if r.run.Now != doing {
		r.run.Since = time.Now()
	}
}

func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.later != nil {
		_ = r.write()
	}
}

// End writes how the run ended, and removes records that nobody came back to. A run that
// was refused before it did anything is not the last one: the record before it is put back.
func (r *Recorder) End(end End) {
	if r == nil {
		return
	}
	r.Write(func(run *Run) { run.End, run.Now, run.Tool = &end, "", "" })
	r.mu.Lock()
	defer r.mu.Unlock()
	if end.Outcome.Row().Kind == ralph.Misconfigured && r.run.Done == 0 {
		r.putBack()
	}
	for _, name := range names(r.root.Name()) {
		if info, err := r.root.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > kept {
			_ = r.root.Remove(name)
		}
	}
	_ = r.root.Close()
	r.root = nil
}

// putBack puts the record of the run before in the place of this one. Callers hold mu.
func (r *Recorder) putBack() {
	if r.old == nil {
		_ = r.root.Remove(r.name)
		return
	}
	_ = atomicfile.Write(r.root, r.name, bytes.NewReader(r.old), atomicfile.Options{})
}

// write writes the record. Callers hold mu.
func (r *Recorder) write() error {
	if r.later != nil {
		r.later.Stop()
		r.later = nil
	}
	if r.root == nil {
		return nil // the run has ended
	}
	r.run.Seen = time.Now()
	data, err := json.Marshal(r.run)
	if err != nil {
		return err
	}
	return atomicfile.Write(r.root, r.name, bytes.NewReader(data), atomicfile.Options{})
}

// name is that of the file. Several task directories of a project may be supervised at a
// time.
func (run *Run) name() string {
	name := key(run.Workspace)
	if folder := canonical(run.Folder); folder != canonical(run.Workspace) {
		name += "-" + key(folder)
	}
	return name + suffix
}

func key(dir string) string {
	sum := sha256.Sum256([]byte(canonical(dir)))
	return hex.EncodeToString(sum[:12])
}

// canonical is a path without links, as far as it exists.
func canonical(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(canonical(up), filepath.Base(dir))
	}
	return dir
}

// State is what has become of a run.
type State string

// The states.
const (
	Starting State = "starting" // a run has the directory, and no record yet
	Running  State = "running"
	Ended    State = "ended"
	Killed   State = "killed" // it is gone without having said how it ended
)

// ErrNone says that no run is recorded.
var ErrNone = errors.New("no run is recorded")

// Find returns the last run in the nearest of dirs that has one, and what has become of
// it; with [Starting] the process is all that is known of the new one. Of several that a
// directory has, the one counts whose task directory is among dirs, else the last.
func Find(dir string, dirs []string) (Run, State, error) {
	all := names(dir)
	for _, workspace := range dirs {
		var found []Run
		for _, name := range all {
			if !strings.HasPrefix(name, key(workspace)) {
				continue
			}
			run, err := load(filepath.Join(dir, name), workspace)
			if err != nil {
				return Run{}, "", err
			}
			found = append(found, run)
		}
		if len(found) == 0 {
			continue
		}
		inTask := func(r Run) bool { return r.Folder != workspace && slices.Contains(dirs, r.Folder) }
		if slices.ContainsFunc(found, inTask) {
			found = slices.DeleteFunc(found, func(r Run) bool { return !inTask(r) })
		}
		run := slices.MaxFunc(found, func(a, b Run) int { return a.Seen.Compare(b.Seen) })
		state, err := run.state()
		return run, state, err
	}
	for _, workspace := range dirs {
		if held, pid, err := rundir.Held(workspace); err != nil || held {
			return Run{Workspace: workspace, Folder: workspace, PID: pid}, Starting, err
		}
	}
	return Run{}, "", ErrNone
}

// state is what has become of the run.
func (run *Run) state() (State, error) {
	held, pid, err := rundir.Held(run.Folder)
	another := held && pid > 0 && pid != run.PID
	switch {
	case err != nil:
		return "", err
	case another, held && pid == 0 && run.End != nil:
		run.PID = pid
		return Starting, nil
	case run.End != nil:
		return Ended, nil
	case held:
		return Running, nil
	}
	return Killed, nil
}

// names are the names of the records in dir.
func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxKept)
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func load(path, workspace string) (Run, error) {
	var run Run
	data, err := read(path)
	if err == nil {
		err = json.Unmarshal(data, &run)
	}
	if err == nil && (canonical(run.Workspace) != canonical(workspace) || filepath.Join(filepath.Dir(path), run.name()) != path) {
		err = errors.New("it is of another directory")
	}
	if err != nil {
		return Run{}, fmt.Errorf("the record of the last run in %s cannot be used (%w): remove %s to forget that run", workspace, err, path)
	}
	return run, nil
}

// read reads a file of this user's or of anybody's, but nothing that blocks.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return io.ReadAll(io.LimitReader(f, maxBytes))
}
