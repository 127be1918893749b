package repo

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/index"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// maxAttributeBytes bounds a file of attributes we read; git's own bound.
const maxAttributeBytes = 100 << 20

// probeName is a name that the probe's own attributes give to Git LFS.
const probeName = "ralph-lfs-probe"

// CheckLFS refuses, before anything is spent, a run that could change files of
// Git LFS and not publish them: the guest's git must run git-lfs, and the server
// must take objects when the run pushes. Call it when setup is done, before
// the agent starts. A repository without such files, and one whose files
// Options.AddPaths does not name, costs no process. The error is a *LFSError, or
// says what the guest's git said.
func (r *Repo) CheckLFS(ctx context.Context) error {
	if !r.usesLFS() {
		return nil
	}
	if touched, err := r.touchesLFS(ctx); !touched || err != nil {
		return err
	}
	ok, err := r.tree.FilterConfigured(ctx, "lfs")
	if err != nil {
		return err
	}
	if !ok {
		return &LFSError{What: "the filter lfs is not configured for the agent's user, so their raw content would be committed: " + lfsSetUp}
	}
	if err := r.probeFilter(ctx); err != nil {
		return &LFSError{What: "git-lfs does not run for the agent's user, so their raw content would be committed: " + lfsSetUp, Err: err}
	}
	if r.objects.Remote == nil || !r.opt.Push {
		return nil
	}
	return r.probeServer(ctx)
}

const lfsSetUp = "install git-lfs in the image or in setup and run git lfs install there, or leave these files out with add-paths (. and :(exclude,attr:filter=lfs))"

// filterTrouble names the error of a git that could not even compare files: a
// checkout with lfs: true writes the filter into the repository's configuration,
// and here there may be no git-lfs to run it.
func (r *Repo) filterTrouble(ctx context.Context, err error) error {
	if _, ran := worktree.ExitCode(err); !ran || !r.usesLFS() {
		return err
	}
	if perr := r.probeFilter(ctx); perr != nil {
		return &LFSError{What: "git-lfs does not run for the agent's user: install it in the image", Err: perr}
	}
	return err
}

// usesLFS looks at the attributes in the work tree, going by the index.
func (r *Repo) usesLFS() bool {
	if b, err := files.Read(r.tree.Common, "info/attributes", maxAttributeBytes); err == nil && lfs.Mentioned(b) {
		return true
	}
	index, err := r.tree.Index()
	if err != nil {
		return false
	}
	names := attributeFiles(index)
	if len(names) == 0 {
		return false
	}
	top, err := os.OpenRoot(r.tree.Top)
	if err != nil {
		return false
	}
	defer top.Close()
	return slices.ContainsFunc(names, func(name string) bool {
		b, err := files.Read(top, filepath.FromSlash(name), maxAttributeBytes)
		return err == nil && lfs.Mentioned(b)
	})
}

const attributesName = ".gitattributes"

// attributeFiles lists the tracked files of attributes that an index, raw, names. What
// cannot be read names none.
func attributeFiles(raw []byte) (names []string) {
	index.Walk(raw, func(name []byte, _ int) {
		if bytes.HasSuffix(name, []byte(attributesName)) && path.Base(string(name)) == attributesName {
			names = append(names, string(name))
		}
	})
	return names
}

// touchesLFS says that a change of the run could be one of Git LFS: without
// add-paths each could, else there is such a file that it names.
func (r *Repo) touchesLFS(ctx context.Context) (bool, error) {
	if len(r.tree.Paths) == 0 {
		return true, nil
	}
	if err := r.tree.CopyIndex(); err != nil {
		return false, err
	}
	list, err := r.tree.OutputEnv(ctx, r.tree.IndexEnv(), nil, append([]string{"ls-files", "-z", "--"}, r.tree.Paths...)...)
	if list == "" || err != nil {
		return false, err
	}
	byPath, err := r.tree.Filters(ctx, list)
	if err != nil {
		return false, err
	}
	for _, filter := range byPath {
		if lfs.Asked(filter) {
			return true, nil
		}
	}
	return false, nil
}

// probeFilter lets the guest's git clean a pointer, as it would a file.
func (r *Repo) probeFilter(ctx context.Context) error {
	const name = "lfs-attributes"
	if err := files.Replace(r.tree.Temp, name, strings.NewReader(probeName+" filter=lfs -text\n"), files.NewMeta(r.tree.Temp)); err != nil {
		return err
	}
	got, err := r.tree.Output(ctx, strings.NewReader(lfs.Probe), "-c", "core.attributesFile="+filepath.Join(r.tree.Temp.Name(), name), "-c", "filter.lfs.required=true",
		"hash-object", "--stdin", "--path="+probeName)
	var g *worktree.GitError
	switch {
	case errors.As(err, &g):
		return errors.New(g.Message(300))
	case err != nil:
		return err
	case strings.TrimSpace(got) != plumbing.ComputeHash(plumbing.BlobObject, []byte(lfs.Probe)).String():
		return errors.New("the filter makes something else of a pointer")
	}
	return nil
}

// probeServer asks to upload an object, and does not send it.
func (r *Repo) probeServer(ctx context.Context) error {
	if err := r.sameLFS(ctx); err != nil {
		return err
	}
	p, _ := lfs.ParsePointer([]byte(lfs.Probe))
	answers, err := r.lfsServer().Batch(ctx, []lfs.File{{Pointer: p}})
	if err == nil {
		if a := answers[p.OID]; a.Error != nil {
			err = &lfs.StatusError{Status: a.Error.Code, Text: printable.Line(a.Error.Message, 300)}
		}
	}
	var s *lfs.StatusError
	if !errors.As(err, &s) {
		return err
	}
	const orElse = "; or leave these files out with add-paths (. and :(exclude,attr:filter=lfs)), or set push: false"
	switch s.Status {
	case http.StatusNotFound, http.StatusNotImplemented, http.StatusOK, http.StatusMethodNotAllowed:
		return &LFSError{What: "the server takes none: switch Git LFS on there" + orElse, Err: err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &LFSError{What: "the token may not send files to the server: give it " + remote.PermContents + ", or look at the account's LFS quota" + orElse, Err: err}
	}
	return &LFSError{What: "the server does not take files" + orElse, Err: err}
}

// sameLFS refuses a repository whose files are kept by a server other than its
// own: our token is not for that one.
func (r *Repo) sameLFS(ctx context.Context) error {
	top, err := os.OpenRoot(r.tree.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	b, err := files.Read(top, ".lfsconfig", gitconfig.MaxBytes)
	if err != nil {
		return nil
	}
	c, err := gitconfig.Parse(b)
	if err != nil {
		return nil // git-lfs cannot read it either
	}
	for _, v := range c.Vars {
		if v.Key != "url" && v.Key != "pushurl" && v.Key != "lfsurl" && v.Key != "lfspushurl" || v.Section != "lfs" && v.Section != "remote" {
			continue
		}
		if strings.TrimSuffix(v.Value, "/") != r.lfsServer().Address() {
			return &LFSError{What: "keeps them on another server (.lfsconfig: " + printable.Line(v.Value, 200) + "), which ralph does not send files to: leave these files out with add-paths (. and :(exclude,attr:filter=lfs)), or set push: false"}
		}
	}
	return nil
}

// LFSError says why a run that may change files of Git LFS could not publish
// them.
type LFSError struct {
	What string // what is in the way, and what would be right
	Err  error  // may be nil
}

func (e *LFSError) Error() string {
	s := "this repository keeps files with Git LFS, and " + e.What
	if e.Err != nil {
		s += " (" + printable.Line(e.Err.Error(), 400) + ")"
	}
	return s
}

func (e *LFSError) Unwrap() error { return e.Err }
