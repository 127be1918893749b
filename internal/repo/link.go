package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	maxLinkBytes = 4096 // PATH_MAX
	maxLinkSteps = 40   // as the kernel follows
)

// links judges symbolic links that are new or lead elsewhere now: they stay
// within the tree, whoever checks it out and wherever. What the base had is not judged.
// A submodule that points to another commit is named; a new repository in the work tree
// never gets here (leftOut).
func (r *Repo) links(ctx context.Context, changes []store.Change, tree, commit plumbing.Hash) ([]ralph.Finding, error) {
	var found []ralph.Finding
	where := ""
	if !commit.IsZero() {
		where = "commit " + commit.String()[:7]
	}
	for _, ch := range changes {
		f := ralph.Finding{Kind: ralph.FindingLink, Severity: ralph.Block, Path: ch.Path, Where: where}
		switch {
		case ch.New.IsGitlink() && ch.Old.IsGitlink():
			f.Severity, f.Rule = ralph.Flag, "submodule"
			f.Text = fmt.Sprintf("the submodule points to another commit (%s): see that it is on a branch of its repository before this is merged", ch.New.Hash.String()[:7])
		case ch.New.Mode == filemode.Symlink && (ch.Old.Mode != filemode.Symlink || ch.Old.Hash != ch.New.Hash):
			why, err := r.leaves(ctx, tree, ch)
			if err != nil {
				return nil, err
			}
			if why == "" {
				continue
			}
			f.Rule = "link"
			f.Text = "a symbolic link that " + why + ": make it relative, to something in the repository, or leave it out"
		default:
			continue
		}
		found = append(found, f)
	}
	return found, nil
}

// leaves says how a link leads out of the tree; empty: it does not.
func (r *Repo) leaves(ctx context.Context, tree plumbing.Hash, ch store.Change) (string, error) {
	target, err := r.linkTarget(ctx, ch.New.Hash)
	if err != nil {
		return "cannot be read", nil //nolint:nilerr // it is the finding
	}
	targets := []string{target}
	if strings.Contains(target, `\`) {
		targets = append(targets, strings.ReplaceAll(target, `\`, "/")) // as Windows reads it
	}
	for _, t := range targets {
		why, err := r.follow(ctx, tree, ch.Path, t)
		if why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// follow walks a link as the kernel would. What does not exist is walked by its
// name.
func (r *Repo) follow(ctx context.Context, tree plumbing.Hash, name, target string) (string, error) {
	if why := oddTarget(target); why != "" {
		return why, nil
	}
	at := strings.Split(name, "/")
	at = at[:len(at)-1]
	rest := strings.Split(target, "/")
	through := ""
	for steps := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			if len(at) == 0 {
				return "leads out of the repository" + through, nil
			}
			at = at[:len(at)-1]
			continue
		case gitName(part):
			return "leads into git's own folder" + through, nil
		}
		at = append(slices.Clip(at), part)
		e, err := r.objects.Store.Lookup(tree, strings.Join(at, "/"))
		if err != nil {
			return "", err
		}
		if e.Mode != filemode.Symlink {
			continue
		}
		if steps++; steps > maxLinkSteps {
			return "", nil // nobody can follow it
		}
		next, err := r.linkTarget(ctx, e.Hash)
		if err != nil {
			return "cannot be followed", nil //nolint:nilerr // it is the finding
		}
		through = fmt.Sprintf(", through %q", printable.Line(strings.Join(at, "/"), 200))
		if why := oddTarget(next); why != "" {
			return why + through, nil
		}
		at, rest = at[:len(at)-1], append(strings.Split(next, "/"), rest...)
	}
	return "", nil
}

// oddTarget says what is wrong with where a link leads, by itself.
func oddTarget(target string) string {
	switch {
	case target == "":
		return "leads nowhere"
	case len(target) > maxLinkBytes:
		return fmt.Sprintf("has a target of more than %d bytes", maxLinkBytes)
	case strings.ContainsRune(target, 0):
		return "has a target that holds a NUL"
	case strings.HasPrefix(target, "/"):
		return "leads to a place on the machine (an absolute path)"
	case len(target) > 1 && target[1] == ':' && target[0]|0x20 >= 'a' && target[0]|0x20 <= 'z':
		return "leads to a place on the machine (a drive of Windows)"
	}
	return ""
}

func (r *Repo) linkTarget(ctx context.Context, h plumbing.Hash) (string, error) {
	b, err := r.objects.Blob(ctx, h, 1<<20)
	return string(b), err
}
