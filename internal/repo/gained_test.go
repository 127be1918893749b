package repo_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// told is a forge that knows which pull requests of the branch were merged.
type told struct {
	word  repo.Word
	asked int
}

func (w *told) option(o *repo.Options) {
	o.Ask = func(context.Context, string, string) (repo.Word, error) { w.asked++; return w.word, nil }
}

// merged is the forge's word that pull request #1 came in at a commit.
func (w *told) merged(head string) {
	w.word.Gained = append([]repo.Gained{{Base: "main", Head: head, PullRequest: 1}}, w.word.Gained...)
}

// inSeed is what people do in a clone of the forge, main checked out and up to it.
func inSeed(t testing.TB, seed string, deeds ...[]string) {
	t.Helper()
	for _, args := range append([][]string{{"fetch", "-q", "origin"}, {"checkout", "-q", "main"}, {"reset", "-q", "--hard", "origin/main"}}, deeds...) {
		git(t, seed, args...)
	}
	git(t, seed, "push", "-q", "origin", "main")
}

var ways = []way{
	{name: "merged", byGit: true, deeds: [][]string{{"merge", "-q", "--no-ff", "-m", "merge", "origin/ralph/work"}}},
	{name: "merged and reverted", byGit: true, gone: true, deeds: [][]string{{"merge", "-q", "--no-ff", "-m", "merge", "origin/ralph/work"}, {"revert", "--no-edit", "-m", "1", "HEAD"}}},
	{name: "squashed", deeds: [][]string{{"merge", "-q", "--squash", "origin/ralph/work"}, {"commit", "-qm", "squashed (#1)"}}},
	{name: "squashed and reverted", gone: true, deeds: [][]string{{"merge", "-q", "--squash", "origin/ralph/work"}, {"commit", "-qm", "squashed (#1)"}, {"revert", "--no-edit", "HEAD"}}},
	{name: "rebased", deeds: [][]string{{"-c", "user.name=GitHub", "cherry-pick", "origin/ralph/work~2..origin/ralph/work"}}},
	{name: "squashed under another name", deeds: [][]string{{"branch", "-f", "copy", "origin/ralph/work"}, {"merge", "-q", "--squash", "copy"}, {"commit", "-qm", "squashed copy (#2)"}}},
	{name: "squashed, and the forge cannot tell", silent: true, deeds: [][]string{{"merge", "-q", "--squash", "origin/ralph/work"}, {"commit", "-qm", "squashed"}}},
	{name: "a part was picked", silent: true, deeds: [][]string{{"cherry-pick", "origin/ralph/work~1"}}},
}

// since is what main did to the files afterwards.
var since = []struct {
	name  string
	deeds [][]string
}{
	{"untouched", nil},
	{"edited", nil}, // see after
	{"removed", [][]string{{"rm", "-q", "--ignore-unmatch", "a.txt", "n.txt"}, {"commit", "-qm", "main: removed"}}},
	{"renamed", [][]string{{"mv", "a.txt", "b.txt"}, {"commit", "-qm", "main: renamed"}}},
}

// way is one in which a pull request comes into main. The branch adds n.txt and
// changes a.txt, in two commits.
type way struct {
	name   string
	deeds  [][]string
	byGit  bool // git itself shows that the branch is in main
	gone   bool // n.txt is not in main afterwards
	silent bool // the forge knows nothing of it
}

// cameIn is a forge whose main has the branch of a run by this way, a clone to push
// more from, and the branch's head.
func (w way) cameIn(t testing.TB) (f *forge, seed, head string) {
	t.Helper()
	return fromTemplate(t, "came in: "+w.name, func() (*forge, string, string) {
		f, seed, head := branched(t)
		inSeed(t, seed, w.deeds...)
		return f, seed, head
	})
}

// pushedTo is a forge as by cameIn, with a commit on the branch since and another
// branch.
func (w way) pushedTo(t testing.TB) (f *forge, seed, head string) {
	t.Helper()
	return fromTemplate(t, "pushed to: "+w.name, func() (*forge, string, string) {
		f, seed, head := w.cameIn(t)
		f.night(t, "shallow", "unrelated.txt", "not ours\n", func(o *repo.Options) { o.Branch = "other" })
		lateCommit(t, f, head)
		return f, seed, head
	})
}

// branched is a forge with the branch of a run, a clone of main, and the branch's head.
func branched(t testing.TB) (f *forge, seed, head string) {
	t.Helper()
	return fromTemplate(t, "branched", func() (*forge, string, string) {
		f := newForge(t)
		seed := f.seed(t, map[string]string{"a.txt": "a\n", "keep/old.txt": "o\n"})
		return f, seed, twoCommits(t, begin(t, f.checkout(t, true), f.url), f)
	})
}

// after does to main what happened since.
func after(t testing.TB, seed, name string, deeds [][]string) {
	t.Helper()
	if name == "edited" {
		write(t, filepath.Join(seed, "a.txt"), "written anew by a person\n")
		onMain(t, seed, "n.txt", "so is this\n")
		return
	}
	inSeed(t, seed, deeds...)
}

// twoCommits is the branch of a run: one iteration adds n.txt, the next one
// changes a.txt.
func twoCommits(t testing.TB, r *run, f *forge) string {
	t.Helper()
	write(t, filepath.Join(r.dir, "n.txt"), "n\n")
	r.pushed(t, f)
	write(t, filepath.Join(r.dir, "a.txt"), "a\nchanged by the run\n")
	_, c := r.pushed(t, f)
	return c.SHA
}

// onlyNew wants a pull request of these files and no others, which merges without a
// conflict and leaves everything else as main has it.
func onlyNew(t testing.TB, f *forge, names ...string) {
	t.Helper()
	equal(t, "proposed", proposed(t, f, "ralph/work"), names)
	tree, err := tryGit(f.dir, "merge-tree", "--write-tree", "main", "ralph/work")
	if err != nil {
		t.Errorf("the pull request is in conflict: %s", tree)
		return
	}
	equal(t, "what merging it changes", git(t, f.dir, "diff", "--name-only", "main", tree), names)
}

// What is in the base already is not proposed again, by whatever way it came there
// and whatever the base did to it since; what is new is.
func TestMergedAlready(t *testing.T) {
	t.Parallel()
	for i, way := range ways {
		for j, then := range since {
			for k, kind := range []string{"shallow", "full"} {
				name := way.name + ", " + then.name + ", " + kind
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if (i+j)%2 != k { // every two values meet
						leave(t, name, name)
					}
					f, seed, head := way.cameIn(t)
					after(t, seed, then.name, then.deeds)
					var word told
					if !way.silent {
						word.merged(head)
					}
					dir := f.clone(t, kind)
					r := begin(t, dir, f.url, word.option)
					switch {
					case way.silent && (then.name != "untouched" || way.name == "a part was picked"):
						// What files hold decides, and they differ.
						if !r.start.Resumed || r.start.Restarted || r.start.HeadSHA != head {
							t.Errorf("Begin() = %+v, want the branch continued at %s", r.start, head)
						}
						ahead(t, r, true)
						return
					case r.start.Resumed || r.start.Restarted == way.byGit || len(r.start.Messages) > 0:
						t.Fatalf("Begin() = %+v, want a new start; notes %q", r.start, r.start.Notes)
					}
					equal(t, "files", files(t, dir, "HEAD"), files(t, f.dir, "main"))
					ahead(t, r, false)
					write(t, filepath.Join(dir, "y.txt"), "y\n")
					_, c := r.pushed(t, f)
					git(t, f.dir, "merge-base", "--is-ancestor", head, c.SHA)
					onlyNew(t, f, "y.txt")
					ahead(t, r, true)
				})
			}
		}
	}
}

// A run that was killed, or a person, pushed more after the merge: only that is
// new, and the next run goes on with it.
func TestMergedAndPushedTo(t *testing.T) {
	t.Parallel()
	for i, way := range ways {
		if way.silent {
			continue
		}
		for j, then := range since {
			for k, how := range []repo.Update{repo.UpdateNone, repo.UpdateMerge, repo.UpdateRebase} {
				name := way.name + ", " + then.name + ", " + string(how)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if (i+j)%3 != k { // every two values meet
						leave(t, name, name)
					}
					f, seed, head := way.pushedTo(t)
					late := git(t, f.dir, "rev-parse", "ralph/work")
					after(t, seed, then.name, then.deeds)
					var word told
					word.merged(head)
					dir := f.checkout(t, true)
					r := begin(t, dir, f.url, word.option, updates(how))
					if !r.start.Resumed || r.start.Restarted || r.start.Conflict != "" {
						t.Fatalf("Begin() = %+v, want the branch continued; notes %q", r.start, r.start.Notes)
					}
					if n := len(r.start.Messages); n != 1 {
						t.Errorf("Begin().Messages = %q, want that of the commit after the merge", r.start.Messages)
					}
					// Nothing is added by this run: what was there is proposed all the same.
					if err := r.Push(t.Context()); err != nil {
						t.Fatal(err)
					}
					if !way.byGit || how != repo.UpdateNone {
						onlyNew(t, f, "late.txt")
					}
					ahead(t, r, true)
					write(t, filepath.Join(dir, "y.txt"), "y\n")
					_, c := r.pushed(t, f)
					if how != repo.UpdateRebase {
						git(t, f.dir, "merge-base", "--is-ancestor", late, c.SHA)
					}
					onlyNew(t, f, "late.txt", "y.txt")
					// The next run finds nothing to catch up with.
					word.asked = 0
					again := begin(t, f.checkout(t, true), f.url, word.option, updates(how))
					if again.start.Updated || again.start.HeadSHA != c.SHA || word.asked != 1 {
						t.Errorf("Begin() again = %+v, asked %d times, want the branch as it is", again.start, word.asked)
					}
				})
			}
		}
	}
}

// lateCommit is a checkpoint that was pushed on the branch after it was merged.
func lateCommit(t testing.TB, f *forge, head string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "-b", "ralph/work", f.dir, "x")
	dir = filepath.Join(dir, "x")
	write(t, filepath.Join(dir, "late.txt"), "l\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "late\n\nRalph-Run: 1")
	git(t, dir, "push", "-q", "origin", "ralph/work")
	equal(t, "parent", git(t, dir, "rev-parse", "HEAD^"), head)
	return git(t, dir, "rev-parse", "HEAD")
}

// The pull request is merged while the run goes on: what the run did before is in
// main, and what it does after is proposed alone.
func TestMergedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		if way.silent {
			continue
		}
		for _, then := range since {
			for _, signed := range []bool{false, true} {
				name := way.name + ", " + then.name
				if signed {
					name += ", signed"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if signed && then.name != "edited" || then.name == "renamed" && way.name != "squashed" {
						leave(t, name, name)
					}
					f := newForge(t)
					seed := f.seed(t, map[string]string{"a.txt": "a\n"})
					var word told
					options := []optionFunc{word.option}
					if signed {
						options = append(options, newGitData(t, f).option(t))
					}
					r := begin(t, f.checkout(t, true), f.url, options...)
					head := twoCommits(t, r, f)
					inSeed(t, seed, way.deeds...)
					after(t, seed, then.name, then.deeds)
					word.merged(head)
					write(t, filepath.Join(r.dir, "late.txt"), "l\n")
					_, c := r.pushed(t, f)
					if err := r.Follow(t.Context(), true); err != nil {
						t.Fatalf("Follow() = %v", err)
					}
					ahead(t, r, true)
					git(t, f.dir, "merge-base", "--is-ancestor", c.SHA, "ralph/work")
					tip := git(t, f.dir, "rev-parse", "ralph/work")
					if s := r.State(); s.HeadSHA != tip || s.Tip != tip || !s.Pushed {
						t.Errorf("State() = %+v, want %s pushed", s, tip)
					}
					if !way.byGit {
						onlyNew(t, f, "late.txt")
					} else {
						equal(t, "proposed", proposed(t, f, "ralph/work"), []string{"late.txt"})
					}
					if word.asked != 1 {
						t.Errorf("the forge was asked %d times, want once", word.asked)
					}
					// A second look costs nothing, and more work stands on what was pushed.
					if err := r.Follow(t.Context(), true); err != nil || word.asked != 1 {
						t.Errorf("Follow() again = %v, asked %d times", err, word.asked)
					}
					write(t, filepath.Join(r.dir, "more.txt"), "m\n")
					_, more := r.pushed(t, f)
					git(t, f.dir, "merge-base", "--is-ancestor", tip, more.SHA)
					equal(t, "proposed", proposed(t, f, "ralph/work"), []string{"late.txt", "more.txt"})
				})
			}
		}
	}
}

// Everything the run did was merged while it went on: nothing is to be proposed,
// and the branch may be deleted.
func TestAllMergedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	var word told
	r := begin(t, f.checkout(t, true), f.url, word.option)
	twoCommits(t, r, f)
	squash(t, seed)
	write(t, filepath.Join(r.dir, "late.txt"), "l\n")
	_, c := r.pushed(t, f)
	squash(t, seed)
	onMain(t, seed, "late.txt", "edited\n")
	// The run sees where the base is with its last push.
	if err := r.Branch().DeleteBranch(t.Context()); err == nil {
		t.Error("DeleteBranch() = nil before the forge was asked")
	}
	word.merged(c.SHA)
	if err := r.Follow(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	ahead(t, r, false)
	equal(t, "branch", git(t, f.dir, "rev-parse", "ralph/work"), c.SHA)
	if err := r.Branch().DeleteBranch(t.Context()); err != nil {
		t.Errorf("DeleteBranch() = %v", err)
	}
}

// The work after the merge and what the base did since touch the same lines: the
// agent is told, and no work is lost.
func TestMergedAndInConflict(t *testing.T) {
	t.Parallel()
	f, seed, head := branched(t)
	squash(t, seed)
	late := lateCommit(t, f, head)
	onMain(t, seed, "late.txt", "another one\n")
	var word told
	word.merged(head)
	r := begin(t, f.checkout(t, true), f.url, word.option)
	if r.start.Conflict != "late.txt" || r.start.HeadSHA != late || !r.start.Resumed {
		t.Errorf("Begin() = %+v, want the conflict named", r.start)
	}
}

// Servers keep the head of a pull request; the forge's own word may not be what it
// was when it was merged.
func TestMergedHeadOfTheServer(t *testing.T) {
	t.Parallel()
	f, seed, head := branched(t)
	git(t, f.dir, "update-ref", "refs/pull/1/head", head)
	squash(t, seed)
	onMain(t, seed, "n.txt", "edited\n")
	var word told
	word.merged("")
	r := begin(t, f.checkout(t, true), f.url, word.option)
	if !r.start.Restarted {
		t.Errorf("Begin() = %+v, want a new start", r.start)
	}
	for _, other := range []repo.Gained{{Base: "release", Head: head, PullRequest: 1}, {Base: "main", PullRequest: 2}, {Base: "main", Head: strings.Repeat("1", 40)}} {
		word.word.Gained = []repo.Gained{other}
		if r := begin(t, f.checkout(t, true), f.url, word.option); r.start.Restarted || !r.start.Resumed {
			t.Errorf("Begin() after %+v = %+v, want the branch continued", other, r.start)
		}
	}
}

// Somebody rewrites the base: what was the base's stays the base's, and is neither
// proposed nor taken for somebody else's commit on the branch.
func TestBaseRewritten(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string][][]string{
		"amended":  {{"mv", "second.txt", "2nd.txt"}, {"commit", "-q", "--amend", "-m", "second, amended"}},
		"reworded": {{"commit", "-q", "--amend", "-m", "second, in other words"}},
		"dropped":  {{"reset", "-q", "--hard", "HEAD~1"}},
		"replaced": {{"reset", "-q", "--hard", "HEAD~1"}, {"mv", "a.txt", "b.txt"}, {"commit", "-qm", "instead"}},
	} {
		for _, how := range []repo.Update{repo.UpdateNone, repo.UpdateMerge, repo.UpdateRebase} {
			for _, kind := range []string{"shallow", "full"} {
				cell := name + ", " + string(how) + ", " + kind
				t.Run(cell, func(t *testing.T) {
					t.Parallel()
					if kind == "full" && name != "amended" {
						leave(t, cell, cell)
					}
					f := newForge(t)
					seed := f.seed(t, map[string]string{"a.txt": "a\n"})
					first := begin(t, f.checkout(t, true), f.url, says("n.txt\n\nRalph-Run: 1\n"))
					write(t, filepath.Join(first.dir, "n.txt"), "n\n")
					_, c := first.pushed(t, f)
					was := first.State().OnBase
					equal(t, "stands on", was, git(t, f.dir, "rev-parse", "main"))
					for _, args := range rewrite {
						git(t, seed, args...)
					}
					git(t, seed, "push", "-q", "-f", "origin", "main")
					word := told{word: repo.Word{Gained: []repo.Gained{{Base: "main", Head: was}}}}
					dir := f.clone(t, kind)
					r := begin(t, dir, f.url, word.option, updates(how), says("y.txt\n\nRalph-Run: 2\n"))
					if !r.start.Resumed || !r.start.Updated || r.start.Conflict != "" || len(r.start.Messages) != 1 {
						t.Fatalf("Begin() = %+v, want the branch brought to the new base", r.start)
					}
					write(t, filepath.Join(dir, "y.txt"), "y\n")
					r.pushed(t, f)
					onlyNew(t, f, "n.txt", "y.txt")
					main := git(t, f.dir, "rev-parse", "main")
					git(t, f.dir, "merge-base", "--is-ancestor", main, "ralph/work")
					equal(t, "stands on", r.State().OnBase, main)
					if _, err := tryGit(f.dir, "merge-base", "--is-ancestor", c.SHA, "ralph/work"); (err == nil) == (how == repo.UpdateRebase) {
						t.Errorf("the branch holds what it held: %v", err == nil)
					}
				})
			}
		}
	}
}

// A person's commit on the branch is not taken for the base's.
func TestBaseRewrittenBelowAPerson(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	was := git(t, f.dir, "rev-parse", "main")
	f.night(t, "shallow", "n.txt", "n\n", says("n.txt\n\nRalph-Run: 1\n"))
	theirs := people(t, f, "people.txt")
	git(t, seed, "commit", "-q", "--amend", "-m", "second, amended")
	git(t, seed, "push", "-q", "-f", "origin", "main")
	word := told{word: repo.Word{Gained: []repo.Gained{{Base: "main", Head: was}}}}
	r, err := open(t, f.checkout(t, true), f.url, word.option, updates(repo.UpdateRebase))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), theirs[:7]) {
		t.Errorf("Begin() = %v, want the commit of somebody else named", err)
	}
	second := begin(t, f.checkout(t, true), f.url, word.option)
	write(t, filepath.Join(second.dir, "y.txt"), "y\n")
	second.pushed(t, f)
	onlyNew(t, f, "n.txt", "people.txt", "y.txt")
}
