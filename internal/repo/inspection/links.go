package inspection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	maxLinkBytes = 4096 // PATH_MAX
	maxLinkSteps = 40   // as the kernel follows
)

// Links finds symbolic links that are new or changed and lead out of the tree, on whatever
// machine it is checked out. A submodule that points to another commit is reported, too.
func Links(ctx context.Context, o *objects.Objects, changes []store.Change, tree, commit plumbing.Hash) ([]ralph.Finding, error) {
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
			why, err := leaves(ctx, o, tree, ch)
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

// Opened finds symbolic links, not changed themselves, that changes of others let lead out of
// the tree: those that stayed in it before. What brings no link and takes none opens none.
func Opened(ctx context.Context, o *objects.Objects, changes []store.Change, before, tree plumbing.Hash) ([]ralph.Finding, error) {
	changed := map[string]bool{}
	links := false
	for _, ch := range changes {
		changed[ch.Path] = true
		links = links || ch.Old.Mode == filemode.Symlink || ch.New.Mode == filemode.Symlink
	}
	if !links {
		return nil, nil
	}
	all, err := o.Store.Diff(plumbing.ZeroHash, tree, nil)
	if err != nil {
		return nil, err
	}
	var found []ralph.Finding
	for _, ch := range all {
		if ch.New.Mode != filemode.Symlink || changed[ch.Path] {
			continue
		}
		why, err := leaves(ctx, o, tree, ch)
		if err != nil {
			return nil, err
		}
		if why == "" {
			continue
		}
		if was, err := leaves(ctx, o, before, ch); err != nil || was != "" {
			continue
		}
		found = append(found, ralph.Finding{Kind: ralph.FindingLink, Severity: ralph.Block, Path: ch.Path, Rule: "link", Text: "a symbolic link that, with this, " + why})
	}
	return found, nil
}

// leaves says how a link leads out of the tree; empty if it does not.
func leaves(ctx context.Context, o *objects.Objects, tree plumbing.Hash, ch store.Change) (string, error) {
	target, err := linkTarget(ctx, o, ch.New.Hash)
	if err != nil {
		return "cannot be read", nil //nolint:nilerr // it is the finding
	}
	targets := []string{target}
	if strings.Contains(target, `\`) {
		targets = append(targets, strings.ReplaceAll(target, `\`, "/")) // as Windows reads it
	}
	for _, t := range targets {
		why, err := follow(ctx, o, tree, ch.Path, t)
		if why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// follow walks a link as the kernel would. What does not exist is walked by its
// name.
func follow(ctx context.Context, o *objects.Objects, tree plumbing.Hash, name, target string) (string, error) {
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
		case store.IsGitName(part):
			return "leads into git's own directory" + through, nil
		}
		at = append(slices.Clip(at), part)
		e, err := o.Store.Lookup(tree, strings.Join(at, "/"))
		if err != nil {
			return "", err
		}
		if e.Mode != filemode.Symlink {
			continue
		}
		if steps++; steps > maxLinkSteps {
			return "", nil // nobody can follow it
		}
		next, err := linkTarget(ctx, o, e.Hash)
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

func linkTarget(ctx context.Context, o *objects.Objects, h plumbing.Hash) (string, error) {
	b, err := o.Blob(ctx, h, 1<<20)
	return string(b), err
}
