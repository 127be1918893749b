package repo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// marker is what may not be published.
const marker = "MARKER-4711"

// inspector blocks what holds the marker, and remembers what it was shown.
type inspector struct {
	ids, texts map[string]bool
	calls      []inspection.Request
}

func newInspector() *inspector { return &inspector{ids: map[string]bool{}, texts: map[string]bool{}} }

func (i *inspector) option(o *repo.Options) { o.Inspect = i.inspect }

func (i *inspector) inspect(ctx context.Context, in inspection.Request) ([]ralph.Finding, error) {
	i.calls = append(i.calls, in)
	var found []ralph.Finding
	block := func(path, where string) {
		found = append(found, ralph.Finding{Kind: ralph.FindingSecret, Severity: ralph.Block, Path: path, Where: where, Rule: "marker", Text: "holds the marker"})
	}
	for _, c := range in.Since {
		if strings.Contains(c.Path, marker) {
			block("a name", "")
		}
		if c.NewMode == inspection.ModeNone || c.NewMode == inspection.ModeRepository {
			continue
		}
		b, err := c.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		if int64(len(b)) != c.NewSize {
			return nil, fmt.Errorf("%s has %d bytes and NewSize %d", c.Path, len(b), c.NewSize)
		}
		if rd, size, ok := c.Large(); ok {
			large, err := io.ReadAll(rd)
			if err != nil || int64(len(large)) != size {
				return nil, fmt.Errorf("%s: Large() = %d of %d bytes, %w", c.Path, len(large), size, err)
			}
			rd.Close()
			b = append(b, large...)
		}
		i.ids[c.NewID] = true
		if bytes.Contains(b, []byte(marker)) {
			block(c.Path, c.Commit)
		}
	}
	for _, m := range in.Messages {
		i.texts[m.Text] = true
		if strings.Contains(m.Text, marker) {
			block("", "the message of commit "+m.Commit[:7])
		}
	}
	return found, nil
}

// objects is everything a repository holds, with content.
func objects(t testing.TB, dir string) string {
	t.Helper()
	return git(t, dir, "cat-file", "--batch-all-objects", "--batch")
}

// Nothing that nobody has looked at reaches the server, whatever the agent tries.
func TestNothingLeavesUninspected(t *testing.T) {
	t.Parallel()
	for _, tt := range sneaks {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			i := newInspector()
			r := begin(t, dir, f.url, i.option)
			write(t, filepath.Join(dir, "first.txt"), "1\n")
			r.pushed(t, f)
			tt.act(t, r)
			change := r.snapshot(t)
			c, err := r.commit(t.Context(), ralph.Iteration{Number: 2})
			var b *inspection.BlockedError
			switch {
			case tt.passed && (err != nil || c.PushError != ""):
				t.Errorf("Checkpoint() = %+v, %v, want the rest published; findings %v, notes %q", c, err, change.Findings, change.Notes)
			case !tt.passed && !errors.As(err, &b):
				t.Errorf("Checkpoint() = %+v, %v, want it blocked; notes %q", c, err, change.Notes)
			case !tt.passed && (len(change.Findings) == 0 || change.Findings[0].Severity != ralph.Block):
				t.Errorf("Snapshot().Findings = %+v, want a blocking one", change.Findings)
			}
			own, err := r.CheckpointOwn(t.Context(), ralph.Iteration{Number: 2})
			if !tt.passed && !errors.As(err, &b) {
				t.Errorf("CheckpointOwn() = %+v, %v, want it blocked", own, err)
			}
			if strings.Contains(objects(t, f.dir), marker) {
				t.Error("it is on the server")
			}
		})
	}
}

// What is taken back is published, and what blocked is not in it.
func TestBlockedWorkIsPublishedWhenItIsTakenBack(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	i := newInspector()
	r := begin(t, dir, f.url, i.option)
	write(t, filepath.Join(dir, "x.txt"), marker)
	write(t, filepath.Join(dir, "good.txt"), "good\n")
	commitAll(t, dir, "one")
	if c := r.snapshot(t); len(c.Findings) != 1 {
		t.Errorf("Findings = %+v, want the file", c.Findings)
	}
	if _, err := r.commit(t.Context(), ralph.Iteration{}); err == nil {
		t.Error("Checkpoint() of blocked work = nil")
	}
	git(t, dir, "reset", "-q", "--soft", "HEAD~1")
	write(t, filepath.Join(dir, "x.txt"), "harmless\n")
	change, c := r.pushed(t, f)
	if len(change.Findings) != 0 {
		t.Errorf("Findings = %+v, want none", change.Findings)
	}
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 good.txt", "100644 second.txt", "100644 x.txt"})
	if strings.Contains(objects(t, f.dir), marker) {
		t.Error("it is on the server")
	}
}

// arrived checks that each object the server got was shown to the inspector.
func (i *inspector) arrived(t *testing.T, dir, since string) {
	t.Helper()
	for l := range strings.SplitSeq(git(t, dir, "rev-list", "--objects", "--all", "--not", since), "\n") {
		id, name, _ := strings.Cut(l, " ")
		switch kind := git(t, dir, "cat-file", "-t", id); kind {
		case "blob":
			if !i.ids[id] {
				t.Errorf("%s (%s) arrived and was not inspected", name, id)
			}
		case "commit":
			text := git(t, dir, "cat-file", "commit", id) + "\n"
			for strings.HasPrefix(text, "tree ") || strings.HasPrefix(text, "parent ") {
				_, text, _ = strings.Cut(text, "\n")
			}
			if !i.texts[text] {
				t.Errorf("the commit %s arrived and was not inspected: %q", id, text)
			}
		}
	}
}

// Commits that were made before the run, those that are put on top of somebody
// else's, and files whose lines are merged with somebody else's are inspected
// before they leave.
func TestPushInspectsWhatNoSnapshotShows(t *testing.T) {
	t.Parallel()
	t.Run("before the run", func(t *testing.T) {
		t.Parallel()
		f, dir := workspace(t)
		main := git(t, dir, "rev-parse", "HEAD")
		write(t, filepath.Join(dir, "step.txt"), "by a step\n")
		commitAll(t, dir, "by a step")
		i := newInspector()
		r := begin(t, dir, f.url, i.option)
		write(t, filepath.Join(dir, "x.txt"), "x\n")
		r.pushed(t, f)
		i.arrived(t, f.dir, main)
		last := i.calls[len(i.calls)-1]
		if !last.Last || len(last.Since) != 1 || last.Since[0].Path != "step.txt" || len(last.Messages) != 2 {
			t.Errorf("the check before the push asked %+v, want step.txt and two messages", last)
		}
	})
	t.Run("before the run, with a secret", func(t *testing.T) {
		t.Parallel()
		f, dir := workspace(t)
		write(t, filepath.Join(dir, "step.txt"), marker)
		commitAll(t, dir, "by a step")
		i := newInspector()
		r := begin(t, dir, f.url, i.option)
		write(t, filepath.Join(dir, "x.txt"), "x\n")
		_, c := r.checkpoint(t)
		if c.Pushed || !strings.Contains(c.PushError, "nothing is published") || len(r.State().Blocked) != 1 {
			t.Errorf("Checkpoint() = %+v, State() = %+v, want the push blocked", c, r.State())
		}
		if strings.Contains(objects(t, f.dir), marker) {
			t.Error("it is on the server")
		}
	})
	t.Run("on top of somebody else's", func(t *testing.T) {
		t.Parallel()
		f, dir := workspace(t)
		i := newInspector()
		r := begin(t, dir, f.url, i.option)
		write(t, filepath.Join(dir, "lines.txt"), "1\n2\n3\n4\n5\n6\n7\n")
		r.pushed(t, f)
		theirs := somebody(t, f, "lines.txt", "one\n2\n3\n4\n5\n6\n7\n")
		write(t, filepath.Join(dir, "lines.txt"), "1\n2\n3\n4\n5\n6\nseven\n")
		write(t, filepath.Join(dir, "y.txt"), "y\n")
		commitAll(t, dir, "agent: both")
		r.pushed(t, f)
		equal(t, "lines.txt", git(t, f.dir, "show", "ralph/work:lines.txt"), "one\n2\n3\n4\n5\n6\nseven")
		i.arrived(t, f.dir, theirs)
	})
	t.Run("signed", func(t *testing.T) {
		t.Parallel()
		f, dir := workspace(t)
		main := git(t, dir, "rev-parse", "HEAD")
		i := newInspector()
		r := begin(t, dir, f.url, newGitData(t, f).option(t), i.option)
		write(t, filepath.Join(dir, "x.txt"), "x\n")
		commitAll(t, dir, "agent: one")
		write(t, filepath.Join(dir, "x.txt"), "y\n")
		r.pushed(t, f)
		for l := range strings.SplitSeq(git(t, f.dir, "rev-list", "--objects", "--all", "--not", main), "\n") {
			if id, name, _ := strings.Cut(l, " "); git(t, f.dir, "cat-file", "-t", id) == "blob" && !i.ids[id] {
				t.Errorf("%s arrived and was not inspected", name)
			}
		}
	})
	t.Run("one commit at the end", func(t *testing.T) {
		t.Parallel()
		f, dir := workspace(t)
		main := git(t, dir, "rev-parse", "HEAD")
		i := newInspector()
		r := begin(t, dir, f.url, i.option, func(o *repo.Options) { o.Squash = true })
		write(t, filepath.Join(dir, "x.txt"), marker)
		commitAll(t, dir, marker)
		write(t, filepath.Join(dir, "x.txt"), "x\n")
		commitAll(t, dir, "two")
		r.pushed(t, f)
		i.arrived(t, f.dir, main)
		if strings.Contains(objects(t, f.dir), marker) {
			t.Error("it is on the server")
		}
	})
}

func TestLargeFilesAreInspected(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	i := newInspector()
	r := begin(t, dir, l.url, i.option)
	write(t, filepath.Join(dir, "big.bin"), "large "+marker)
	if c := r.snapshot(t); len(c.Findings) != 1 || c.Findings[0].Path != "big.bin" {
		t.Errorf("Findings = %+v, want big.bin", c.Findings)
	}
	if _, err := r.commit(t.Context(), ralph.Iteration{}); err == nil {
		t.Error("Checkpoint() of blocked work = nil")
	}
	if l.has("large " + marker) {
		t.Error("it is on the server")
	}
	// The object is another one than its name says.
	l, dir = lfsWorkspace(t, true)
	r = begin(t, dir, l.url, func(o *repo.Options) {
		o.Inspect = func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error) {
			oid := oidOf("large and harmless")
			write(t, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], oid), "large an"+marker[:10])
			return i.inspect(ctx, in)
		}
	})
	write(t, filepath.Join(dir, "big.bin"), "large and harmless")
	if _, err := r.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "not the content it is named by") {
		t.Errorf("Snapshot() with a swapped object = %v, want an error", err)
	}
}

// What is shown of a change: old and new content, moves, modes, sizes.
func TestWhatAnInspectionShows(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	i := newInspector()
	r := begin(t, dir, f.url, i.option)
	write(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "gone.txt"), "gone\n")
	r.pushed(t, f)
	if err := errors.Join(
		os.Chmod(filepath.Join(dir, "run.sh"), 0o755), os.Rename(filepath.Join(dir, "gone.txt"), filepath.Join(dir, "moved.txt")),
		os.Remove(filepath.Join(dir, "second.txt")), os.Symlink("a.txt", filepath.Join(dir, "to-a")),
	); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.txt"), "a\nb\n")
	var got []string
	var since, run, total int
	r = begin(t, dir, f.url, func(o *repo.Options) {
		o.Inspect = func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error) {
			since, run, total = len(in.Since), len(in.Run), len(in.Total)
			for _, c := range in.Total {
				old, oerr := c.Old(ctx)
				now, nerr := c.New(ctx)
				got = append(got, fmt.Sprintf("%s<%s %o>%o %q>%q %d>%d %v", c.Path, c.From, c.OldMode, c.NewMode, old, now, c.OldSize, c.NewSize, errors.Join(oerr, nerr)))
			}
			return nil, nil
		}
		o.IncludeDirty = true
	})
	r.snapshot(t)
	slices.Sort(got)
	for n := range got {
		got[n] = strings.ReplaceAll(got[n], " <nil>", "")
	}
	equal(t, "Total", got, []string{
		`a.txt< 100644>100644 "a\n">"a\nb\n" 2>4`,
		`moved.txt< 0>100644 "">"gone\n" 0>5`,
		`run.sh< 0>100755 "">"#!/bin/sh\n" 0>10`,
		`second.txt< 100644>0 "second\n">"" 7>0`,
		`to-a< 0>120000 "">"a.txt" 0>5`,
	})
	if since != 5 || run != 5 || total != 5 {
		t.Errorf("Since, Run, Total hold %d, %d, %d changes, want 5 each", since, run, total)
	}
}
