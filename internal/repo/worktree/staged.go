package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// stagedName is a copy, in Options.Temp, of the index with what was staged before the run.
const stagedName = "staged-index"

// Staged returns the entries of the index that a commit does not hold, each as
// store.Entry.String, and keeps the index for RestoreStaged.
func (t *Tree) Staged(ctx context.Context, commit plumbing.Hash) (map[string]string, error) {
	if err := t.CopyIndex(); err != nil {
		return nil, err
	}
	if _, err := t.Temp.Lstat(indexName); err != nil {
		return nil, nil //nolint:nilerr,nilnil // without an index nothing is staged
	}
	changes, err := t.rawDiff(ctx, "diff-index", "--cached", "--ita-visible-in-index", "--no-renames", "-z", commit.String())
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	staged := map[string]string{}
	for path, entries := range changes {
		staged[path] = entries[1]
	}
	return staged, copyIndex(t.Temp, indexName, t.Temp, stagedName, files.NewMeta(t.Temp))
}

// RestoreStaged makes the copy of the index the one that Staged kept, with what was
// committed since.
func (t *Tree) RestoreStaged(ctx context.Context, committed []store.Change) error {
	if err := copyIndex(t.Temp, stagedName, t.Temp, indexName, files.NewMeta(t.Temp)); err != nil {
		return err
	}
	var info strings.Builder
	for _, ch := range committed {
		fmt.Fprintf(&info, "%o %s\t%s\x00", uint32(ch.New.Mode), ch.New.Hash, ch.Path)
	}
	if err := t.GitEnv(ctx, t.IndexEnv(), strings.NewReader(info.String()), nil, "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	err := t.GitEnv(ctx, t.IndexEnv(), nil, nil, "update-index", "-q", "--refresh")
	if _, ran := ExitCode(err); ran { // it says so when a file differs
		return nil
	}
	return err
}

// copyIndex copies an index with its time stamp: git tells by it which files were written
// in the same tick as the index and have to be looked into.
func copyIndex(from *os.Root, name string, to *os.Root, as string, meta files.Meta) error {
	f, info, err := files.Open(from, name)
	if err != nil {
		return err
	}
	defer f.Close()
	meta.MTime = info.ModTime()
	return files.Replace(to, as, io.LimitReader(f, maxIndexBytes), meta)
}

// Loss is what was changed and not committed at the start of a run, and is no more.
type Loss struct {
	Paths []string // sorted
	Specs []string // the same, as pathspecs for the directory of the run
	Ref   string   // a reference to what it was; empty: it could not be kept
}

// Lost looks for files that were changed at the start of a run, but for those of the run's own, and
// are gone now, or hold again what the commit head has. start and now are the staged trees
// then and now. What was moved is not lost.
func (t *Tree) Lost(ctx context.Context, head, start, now string, own func(path string) bool) (Loss, error) {
	var loss Loss
	if start == now {
		return loss, nil
	}
	dirty, err := t.rawDiff(ctx, "diff-tree", "-r", "-z", "--no-renames", head, start)
	if err != nil || len(dirty) == 0 {
		return loss, err
	}
	since, err := t.rawDiff(ctx, "diff-tree", "-r", "-z", "--no-renames", start, now)
	if err != nil {
		return loss, err
	}
	there := map[string]bool{}
	for _, entries := range since {
		there[entries[1]] = !nothing(entries[1])
	}
	for path, entries := range since {
		was, changed := dirty[path]
		if changed && (nothing(entries[1]) || entries[1] == was[0]) && !there[was[1]] && !own(path) {
			loss.Paths = append(loss.Paths, path)
		}
	}
	if len(loss.Paths) == 0 {
		return loss, nil
	}
	slices.Sort(loss.Paths)
	for _, path := range loss.Paths {
		if t.Prefix != "" {
			path = ":/" + path
		}
		loss.Specs = append(loss.Specs, path)
	}
	loss.Ref, err = t.keepTree(ctx, start, head, "ralph: what was uncommitted before the run\n")
	return loss, err
}

// nothing reports whether a raw diff says that there is no file.
func nothing(entry string) bool { return strings.HasPrefix(entry, "0000000 ") }

// rawDiff returns the old and the new entry of each path that a command of git's prints in
// the raw format with -z (git-diff-tree(1)), as store.Entry.String.
func (t *Tree) rawDiff(ctx context.Context, args ...string) (map[string][2]string, error) {
	out, err := t.OutputEnv(ctx, t.IndexEnv(), nil, args...)
	if err != nil {
		return nil, err
	}
	changes := map[string][2]string{}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // ":100644 100644 <id> <id> M" and the path
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 {
			return nil, fmt.Errorf("git printed %q instead of a change", printable.Line(fields[i], 80))
		}
		changes[fields[i+1]] = [2]string{"0" + f[0] + " " + f[2], "0" + f[1] + " " + f[3]}
	}
	return changes, nil
}

// keepTree commits a tree on top of a commit and gives it a reference of ours, whose name it
// returns: nothing of it is lost then.
func (t *Tree) keepTree(ctx context.Context, tree, parent, message string) (ref string, err error) {
	commit, err := t.Line(ctx, "-c", "user.name=ralph", "-c", "user.email=ralph@localhost", "-c", "commit.gpgSign=false", "commit-tree", "-p", parent, "-m", message, tree)
	if err != nil {
		return "", err
	}
	// The objects were nobody's until now.
	if err := t.Git(ctx, nil, nil, "rev-list", "--objects", "--quiet", commit, "--not", parent); err != nil {
		return "", errors.Join(errors.New("a part of it is not there any more"), err)
	}
	return t.keep(ctx, commit)
}
