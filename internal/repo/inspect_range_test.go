package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// paths are the changed paths of an inspection's lists.
func paths(list []inspection.Changed) []string {
	var names []string
	for _, c := range list {
		name := c.Path
		if c.Commit != "" {
			name += " in a commit"
		}
		names = append(names, name)
	}
	return names
}

// An earlier run's work is part of what the pull request shows, and not of what
// this run changed.
func TestRunAndTotal(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"checkout of the base", "checkout of the branch", "shallow"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "earlier.txt"), "1\n")
			r.pushed(t, f)
			again := filepath.Join(t.TempDir(), "again")
			switch kind {
			case "shallow":
				git(t, filepath.Dir(again), "clone", "-q", "--depth=1", "file://"+f.dir, again)
			case "checkout of the branch":
				git(t, filepath.Dir(again), "clone", "-q", "-b", "ralph/work", f.dir, again)
			default:
				git(t, filepath.Dir(again), "clone", "-q", f.dir, again)
			}
			i := newInspector()
			r = begin(t, again, f.url, i.option, func(o *repo.Options) { o.Base = "main" })
			write(t, filepath.Join(again, "now.txt"), "1\n")
			r.pushed(t, f)
			write(t, filepath.Join(again, "later.txt"), "1\n")
			r.snapshot(t)
			in := i.calls[len(i.calls)-1]
			equal(t, "Since", paths(in.Since), []string{"later.txt"})
			equal(t, "Run", paths(in.Run), []string{"later.txt", "now.txt"})
			equal(t, "Total", paths(in.Total), []string{"earlier.txt", "later.txt", "now.txt"})
			for _, c := range in.Total {
				if b, err := c.New(t.Context()); err != nil || string(b) != "1\n" {
					t.Errorf("%s: New() = %q, %v", c.Path, b, err)
				}
			}
		})
	}
}

// A file that is moved and unchanged is one change, which says where it was: its new
// name is news, though its content is not.
func TestMovedFilesSayWhereTheyWere(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	i := newInspector()
	r := begin(t, dir, f.url, i.option)
	git(t, dir, "mv", "second.txt", "moved.txt")
	r.snapshot(t)
	in := i.calls[len(i.calls)-1]
	for _, list := range [][]inspection.Changed{in.Since, in.Run, in.Total} {
		var got []string
		for _, c := range list {
			got = append(got, fmt.Sprintf("%s<%s %o>%o", c.Path, c.From, c.OldMode, c.NewMode))
		}
		equal(t, "changes", got, []string{"moved.txt<second.txt 100644>100644"})
	}
}

// Whoever reads all of a large pull request asks the workspace few times.
func TestContentsComeTogether(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	for i := range 40 {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), fmt.Sprint(i))
	}
	r.pushed(t, f)
	again := filepath.Join(t.TempDir(), "again")
	git(t, filepath.Dir(again), "clone", "-q", "-b", "ralph/work", f.dir, again)
	read := 0
	r = begin(t, again, f.url, func(o *repo.Options) {
		o.Base = "main"
		o.Inspect = func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error) {
			for _, c := range in.Total {
				b, err := c.New(ctx)
				if err != nil || len(b) == 0 {
					return nil, fmt.Errorf("%s: %q, %w", c.Path, b, err)
				}
				read++
			}
			return nil, nil
		}
	})
	before := len(r.sandbox.Commands)
	write(t, filepath.Join(again, "x.txt"), "x\n")
	r.snapshot(t)
	if n := len(r.sandbox.Commands) - before; read != 41 || n > 8 {
		t.Errorf("%d files were read with %d commands, want 41 with few", read, n)
	}
}

// What the base gained meanwhile is published there: an agent that merges it is
// not asked about it, and an evil merge is.
func TestAgentMergesTheBase(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	i := newInspector()
	r := begin(t, dir, f.url, i.option)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	seed := filepath.Join(t.TempDir(), "seed")
	git(t, filepath.Dir(seed), "clone", "-q", f.dir, seed)
	git(t, seed, "rm", "-q", "second.txt")
	write(t, filepath.Join(seed, "base.txt"), marker)
	commitAll(t, seed, "the base's own "+marker)
	git(t, seed, "push", "-q", "origin", "HEAD:main")
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	r.pushed(t, f) // the push sees the base
	git(t, dir, "fetch", "-q", f.dir, "main")
	git(t, dir, "merge", "-q", "-m", "merge", "FETCH_HEAD")
	change, c := r.pushed(t, f)
	if len(change.Findings) != 0 || c.Own != 2 {
		t.Errorf("Findings = %v of %+v, want none", change.Findings, c)
	}
	equal(t, "Since", paths(i.calls[len(i.calls)-1].Since), []string(nil))

	write(t, filepath.Join(dir, "z.txt"), "z\n")
	commitAll(t, dir, "z")
	git(t, dir, "checkout", "-q", "-b", "side", "HEAD~1")
	write(t, filepath.Join(dir, "side.txt"), "side\n")
	commitAll(t, dir, "side")
	git(t, dir, "checkout", "-q", "ralph/work")
	git(t, dir, "merge", "-q", "--no-commit", "side")
	write(t, filepath.Join(dir, "a.txt"), marker)
	commitAll(t, dir, "evil merge")
	if change := r.snapshot(t); len(change.Findings) == 0 {
		t.Error("the evil merge was not found")
	}
}

// The same where the checkout is the base as it is now, and the branch of an earlier
// run is behind it.
func TestAgentMergesTheBaseThatIsCheckedOut(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"merge", "rebase"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			r.pushed(t, f)
			seed := filepath.Join(t.TempDir(), "seed")
			git(t, filepath.Dir(seed), "clone", "-q", f.dir, seed)
			git(t, seed, "rm", "-q", "second.txt")
			write(t, filepath.Join(seed, "base.txt"), marker)
			symlink(t, "/etc/passwd", filepath.Join(seed, "abs"))
			commitAll(t, seed, "the base's own")
			git(t, seed, "push", "-q", "origin", "HEAD:main")

			again := filepath.Join(t.TempDir(), "again")
			git(t, filepath.Dir(again), "clone", "-q", f.dir, again)
			i := newInspector()
			r = begin(t, again, f.url, i.option)
			git(t, again, how, "-q", "origin/main")
			write(t, filepath.Join(again, "y.txt"), "y\n")
			change, _ := r.pushed(t, f)
			if len(change.Findings) != 0 {
				t.Errorf("Findings = %v, want none", change.Findings)
			}
			last := i.calls[len(i.calls)-1]
			for _, list := range [][]inspection.Changed{last.Since, last.Run, last.Total} {
				if names := paths(list); slices.Contains(names, "base.txt") || slices.Contains(names, "second.txt") {
					t.Errorf("inspected: %q, want nothing of the base's", names)
				}
			}
			write(t, filepath.Join(again, "base2.txt"), marker)
			if change := r.snapshot(t); len(change.Findings) == 0 {
				t.Error("what the agent added by itself was not found")
			}
		})
	}
}

// What was found in a commit that is published is told to the end; what blocks is not
// taken for told.
func TestFindingsInCommitsAreKept(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	flag := func(_ context.Context, in inspection.Request) (found []ralph.Finding, err error) {
		for _, c := range in.Since {
			if c.Path == "x.txt" && c.Commit != "" {
				found = append(found, ralph.Finding{Kind: ralph.FindingSecret, Severity: ralph.Draft, Path: c.Path, Where: "commit " + c.Commit[:7]})
			}
		}
		return found, nil
	}
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Inspect = flag })
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	commitAll(t, dir, "one")
	git(t, dir, "rm", "-q", "x.txt")
	commitAll(t, dir, "two")
	first, _ := r.pushed(t, f)
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	second, _ := r.pushed(t, f)
	if fmt.Sprint(first.Findings) != fmt.Sprint(second.Findings) || len(second.Findings) == 0 {
		t.Errorf("Findings = %v, then %v, want the same", first.Findings, second.Findings)
	}
}

// What a checkpoint published stays found when a later one does not look at the file
// again, and when it takes the file away.
func TestFindingsInCheckpointsAreKept(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	flag := func(_ context.Context, in inspection.Request) (found []ralph.Finding, err error) {
		for _, c := range in.Since {
			if c.Path == "x.txt" && c.NewMode != inspection.ModeNone {
				found = append(found,
					ralph.Finding{Kind: ralph.FindingSecret, Severity: ralph.Draft, Path: c.Path, Line: 1, Rule: "github-pat"},
					ralph.Finding{Kind: ralph.FindingAgentConfig, Severity: ralph.Flag, Path: c.Path})
			}
		}
		return found, nil
	}
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Inspect = flag })
	want := []ralph.Finding{{Kind: ralph.FindingSecret, Severity: ralph.Draft, Path: "x.txt", Line: 1, Rule: "github-pat"}}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	if first, _ := r.pushed(t, f); len(first.Findings) != 2 {
		t.Fatalf("Findings = %v, want two", first.Findings)
	}
	want[0].Where = "in an earlier commit of this run"
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	if second, _ := r.pushed(t, f); !slices.Equal(second.Findings, want) {
		t.Errorf("Findings = %v, want %v", second.Findings, want)
	}
	if err := os.Remove(filepath.Join(dir, "x.txt")); err != nil {
		t.Fatal(err)
	}
	if third, _ := r.pushed(t, f); !slices.Equal(third.Findings, want) {
		t.Errorf("Findings = %v, want %v", third.Findings, want)
	}
}
