package repo

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// leftOut finds the changes that may not be published. Of those that may, the
// snapshot notes what Git LFS keeps.
func (r *Repo) leftOut(ctx context.Context, s *snapshot, changes []store.Change) ([]inspection.Omission, error) {
	caches := &inspection.Omission{Reason: "a cache that the repository does not track: add it to .gitignore, or commit it by hand if it belongs there", Aside: true}
	rules := []struct {
		*inspection.Omission
		has func(store.Change) bool
	}{
		{&inspection.Omission{Reason: "ralph's own state", Aside: true}, func(ch store.Change) bool { return r.tree.IsRunFile(ch.Path) }},
		{&inspection.Omission{Reason: credentialsReason, Aside: true}, func(ch store.Change) bool { return isCredentials(ch.Path) && ch.New != (store.Entry{}) }},
		{&inspection.Omission{Reason: "only people may change it (protected-paths)", Found: true}, func(ch store.Change) bool { return r.leaveOut(ctx, ch) }},
		{&inspection.Omission{Reason: publish.WorkflowsReason}, func(ch store.Change) bool { return r.branch.NoWorkflows && publish.IsWorkflow(ch.Path) }},
		{caches, func(ch store.Change) bool {
			cache := r.cacheOf(ch)
			if cache != "" {
				caches.Names = append(caches.Names, cache)
			}
			return cache != ""
		}},
		{&inspection.Omission{Reason: "made by a guardrail, and no turn of the agent changed it; it is published once the agent does, or when a person commits it", Aside: true}, r.leftByGuardrail},
		{&inspection.Omission{Reason: inspection.Nested}, func(ch store.Change) bool { return inspection.Unfit(ch) == inspection.Nested }},
		{&inspection.Omission{Reason: inspection.ControlName}, func(ch store.Change) bool { return inspection.Unfit(ch) == inspection.ControlName }},
		{&inspection.Omission{Reason: inspection.GitName}, func(ch store.Change) bool { return inspection.Unfit(ch) == inspection.GitName }},
		{&inspection.Omission{Reason: "its content is no file but another object of git's, which git never makes"}, func(ch store.Change) bool {
			return ch.New.IsBlob() && r.store.Has(ch.New.Hash) && !r.store.IsBlob(ch.New.Hash)
		}},
	}
	var rest []store.Change
changes:
	for _, ch := range changes {
		for _, rule := range rules {
			if rule.has(ch) {
				rule.Changes = append(rule.Changes, ch)
				continue changes
			}
		}
		if ch.New.IsBlob() {
			rest = append(rest, ch)
		}
	}
	all := make([]inspection.Omission, len(rules))
	for i, rule := range rules {
		all[i] = *rule.Omission
	}
	large := inspection.Omission{Reason: fmt.Sprintf("larger than %d MB, which the forge does not take; use Git LFS or ignore it", store.MaxBlobBytes>>20)}
	var err error
	if large.Changes, err = r.oversized(ctx, rest); err != nil {
		return nil, err
	}
	unknown := inspection.Omission{Reason: lfs.Unknown}
	if len(r.branch.Large.Refused) > 0 {
		rest = slices.DeleteFunc(rest, func(ch store.Change) bool {
			p, _, ok := lfs.ReadPointer(r.store, ch.New.Hash)
			if ok = ok && r.branch.Large.Refused[p.OID] == lfs.Unknown; ok {
				unknown.Changes = append(unknown.Changes, ch)
			}
			return ok
		})
	}
	all = append(all, large, unknown)
	filtered, kept, err := r.unfiltered(ctx, rest)
	if err != nil {
		return nil, err
	}
	reasons, err := r.branch.Large.Dangling(ctx, r.branch.LFSServer(), kept, r.store, r.branch.Start, r.base)
	if err != nil {
		return nil, err
	}
	all = append(all, filtered...)
	lost := map[plumbing.Hash]bool{}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		o := inspection.Omission{Reason: reason}
		for _, f := range reasons[reason] {
			o.Changes = append(o.Changes, store.Change{Path: f.Path, New: store.Entry{Mode: filemode.Regular, Hash: f.Blob}})
			lost[f.Blob] = true
		}
		all = append(all, o)
	}
	for _, f := range kept {
		if !lost[f.Blob] {
			s.large = append(s.large, f)
		}
	}
	return slices.DeleteFunc(all, func(o inspection.Omission) bool { return len(o.Changes) == 0 }), nil
}

// leaveOut reports whether Options.LeaveOut picks a change. What stood there before
// the run, and what the agent merged of the base, is no change of the run's.
func (r *Repo) leaveOut(ctx context.Context, ch store.Change) bool {
	if r.opt.LeaveOut == nil || !r.opt.LeaveOut(ch.Path) || r.state.made[ch.Path] {
		return false
	}
	held, ok := r.state.held[ch.Path]
	return (!ok || held != ch.New) && !r.inBase(ctx, ch)
}

const credentialsReason = "credentials that an earlier step left here (google-github-actions/auth)"

// noteCredentials names such files at the top of the work tree, once. They are
// never staged.
func (r *Repo) noteCredentials(s *snapshot) {
	if r.state.keys {
		return
	}
	var found inspection.Omission
	found.Reason = credentialsReason
	list, _ := os.ReadDir(r.tree.Top)
	for _, e := range list {
		if isCredentials(e.Name()) {
			found.Changes = append(found.Changes, store.Change{Path: e.Name()})
		}
	}
	if len(found.Changes) > 0 {
		r.state.keys = true
		s.notes = append(s.notes, found.String())
	}
}

// isCredentials reports whether a path holds what an earlier step signed in with.
func isCredentials(p string) bool {
	ok, err := path.Match(worktree.CredentialFiles, path.Base(p))
	return ok && err == nil
}

// oversized finds the changes whose blob the workspace left out of its pack for
// its size. A blob that is missing because the base has it somewhere else (a
// file was moved) is excluded.
func (r *Repo) oversized(ctx context.Context, changes []store.Change) ([]store.Change, error) {
	var ask strings.Builder
	for _, ch := range changes {
		if !r.store.Has(ch.New.Hash) {
			fmt.Fprintln(&ask, ch.New.Hash)
		}
	}
	if ask.Len() == 0 {
		return nil, nil
	}
	s, err := r.tree.Output(ctx, strings.NewReader(ask.String()), "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	large := map[string]bool{}
	for l := range strings.Lines(s) {
		f := strings.Fields(l)
		if len(f) != 3 || f[1] != "blob" {
			return nil, fmt.Errorf("the workspace has lost an object of the work tree: %s", printable.Line(l, 100))
		}
		if n, err := strconv.ParseInt(f[2], 10, 64); err != nil || n > store.MaxBlobBytes {
			large[f[0]] = true
		}
	}
	var list []store.Change
	var fetch []string
	for _, ch := range changes {
		h := ch.New.Hash.String()
		switch {
		case r.store.Has(ch.New.Hash):
		case large[h]:
			list = append(list, ch)
		default:
			fetch = append(fetch, h)
		}
	}
	if len(fetch) == 0 {
		return list, nil
	}
	// The server has those of the base, but not for certain the others: with
	// all of them here, a push is whole whatever it is based on.
	return list, r.branch.Import(ctx, fetch)
}

// unfiltered finds changed files whose attributes name a filter that is not
// configured, and those that stand for a file of Git LFS.
func (r *Repo) unfiltered(ctx context.Context, changes []store.Change) (list []inspection.Omission, kept []lfs.File, err error) {
	filters, err := r.filters(ctx, changes)
	if err != nil {
		return nil, nil, err
	}
	configured := map[string]bool{}
	add := func(ch store.Change, reason string) {
		i := slices.IndexFunc(list, func(o inspection.Omission) bool { return o.Reason == reason })
		if i < 0 {
			list, i = append(list, inspection.Omission{Reason: reason}), len(list)
		}
		list[i].Changes = append(list[i].Changes, ch)
	}
	for _, ch := range changes {
		name := filters[ch.Path]
		switch {
		case name == "" || name == "unspecified" || name == "unset" || name == "set", ch.New.Hash == ch.Old.Hash, ch.New.Mode == filemode.Symlink:
			continue
		case lfs.Asked(name):
			p, size, ok := lfs.ReadPointer(r.store, ch.New.Hash)
			if ok {
				kept = append(kept, lfs.File{Pointer: p, Path: ch.Path, Blob: ch.New.Hash})
			}
			if ok || size == 0 {
				continue // git-lfs leaves an empty file as it is
			}
		}
		ok, asked := configured[name]
		if !asked {
			if ok, err = r.tree.FilterConfigured(ctx, name); err != nil {
				return nil, nil, err
			}
			configured[name] = ok
		}
		switch {
		case !ok:
			add(ch, fmt.Sprintf("its attributes ask for the filter %q, which is not configured here, so the raw content would be committed; set the filter up (for LFS: git lfs install) before the run", printable.Line(name, 60)))
		case lfs.Asked(name):
			add(ch, "Git LFS is to keep it, and git-lfs made no pointer of it, so the raw content would be committed; check that git-lfs runs for the agent's user")
		}
	}
	return list, kept, nil
}

// filters are the filters that the attributes of changed files name, by path.
func (r *Repo) filters(ctx context.Context, changes []store.Change) (map[string]string, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, ch := range changes {
		in.WriteString(ch.Path + "\x00")
	}
	return r.tree.Filters(ctx, in.String())
}
