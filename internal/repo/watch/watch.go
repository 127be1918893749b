// Package watch reports whether a workspace changes, for a run that publishes nothing. It
// asks git alone: go-git does not read every format that such a repository may have.
package watch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Watcher reports whether a workspace changes. It commits nothing and moves no branch.
type Watcher struct {
	tree  *worktree.Tree
	cache func(path string) string
	start ralph.Change
	last  string // tree of the last snapshot
	base  string // tree of the last checkpoint

	tracked map[string]bool // by cache, as of the last look
}

// Open notes the workspace as it is now, in any format of repository. cache returns the
// cache that a path lies in, or an empty string.
func Open(ctx context.Context, opt worktree.Options, cache func(path string) string) (*Watcher, error) {
	opt.AnyFormat = true
	tree, err := worktree.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	w := &Watcher{tree: tree, cache: cache, tracked: map[string]bool{}}
	if w.start, err = w.look(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close releases what Open took.
func (w *Watcher) Close() error { return w.tree.Close() }

// Start returns the commit that HEAD pointed to at the start; a zero id if there was none.
func (w *Watcher) Start() string { return w.start.Head }

// Seen returns the id of the tree of the last snapshot, or of the start.
func (w *Watcher) Seen() string { return cmp.Or(w.last, w.start.Tree) }

// Lost is what was changed and not committed at the start, and is no more by the last snapshot.
func (w *Watcher) Lost(ctx context.Context) (worktree.Loss, error) {
	if strings.Trim(w.start.Head, "0") == "" { // no commit yet
		return worktree.Loss{}, nil
	}
	return w.tree.Lost(ctx, w.start.Head, w.start.Tree, w.Seen(), func(string) bool { return false })
}

// Snapshot describes the tree as it is now. Files are counted against the last
// Checkpoint, or the start; an unfinished merge is no error.
func (w *Watcher) Snapshot(ctx context.Context) (ralph.Change, error) {
	now, err := w.look(ctx)
	if err != nil {
		return ralph.Change{}, fmt.Errorf("the repository can no longer be read: %w", err)
	}
	now.Before, now.After, w.last = cmp.Or(w.base, w.start.Tree), now.Tree, now.Tree
	work, err := w.work(ctx, now.Tree)
	if err != nil {
		return ralph.Change{}, err
	}
	now.Work, now.SinceStart = work.ID(), now.Head != w.start.Head || !work.Empty()
	files, err := w.files(ctx, now.Before, now.After)
	if err != nil {
		return ralph.Change{}, err
	}
	now.Files = len(files)
	for _, f := range files {
		now.Insertions, now.Deletions = now.Insertions+f.Insertions, now.Deletions+f.Deletions
		if f.Uncounted {
			now.Uncounted++
		}
	}
	return now, nil
}

// Checkpoint commits nothing: what follows is counted from here.
func (w *Watcher) Checkpoint(context.Context, ralph.Iteration) (ralph.Commit, error) {
	w.base = w.last
	return ralph.Commit{}, nil
}

// PushCheckpoint pushes nothing.
func (w *Watcher) PushCheckpoint(_ context.Context, c ralph.Commit) ralph.Commit { return c }

func (w *Watcher) look(ctx context.Context) (ralph.Change, error) {
	head, err := w.tree.Ref(ctx, "HEAD")
	if err != nil {
		return ralph.Change{}, err
	}
	if err := w.tree.CopyIndex(); err != nil {
		return ralph.Change{}, err
	}
	if head.IsZero() { // no commit yet
		if err := w.tree.GitEnv(ctx, w.tree.IndexEnv(), nil, nil, "read-tree", "--empty"); err != nil {
			return ralph.Change{}, err
		}
	}
	tree, _, err := w.tree.StageCopy(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	return ralph.Change{Head: head.String(), Tree: tree.String()}, nil
}

// work returns what has changed since the start, without caches of which the
// repository holds nothing.
func (w *Watcher) work(ctx context.Context, tree string) (Work, error) {
	var all Work
	if tree == w.start.Tree {
		return all, nil
	}
	out, err := w.tree.Output(ctx, nil, "diff-tree", "-r", "-z", "--no-renames", w.start.Tree, tree)
	if err != nil {
		return all, err
	}
	w.tracked = map[string]bool{}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // ":100644 100644 <id> <id> M" and the path
		if is, path := fields[i], fields[i+1]; !w.untracked(ctx, path) {
			all.Add(path, is)
		}
	}
	return all, nil
}

// Files returns what changed between the start and the last snapshot, sorted by path and
// without caches of which the repository holds nothing.
func (w *Watcher) Files(ctx context.Context) ([]ralph.File, error) {
	return w.files(ctx, w.start.Tree, w.Seen())
}

func (w *Watcher) files(ctx context.Context, from, to string) ([]ralph.File, error) {
	if from == to {
		return nil, nil
	}
	out, err := w.tree.Output(ctx, nil, "-c", "core.bigFileThreshold=256k", "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-ext-diff", "--no-textconv", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	var files []ralph.File
	kinds := map[string]string{}
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		if strings.HasPrefix(fields[i], ":") && i+1 < len(fields) { // ":100644 100644 <id> <id> M" and the path
			kinds[fields[i+1]] = fields[i][len(fields[i])-1:]
			i++
			continue
		}
		count := strings.SplitN(fields[i], "\t", 3) // "1\t2\tpath", or "-\t-\tpath" of a binary file
		if len(count) < 3 || w.untracked(ctx, count[2]) {
			continue
		}
		f := ralph.File{Path: count[2], New: kinds[count[2]] == "A", Gone: kinds[count[2]] == "D"}
		var wrong [2]error
		f.Insertions, wrong[0] = strconv.Atoi(count[0])
		f.Deletions, wrong[1] = strconv.Atoi(count[1])
		f.Uncounted = wrong != [2]error{}
		files = append(files, f)
	}
	return files, nil
}

// untracked reports whether a path lies in a cache of which the repository holds nothing.
func (w *Watcher) untracked(ctx context.Context, path string) bool {
	cache := w.cache(path)
	if cache == "" {
		return false
	}
	held, known := w.tracked[cache]
	if !known {
		found, err := w.tree.Output(ctx, nil, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", cache)
		held = err != nil || found != "" // without a commit nothing is tracked
		w.tracked[cache] = held
	}
	return !held
}

// Diffs returns the patches from one tree to another, for people: of snapshots, each at
// most limit bytes, with a comment on top where it would be longer.
func (w *Watcher) Diffs(ctx context.Context, trees [][2]string, limit int) ([][]byte, error) {
	s := splitter{limit: limit}
	for _, t := range trees {
		s.heads = append(s.heads, t[0]+" "+t[1]+"\n")
	}
	err := w.tree.Git(ctx, strings.NewReader(strings.Join(s.heads, "")), &s,
		"-c", "core.bigFileThreshold=256k", "diff-tree", "--stdin", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
	return s.patches, err
}

// splitter takes git's patches apart: each stands behind the line that asked for it, with
// which no line of a patch can be confused.
type splitter struct {
	heads   []string // of those still to come
	limit   int
	patches [][]byte
	line    []byte // that goes on
	full    bool   // the last patch is longer than limit
}

func (s *splitter) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		s.line = append(s.line, part[:min(len(part), s.limit)]...)
		if part[len(part)-1] != '\n' {
			continue
		}
		if len(s.heads) > 0 && string(s.line) == s.heads[0] {
			s.patches, s.heads, s.full = append(s.patches, nil), s.heads[1:], false
		} else if n := len(s.patches) - 1; n >= 0 && !s.full {
			if s.full = len(s.patches[n])+len(s.line) > s.limit; s.full {
				s.patches[n] = append([]byte("# not all of this patch: too long\n"), s.patches[n]...)
			} else {
				s.patches[n] = append(s.patches[n], s.line...)
			}
		}
		s.line = s.line[:0]
	}
	return len(p), nil
}

// Work is a set of changes. Equal sets have equal ids.
type Work struct {
	list strings.Builder
}

// Add adds a path with a description of what it holds.
func (w *Work) Add(path, is string) { fmt.Fprintf(&w.list, "%s\x00%s\x00", path, is) }

// Empty reports whether no change was added.
func (w *Work) Empty() bool { return w.list.Len() == 0 }

// ID identifies the set.
func (w *Work) ID() string {
	sum := sha256.Sum256([]byte(w.list.String()))
	return hex.EncodeToString(sum[:])
}
