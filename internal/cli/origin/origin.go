// Package origin looks at the branches of a task list as origin had them when they were
// fetched: no token is needed.
package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/cli/matrix"
	"github.com/org/ralph-action/internal/cli/usergit"
	"github.com/org/ralph-action/internal/tasks"
)

// View is the branches of origin.
type View struct {
	git  *usergit.Git // nil: there is no repository, so there are none
	list string       // path of tasks.json in the folder of git
}

// Look begins to look from a project's folder. What is not seen is said to stderr.
func Look(ctx context.Context, dir, list string, environ []string, stderr io.Writer) (*View, error) {
	if slices.Contains(environ, "GITHUB_ACTIONS=true") { // in a container the checkout is another user's
		environ = append(slices.Clip(environ), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	}
	git, err := usergit.Start(ctx, dir, environ)
	if errors.Is(err, usergit.ErrNoRepository) {
		return &View{}, nil
	} else if err != nil {
		return nil, err
	}
	if shallow, err := git.Run("rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
		fmt.Fprintln(stderr, "ralph: the clone is shallow, so branches of stories are not seen: check out with fetch-depth: 0")
	}
	return &View{git, list}, nil
}

// Close ends the look.
func (v *View) Close() {
	if v.git != nil {
		v.git.Close()
	}
}

// Story is the branch of a story; nil if it is missing, or all in what is checked out.
func (v *View) Story(name string) (*matrix.Branch, error) {
	ref := "refs/remotes/origin/" + name
	if there, err := v.open(ref, "HEAD"); !there || err != nil {
		return nil, err
	}
	var b matrix.Branch
	if text, err := v.file(ref); err == nil {
		b.List, _ = tasks.Read([]byte(text)) // one that cannot be read needs work
	}
	clean, err := v.git.Yes("merge-tree", "--write-tree", "HEAD", ref)
	b.Conflicts = !clean
	return &b, err
}

// open reports whether there is a branch with commits that another one lacks.
func (v *View) open(ref, base string) (bool, error) {
	if v.git == nil {
		return false, nil
	}
	if there, err := v.git.Yes("rev-parse", "--verify", "--quiet", ref); !there || err != nil {
		return false, err
	}
	merged, err := v.git.Yes("merge-base", "--is-ancestor", ref, base)
	return !merged && err == nil, err
}

// file is tasks.json of a commit.
func (v *View) file(commit string) (string, error) {
	return v.git.Run("cat-file", "blob", commit+":./"+v.list)
}
