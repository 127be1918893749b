package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/repo/bundle"
	"github.com/org/ralph-action/internal/repo/files"
)

// attempt is what an earlier attempt of a lane handed over.
type attempt struct {
	folder string
	result *fanout.Result
}

// Earlier finds in a directory of artifacts, a folder for each, what an earlier attempt of the
// lane handed over last, and has the branch begin there; nil: there is none that can be used,
// and the branch begins at the base. All of it is foreign. notes say what is not used, and why.
func Earlier(ctx context.Context, dir string, o Options) (result *fanout.Result, notes []string, err error) {
	if dir == "" {
		return nil, nil, o.Branch.Afresh(ctx)
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, o.Branch.Afresh(ctx)
	} else if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	found, notes, err := attempts(root, o)
	if err != nil {
		return nil, notes, err
	}
	for _, a := range found {
		tip, err := take(ctx, root, a, o)
		if err == nil {
			return a.result, notes, o.Branch.StartAt(ctx, tip, o.Base)
		}
		if ctx.Err() != nil {
			return nil, notes, err
		}
		notes = append(notes, fmt.Sprintf("%s of lanes is not gone on from: %v", strconv.Quote(a.folder), err))
	}
	if len(found) > 0 {
		notes = append(notes, "nothing that the lane handed over earlier can be used: it begins anew")
	}
	return nil, notes, o.Branch.Afresh(ctx)
}

// attempts are those of the lane, the newest first.
func attempts(root *os.Root, o Options) (found []attempt, notes []string, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	others := 0
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		data, err := files.Read(root, path.Join(e.Name(), fanout.ResultName), fanout.MaxFileBytes)
		if errors.Is(err, os.ErrNotExist) || !e.IsDir() {
			continue
		}
		var r *fanout.Result
		if err == nil {
			r, err = fanout.DecodeResult(data)
		}
		switch {
		case err != nil:
		case r.Key != o.Key.String():
			others++
			continue
		case r.Base != o.Base:
			err = fmt.Errorf("it began at %.12s, and %.12s is checked out", r.Base, o.Base)
		case r.Digest != o.Digest:
			err = errors.New("it worked on another task list than the one that is checked out")
		case !slices.EqualFunc(r.Stories, o.Stories, func(d fanout.Done, id string) bool { return d.ID == id }):
			err = errors.New("it worked on other stories")
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s of lanes is not gone on from: %v", strconv.Quote(e.Name()), err))
			continue
		}
		found = append(found, attempt{e.Name(), r})
	}
	if others > 0 {
		notes = append(notes, fmt.Sprintf("%d artifacts in lanes are of other lanes, and are not looked at", others))
	}
	slices.SortStableFunc(found, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(b.result.Sequence, a.result.Sequence), b.result.Ended.Compare(a.result.Ended))
	})
	return found, notes, nil
}

// take brings the commits of an attempt into the store and returns the last one.
func take(ctx context.Context, root *os.Root, a attempt, o Options) (tip string, err error) {
	var commits []string
	for _, d := range a.result.Stories {
		if d.Commit != "" {
			commits = append(commits, d.Commit)
		}
	}
	tip = o.Base
	if len(commits) > 0 {
		tip = commits[len(commits)-1]
		if err := takeBundle(root, path.Join(a.folder, fanout.BundleName), a.result.Bundle, o.Base, commits, o); err != nil {
			return "", err
		}
	}
	if rest := a.result.Rest; rest != "" {
		if err := takeBundle(root, path.Join(a.folder, fanout.RestName), a.result.RestSum, tip, []string{rest}, o); err != nil {
			return "", err
		}
		tip = rest
	}
	return tip, o.Branch.Judge(ctx, tip, o.Base)
}

func takeBundle(root *os.Root, name, digest, base string, commits []string, o Options) error {
	f, _, err := files.Open(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = o.Branch.Unbundle(f, bundle.Want{
		Base: base, Name: o.Key.String(), Digest: digest, Commits: commits, Says: func(int, string) error { return nil },
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}
