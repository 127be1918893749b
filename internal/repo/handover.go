package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/index"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// maxIndexBytes bounds the index we copy: a million files make 100 MB.
	maxIndexBytes = 1 << 30
	// maxShallowBytes bounds the list of commits without parents.
	maxShallowBytes = 16 << 20
)

// importCommit takes a commit and its trees, without its blobs and its
// parents, from the guest.
func (r *Repo) importCommit(ctx context.Context, h plumbing.Hash) error {
	filter := []string{"--revs", "--filter=blob:none"}
	if !r.store.Has(h) {
		// A commit that is called shallow is packed without its parents.
		if err := r.importObjects(ctx, []string{"--shallow " + h.String(), h.String()}, filter...); err != nil {
			return err
		}
	}
	c, err := r.store.Commit(h)
	if err != nil {
		return err
	}
	if r.store.Has(c.TreeHash) && r.store.Whole(c.TreeHash) {
		return nil
	}
	return r.importObjects(ctx, []string{c.TreeHash.String()}, filter...)
}

// importObjects takes what pack-objects makes of the given revisions into the
// store. Whole objects only: a delta would have to be trusted before it can be
// measured.
func (r *Repo) importObjects(ctx context.Context, revs []string, options ...string) error {
	return r.importLimited(ctx, store.MaxPackBytes, revs, options...)
}

func (r *Repo) importLimited(ctx context.Context, limit int64, revs []string, options ...string) error {
	f, err := r.store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	args := append([]string{
		"-c", "pack.compression=1",
		"pack-objects", "-q", "--stdout", "--window=0", "--no-reuse-delta", "--no-use-bitmap-index", "--threads=1",
	}, options...)
	in := strings.NewReader(strings.Join(revs, "\n") + "\n")
	if err := r.git(ctx, in, &limitWriter{w: f, left: limit}, args...); err != nil {
		return err
	}
	if _, err := r.store.ImportPack(f, true); err != nil {
		return fmt.Errorf("what the workspace handed over: %w", err)
	}
	return nil
}

type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errTooMuch
	}
	return l.w.Write(p)
}

// indexName is the guest's copy of the index, inside Options.Temp.
const indexName = "index"

func (r *Repo) indexEnv() []string {
	return []string{"GIT_INDEX_FILE=" + filepath.Join(r.opt.Temp, indexName)}
}

// copyIndex puts a copy of the workspace's index where the guest stages. The
// copy keeps the time stamp: git tells by it which files were written in the
// same tick as the index and have to be looked into. Without a readable index
// the last copy serves: a fresh one would forget files that are both tracked
// and ignored.
func (r *Repo) copyIndex() error {
	f, info, err := files.Open(r.gitDir, indexName)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info.Size() > maxIndexBytes {
		return fmt.Errorf("the workspace's index has more than %d bytes", maxIndexBytes)
	}
	if ok, err := index.Sound(f, info.Size()); !ok || err != nil {
		return err
	}
	meta := files.Meta{Mode: 0o644, UID: -1, GID: -1, MTime: info.ModTime()}
	if d, err := r.temp.Stat("."); err == nil {
		m := files.MetaOf(d)
		meta.UID, meta.GID = m.UID, m.GID
	}
	return files.Replace(r.temp, indexName, io.NewSectionReader(f, 0, info.Size()), meta)
}

// returnIndex makes the guest's copy the workspace's index.
func (r *Repo) returnIndex() error {
	f, info, err := files.Open(r.temp, indexName)
	if err != nil {
		return err
	}
	defer f.Close()
	meta := files.Meta{Mode: 0o644, UID: -1, GID: -1, MTime: info.ModTime()}
	if old, err := r.gitDir.Lstat(indexName); err == nil && old.Mode().IsRegular() {
		meta = files.MetaOf(old)
	} else if d, err := r.gitDir.Stat("."); err == nil {
		m := files.MetaOf(d)
		meta.UID, meta.GID = m.UID, m.GID
	}
	meta.MTime = info.ModTime()
	return files.Replace(r.gitDir, indexName, io.LimitReader(f, maxIndexBytes), meta)
}

// exclusions are the pathspecs that keep run files and credentials out. git refuses a pathspec
// that leads through a symbolic link: a link planted where a folder of ours
// belongs is kept out itself.
func (r *Repo) exclusions() []string {
	specs := []string{":(exclude,top,glob)**/" + signInFiles}
	for _, p := range r.runFiles {
		for i := strings.IndexByte(p, '/'); i > 0; {
			if info, err := os.Lstat(filepath.Join(r.top, p[:i])); err == nil && !info.IsDir() {
				p = p[:i]
				break
			}
			next := strings.IndexByte(p[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
		specs = append(specs, ":(exclude,top,glob)"+wildcard(p), ":(exclude,top,glob)"+wildcard(p)+"/**")
	}
	return specs
}

// wildcard makes a pattern of a plain path: git add takes an exclusion without
// a wildcard for a path it was asked to add, and fails when it is ignored.
func wildcard(path string) string {
	if path == "" || strings.ContainsAny(path, "*?[\\") {
		return path
	}
	return path[:len(path)-1] + "[" + path[len(path)-1:] + "]"
}

// stage brings the guest's copy of the index to what `git add -A` makes of the
// work tree, and returns the tree. Files git cannot read are noted and left as
// they were.
func (r *Repo) stage(ctx context.Context) (tree plumbing.Hash, notes []string, err error) {
	if err := r.copyIndex(); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	return r.stageCopy(ctx)
}

// stageCopy is stage for a copy that has just been made.
func (r *Repo) stageCopy(ctx context.Context) (tree plumbing.Hash, notes []string, err error) {
	if _, err := r.temp.Lstat(indexName); err != nil {
		if err := r.gitEnv(ctx, r.indexEnv(), nil, nil, "read-tree", "HEAD"); err != nil {
			return plumbing.ZeroHash, nil, err
		}
	}
	args := []string{"add", "-A", "--ignore-errors", "--", ":(top)"}
	args = append(args, r.exclusions()...)
	if err := r.gitEnv(ctx, r.indexEnv(), nil, nil, args...); err != nil {
		var g *GuestError
		if !errors.As(err, &g) || g.ExitCode != 1 {
			return plumbing.ZeroHash, nil, err
		}
		notes = append(notes, "git could not stage everything: "+g.said(400))
	}
	b := &bounded{left: 100}
	if err := r.gitEnv(ctx, r.indexEnv(), nil, b, "write-tree"); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	tree, err = parseHash(b.String())
	return tree, notes, err
}

func parseHash(s string) (plumbing.Hash, error) {
	s = strings.TrimSpace(s)
	if h := plumbing.NewHash(s); h.String() == s && !h.IsZero() {
		return h, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("git answered %q instead of an object id", printable.Line(s, 80))
}

// isRunFile says that a path is ralph's own state.
func (r *Repo) isRunFile(p string) bool {
	for _, pattern := range r.runFiles {
		for q := p; q != "." && q != "/"; q = path.Dir(q) {
			if ok, err := path.Match(pattern, q); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// handBack gives the guest objects of ours.
func (r *Repo) handBack(ctx context.Context, hashes []plumbing.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pw.CloseWithError(r.store.WritePack(pw, hashes))
	}()
	err := r.git(ctx, pr, nil, "unpack-objects", "-q")
	pr.CloseWithError(io.ErrClosedPipe)
	<-done
	return err
}

// handFile gives the guest a fetched pack.
func (r *Repo) handFile(ctx context.Context, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return r.git(ctx, f, nil, "index-pack", "--stdin")
}

// graft tells the workspace that a commit's parents are not there.
func (r *Repo) graft(commits []plumbing.Hash) error {
	if len(commits) == 0 {
		return nil
	}
	var meta files.Meta
	old, err := files.Read(r.common, "shallow", maxShallowBytes)
	switch {
	case err == nil:
		info, err := r.common.Lstat("shallow")
		if err != nil {
			return err
		}
		meta = files.MetaOf(info)
	case errors.Is(err, fs.ErrNotExist):
		info, err := r.common.Stat(".")
		if err != nil {
			return err
		}
		meta = files.MetaOf(info)
		meta.Mode = 0o644
	default:
		return err
	}
	text := string(old)
	for _, h := range commits {
		if !strings.Contains(text, h.String()) {
			text += h.String() + "\n"
		}
	}
	return files.Replace(r.common, "shallow", strings.NewReader(text), meta)
}

// attachFirst attaches the work branch at the commit that is checked out.
func (r *Repo) attachFirst(ctx context.Context) error {
	if !r.clean || r.attached() || !r.noRef("refs/heads/"+r.opt.Branch) {
		return r.attach(ctx, r.base)
	}
	// Branch and HEAD in one command. Without -q, a new branch is all that git
	// makes; with it, it also writes the index.
	args := []string{"-c", "branch.autoSetupMerge=false", "-c", "submodule.recurse=false", "checkout", "-b", r.opt.Branch}
	if r.git(ctx, nil, nil, args...) == nil {
		if head, err := r.head(ctx); err == nil && head == r.base {
			return nil
		}
	}
	return r.attach(ctx, r.base) // HEAD had moved, or git says what is wrong
}

// attach makes the work branch stand at a commit and HEAD point to it.
func (r *Repo) attach(ctx context.Context, at plumbing.Hash) error {
	ref := "refs/heads/" + r.opt.Branch
	if err := r.git(ctx, nil, nil, "update-ref", "-m", "ralph: checkpoint", ref, at.String()); err != nil {
		return err
	}
	if b, err := files.Read(r.gitDir, "HEAD", 4096); err == nil && strings.TrimSpace(string(b)) == "ref: "+ref {
		return nil
	}
	return r.git(ctx, nil, nil, "symbolic-ref", "-m", "ralph: work branch", "HEAD", ref)
}
