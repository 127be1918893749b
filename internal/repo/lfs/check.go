package lfs

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
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// maxAttributeBytes bounds a file of attributes we read; git's own bound.
const maxAttributeBytes = 100 << 20

// probeName is a name that the probe's own attributes give to Git LFS.
const probeName = "ralph-lfs-probe"

// Check finds out whether a run could change files of Git LFS and not publish them.
type Check struct {
	Tree   *worktree.Tree
	Server *Server // nil: nothing is pushed
}

// Run returns an *Error unless git in the sandbox runs git-lfs and the server takes objects,
// or what git said. A repository without files of Git LFS, and one whose files add-paths
// does not name, costs no process.
func (c Check) Run(ctx context.Context) error {
	if !c.usesLFS() {
		return nil
	}
	if touched, err := c.touchesLFS(ctx); !touched || err != nil {
		return err
	}
	ok, err := c.Tree.FilterConfigured(ctx, "lfs")
	if err != nil {
		return err
	}
	if !ok {
		return &Error{What: "the filter lfs is not configured for the agent's user, so their raw content would be committed: " + lfsSetUp}
	}
	if err := c.probeFilter(ctx); err != nil {
		return &Error{What: "git-lfs does not run for the agent's user, so their raw content would be committed: " + lfsSetUp, Err: err}
	}
	if c.Server == nil {
		return nil
	}
	return c.probeServer(ctx)
}

const lfsSetUp = "install git-lfs in the image or in setup and run git lfs install there, or leave these files out with add-paths (. and :(exclude,attr:filter=lfs))"

// Explain returns an *Error in the place of err where git could not even compare files: a
// checkout with lfs: true writes the filter into the repository's configuration, and
// there may be no git-lfs to run it.
func (c Check) Explain(ctx context.Context, err error) error {
	if _, ran := worktree.ExitCode(err); !ran || !c.usesLFS() {
		return err
	}
	if perr := c.probeFilter(ctx); perr != nil {
		return &Error{What: "git-lfs does not run for the agent's user: install it in the image", Err: perr}
	}
	return err
}

// usesLFS looks at the attributes in the work tree, going by the index.
func (c Check) usesLFS() bool {
	if b, err := files.Read(c.Tree.Common, "info/attributes", maxAttributeBytes); err == nil && mentioned(b) {
		return true
	}
	index, err := c.Tree.Index()
	if err != nil {
		return false
	}
	names := attributeFiles(index)
	if len(names) == 0 {
		return false
	}
	top, err := os.OpenRoot(c.Tree.Top)
	if err != nil {
		return false
	}
	defer top.Close()
	return slices.ContainsFunc(names, func(name string) bool {
		b, err := files.Read(top, filepath.FromSlash(name), maxAttributeBytes)
		return err == nil && mentioned(b)
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

// touchesLFS reports whether a change of the run could be one of Git LFS: without
// add-paths each could, else there is such a file that it names.
func (c Check) touchesLFS(ctx context.Context) (bool, error) {
	if len(c.Tree.Paths) == 0 {
		return true, nil
	}
	if err := c.Tree.CopyIndex(); err != nil {
		return false, err
	}
	list, err := c.Tree.OutputEnv(ctx, c.Tree.IndexEnv(), nil, append([]string{"ls-files", "-z", "--"}, c.Tree.Paths...)...)
	if list == "" || err != nil {
		return false, err
	}
	byPath, err := c.Tree.Filters(ctx, list)
	if err != nil {
		return false, err
	}
	for _, filter := range byPath {
		if Asked(filter) {
			return true, nil
		}
	}
	return false, nil
}

// probeFilter lets git in the sandbox clean a pointer, as it would a file.
func (c Check) probeFilter(ctx context.Context) error {
	const name = "lfs-attributes"
	if err := files.Replace(c.Tree.Temp, name, strings.NewReader(probeName+" filter=lfs -text\n"), files.NewMeta(c.Tree.Temp)); err != nil {
		return err
	}
	got, err := c.Tree.Output(ctx, strings.NewReader(Probe), "-c", "core.attributesFile="+filepath.Join(c.Tree.Temp.Name(), name), "-c", "filter.lfs.required=true",
		"hash-object", "--stdin", "--path="+probeName)
	var g *worktree.GitError
	switch {
	case errors.As(err, &g):
		return errors.New(g.Message(300))
	case err != nil:
		return err
	case strings.TrimSpace(got) != plumbing.ComputeHash(plumbing.BlobObject, []byte(Probe)).String():
		return errors.New("the filter makes something else of a pointer")
	}
	return nil
}

// probeServer asks to upload an object, and does not send it.
func (c Check) probeServer(ctx context.Context) error {
	if err := c.sameLFS(); err != nil {
		return err
	}
	p, _ := parsePointer([]byte(Probe))
	answers, err := c.Server.batch(ctx, []File{{Pointer: p}})
	if err == nil {
		if a := answers[p.OID]; a.Error != nil {
			err = &StatusError{Status: a.Error.Code, Text: printable.Line(a.Error.Message, 300)}
		}
	}
	var s *StatusError
	if !errors.As(err, &s) {
		return err
	}
	const orElse = "; or leave these files out with add-paths (. and :(exclude,attr:filter=lfs)), or set push: false"
	switch s.Status {
	case http.StatusNotFound, http.StatusNotImplemented, http.StatusOK, http.StatusMethodNotAllowed:
		return &Error{What: "the server takes none: switch Git LFS on there" + orElse, Err: err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Error{What: "the token may not send files to the server: give it " + remote.PermContents + ", or look at the account's LFS quota" + orElse, Err: err}
	}
	return &Error{What: "the server does not take files" + orElse, Err: err}
}

// sameLFS refuses a repository whose files are kept by a server other than its
// own: our token is not for that one.
func (c Check) sameLFS() error {
	top, err := os.OpenRoot(c.Tree.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	config, err := gitconfig.Read(top, ".lfsconfig")
	if err != nil {
		return nil // there is none, or git-lfs cannot read it either
	}
	for _, v := range config.Vars {
		if v.Key != "url" && v.Key != "pushurl" && v.Key != "lfsurl" && v.Key != "lfspushurl" || v.Section != "lfs" && v.Section != "remote" {
			continue
		}
		if strings.TrimSuffix(v.Value, "/") != c.Server.Address() {
			return &Error{What: "keeps them on another server (.lfsconfig: " + printable.Line(v.Value, 200) + "), which ralph does not send files to: leave these files out with add-paths (. and :(exclude,attr:filter=lfs)), or set push: false"}
		}
	}
	return nil
}

// Error says why a run that may change files of Git LFS could not publish
// them.
type Error struct {
	What string // what is in the way, and what would be right
	Err  error  // may be nil
}

func (e *Error) Error() string {
	s := "this repository keeps files with Git LFS, and " + e.What
	if e.Err != nil {
		s += " (" + printable.Line(e.Err.Error(), 400) + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
