package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/killed"
)

// kill leaves the workspace as a run does that is killed now: its record stays.
func (r *run) kill(t *testing.T) {
	t.Helper()
	path := filepath.Join(r.dir, ".git", "ralph-run")
	record := read(t, path)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Fatal("the record is left by a run that ended in order")
	}
	if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
}

func afterKilled(t *testing.T, dir string) optionFunc {
	t.Helper()
	k, err := killed.Find(dir)
	if err != nil || k == nil {
		t.Fatalf("killed.Find() = %v, %v, want the run that was killed", k, err)
	}
	return func(o *repo.Options) { o.Killed = k }
}

// writeAfter writes a file until its time of change lies after another one.
func writeAfter(t *testing.T, path string, at time.Time) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		write(t, path, "later\n")
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(at) { // written now: both times are the same
			return
		}
	}
	t.Fatal("no file was written later")
}

// What the agent was doing when its run was killed is published: files it made,
// changed and removed. What others had changed before, and what they changed later,
// is not.
func TestKilledWhileTheAgentWorked(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	write(t, filepath.Join(dir, "before.txt"), "theirs\n")
	r := begin(t, dir, f.url)
	r.Work()
	write(t, filepath.Join(dir, "m\xe4de.txt"), "agent\n")
	write(t, filepath.Join(dir, "a.txt"), "changed\n")
	if err := os.Remove(filepath.Join(dir, "second.txt")); err != nil {
		t.Fatal(err)
	}
	r.kill(t)
	info, err := os.Lstat(filepath.Join(dir, ".git", "ralph-run"))
	if err != nil {
		t.Fatal(err)
	}
	with := afterKilled(t, dir)
	// In a folder of its own: the time of a removed file is that of its folder.
	write(t, filepath.Join(dir, "later", "x.txt"), "")
	writeAfter(t, filepath.Join(dir, "later", "x.txt"), info.ModTime().Add(time.Second))

	r = begin(t, dir, f.url, with)
	if !hasNote(r.start.Notes, "a run of this branch was killed") {
		t.Errorf("notes = %q, want the killed run named", r.start.Notes)
	}
	equal(t, "Dirty", r.start.Dirty, []string{"before.txt", "later/x.txt"})
	change, c := r.pushed(t, f)
	if !change.SinceStart {
		t.Errorf("Snapshot() = %+v, want the killed run's work to count", change)
	}
	equal(t, "published", git(t, f.dir, "diff", "--name-status", "main", c.SHA), []string{"M\ta.txt", `A	"m\344de.txt"`, "D\tsecond.txt"})
	equal(t, "left", git(t, dir, "status", "--porcelain"), []string{"?? before.txt", "?? later/"})
}

// After a look at what the agent did, that is what counts: what appears later does
// not, however soon, nor what a person makes of the run's files.
func TestKilledWhileItPublished(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	r.Work()
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	r.snapshot(t)
	if err := r.Push(t.Context()); err != nil { // which ends the agent's time
		t.Fatal(err)
	}
	r.kill(t)
	write(t, filepath.Join(dir, "later.txt"), "theirs\n")
	info, err := os.Lstat(filepath.Join(dir, ".git", "ralph-run"))
	if err != nil {
		t.Fatal(err)
	}
	writeAfter(t, filepath.Join(dir, "two.txt"), info.ModTime().Add(time.Second))
	// A run that ends before its agent was asked leaves it to the next one.
	if err := begin(t, dir, f.url, afterKilled(t, dir)).Close(); err != nil {
		t.Fatal(err)
	}
	r = begin(t, dir, f.url, afterKilled(t, dir))
	_, c := r.pushed(t, f)
	equal(t, "published", git(t, f.dir, "diff", "--name-only", "main", c.SHA), "one.txt")
	equal(t, "left", git(t, dir, "status", "--porcelain"), []string{"?? later.txt", "?? two.txt"})
}

// The server has what the killed run pushed, and the workspace does not know. What
// somebody changed there since is taken, and nothing is lost.
func TestKilledAfterThePush(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	r.Work()
	for _, name := range []string{"same.txt", "other.txt", "new.txt"} {
		write(t, filepath.Join(dir, name), "1\n")
	}
	r.snapshot(t)
	r.kill(t)
	write(t, filepath.Join(dir, ".git", "index.lock"), "")
	git(t, f.dir, "branch", "ralph/work", "main")
	somebody(t, f, "same.txt", "1\n")
	somebody(t, f, "other.txt", "2\n")

	r = begin(t, dir, f.url, afterKilled(t, dir))
	if !r.start.Resumed || !hasNote(r.start.Notes, "refs/ralph/kept/") {
		t.Errorf("Begin() = %+v, want the branch continued and the other version kept", r.start)
	}
	equal(t, "other.txt", read(t, filepath.Join(dir, "other.txt")), "2\n")
	kept := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/ralph/kept")
	equal(t, "kept", git(t, dir, "show", kept+":other.txt"), "1")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 new.txt", "100644 other.txt", "100644 same.txt", "100644 second.txt"})
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")
}

// A record that somebody else made is not believed, and one that claims to be from
// later than it is claims no more by it.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	record := filepath.Join(dir, ".git", "ralph-run")
	if k, err := killed.Find(dir); k != nil || err != nil {
		t.Errorf("killed.Find() = %v, %v without a record, want nothing", k, err)
	}
	if err := os.WriteFile(record, []byte(`{"Branch":"ralph/work","Name":"ralph/work","Base":"main","Working":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(record, future, future); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x.txt"), "")
	writeAfter(t, filepath.Join(dir, "x.txt"), time.Now().Add(time.Second))
	r := begin(t, dir, f.url, afterKilled(t, dir))
	equal(t, "Dirty", r.start.Dirty, []string{"x.txt"})
	r.kill(t)

	second := filepath.Join(dir, ".git", "moved")
	for name, forge := range map[string]func() error{
		"with a second name": func() error { return os.Link(record, second) },
		"a link":             func() error { return os.Rename(record, second) },
	} {
		if err := forge(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(record); err != nil {
			if err := os.Symlink("moved", record); err != nil {
				t.Fatal(err)
			}
		}
		if k, err := killed.Find(dir); k != nil || err == nil {
			t.Errorf("killed.Find() = %v, %v for a record that is %s, want an error", k, err, name)
		}
		_ = os.Remove(second)
	}
	_ = os.Remove(record)
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := killed.Find(dir); k != nil || err == nil {
		t.Errorf("killed.Find() = %v, %v for a record cut short, want an error", k, err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(record, 4001, 4001); err != nil {
			t.Fatal(err)
		}
		if k, err := killed.Find(dir); k != nil || err == nil {
			t.Errorf("killed.Find() = %v, %v for a record of another user, want an error", k, err)
		}
	}
}

// A record names a branch of ours, or it counts for nothing: what it names tells
// which lock of git's is removed.
func TestForgedRecordOfAnotherBranch(t *testing.T) {
	t.Parallel()
	_, dir := workspace(t)
	for name, want := range map[string]bool{
		"ralph/work": true, "ralph/work-1763860000": true, "ralph/work-a1b2c3d": true,
		"": false, "main": false, "ralph/work/../../../config": false, "../../config": false, "ralph/work-../../../config": false, "ralph/work-a/b": false, "ralph/workshop": false,
	} {
		record := fmt.Sprintf(`{"Branch":"ralph/work","Name":%q,"Base":"main","Working":true}`, name)
		path := filepath.Join(dir, ".git", "ralph-run")
		write(t, path, record)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := killed.Find(dir); (k != nil) != want || (err == nil) != want {
			t.Errorf("killed.Find() = %v, %v with the name %q, want it to count: %t", k, err, name, want)
		}
	}
}
