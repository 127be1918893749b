package repo

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// omission is a group of paths that may not be published, for one reason.
type omission struct {
	reason  string
	changes []store.Change
	aside   bool     // it is no work of the run: nothing of that is missing
	names   []string // for people; none: those of changes
}

func (o omission) String() string {
	all := slices.Clone(o.names)
	if len(all) == 0 {
		for _, ch := range o.changes {
			all = append(all, ch.Path)
		}
	}
	all = slices.Compact(all)
	var names []string
	for i, name := range all {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		names = append(names, strconv.QuoteToGraphic(name))
	}
	return ralph.NotPublished + printable.Line(strings.Join(names, ", "), 1000) + ": " + o.reason
}

func (o omission) has(blob plumbing.Hash) bool {
	return slices.ContainsFunc(o.changes, func(ch store.Change) bool { return ch.New.Hash == blob })
}

// leftOut finds the changes that may not be published. Of those that may, the
// snapshot takes note of what Git LFS keeps.
func (r *Repo) leftOut(ctx context.Context, s *snapshot, changes []store.Change) ([]omission, error) {
	var links, names, special, large, state, keys, workflows, crafted, protected, caches, judged omission
	links.reason = "a repository inside the work tree, which a commit would only point to; remove its .git folder to publish its files"
	names.reason = "the name holds control characters"
	special.reason = "git hosts refuse the name, which another system reads as git's own"
	state.reason, state.aside = "ralph's own state", true
	crafted.reason = "its content is no file but another object of git's, which git never makes"
	keys.reason, keys.aside = credentialsReason, true
	protected.reason = protectedReason
	caches.reason, caches.aside = "a cache, of which the repository holds nothing; name it in .gitignore, or commit it by hand if it belongs there", true
	judged.reason, judged.aside = "made by a guardrail, and no turn of the agent changed it; it is published once the agent does, or when a person commits it", true
	workflows.reason = workflowsReason
	large.reason = fmt.Sprintf("larger than %d MB, which the forge does not take; use Git LFS or ignore it", store.MaxBlobBytes>>20)
	var rest []store.Change
	for _, ch := range changes {
		switch {
		case r.tree.IsRunFile(ch.Path):
			state.changes = append(state.changes, ch)
		case r.isCredentials(ch.Path) && ch.New != (store.Entry{}):
			keys.changes = append(keys.changes, ch)
		case r.leaveOut(ctx, ch):
			protected.changes = append(protected.changes, ch)
		case r.opt.NoWorkflows && isWorkflow(ch.Path):
			workflows.changes = append(workflows.changes, ch)
		case r.cacheOf(ch) != "":
			caches.changes, caches.names = append(caches.changes, ch), append(caches.names, r.cacheOf(ch))
		case r.leftByGuardrail(ch):
			judged.changes = append(judged.changes, ch)
		case ch.New.IsGitlink() && !ch.Old.IsGitlink():
			links.changes = append(links.changes, ch)
		case ch.New != (store.Entry{}) && hasControl(ch.Path):
			names.changes = append(names.changes, ch)
		case ch.New != (store.Entry{}) && refusedName(ch):
			special.changes = append(special.changes, ch)
		case ch.New.IsBlob() && r.objects.Store.Has(ch.New.Hash) && !r.objects.Store.IsBlob(ch.New.Hash):
			crafted.changes = append(crafted.changes, ch)
		case ch.New.IsBlob():
			rest = append(rest, ch)
		}
	}
	var err error
	if large.changes, err = r.oversized(ctx, rest); err != nil {
		return nil, err
	}
	unknown := omission{reason: unknownReason}
	if len(r.large.refused) > 0 {
		rest = slices.DeleteFunc(rest, func(ch store.Change) bool {
			p, _, ok := lfs.ReadPointer(r.objects.Store, ch.New.Hash)
			if ok = ok && r.large.refused[p.OID] == unknownReason; ok {
				unknown.changes = append(unknown.changes, ch)
			}
			return ok
		})
	}
	all := []omission{unknown, links, names, special, large, state, keys, workflows, crafted, protected, caches, judged}
	filtered, kept, err := r.unfiltered(ctx, rest)
	if err != nil {
		return nil, err
	}
	lost, err := r.dangling(ctx, kept)
	if err != nil {
		return nil, err
	}
	for _, f := range kept {
		if !slices.ContainsFunc(lost, func(o omission) bool { return o.has(f.Blob) }) {
			s.large = append(s.large, f)
		}
	}
	all = append(append(all, filtered...), lost...)
	return slices.DeleteFunc(all, func(o omission) bool { return len(o.changes) == 0 }), nil
}

const protectedReason = "only people may change it (protected-paths)"

// leaveOut reports whether Options.LeaveOut picks a change. What stood there before
// the run, and what the agent merged of the base, is no change of the run's.
func (r *Repo) leaveOut(ctx context.Context, ch store.Change) bool {
	if r.opt.LeaveOut == nil || !r.opt.LeaveOut(ch.Path) || r.line.made[ch.Path] {
		return false
	}
	held, ok := r.line.held[ch.Path]
	return (!ok || held != ch.New) && !r.inBase(ctx, ch)
}

// missing describes what is left out of the run's work.
func (r *Repo) missing(list []omission) []LeftOut {
	var out []LeftOut
	for _, o := range list {
		if o.aside {
			continue
		}
		reason := o.reason
		if reason == protectedReason {
			reason = ""
		}
		for _, c := range r.describeAll(o.changes, plumbing.ZeroHash) {
			out = append(out, LeftOut{Changed: c, Reason: reason})
		}
	}
	return out
}

// withdrawn takes note of what a server refused and was taken out of what is pushed.
func (r *Repo) withdrawn(o omission) {
	r.noteOnce(o.String())
	r.refused = append(r.refused, r.missing([]omission{o})...)
}

const credentialsReason = "credentials that an earlier step left here (google-github-actions/auth)"

// noteCredentials names such files at the top of the work tree, once. They are
// never staged.
func (r *Repo) noteCredentials(s *snapshot) {
	if r.line.keys {
		return
	}
	var found omission
	found.reason = credentialsReason
	list, _ := os.ReadDir(r.tree.Top)
	for _, e := range list {
		if r.isCredentials(e.Name()) {
			found.changes = append(found.changes, store.Change{Path: e.Name()})
		}
	}
	if len(found.changes) > 0 {
		r.line.keys = true
		s.notes = append(s.notes, found.String())
	}
}

// isCredentials says that a path holds what an earlier step signed in with.
func (r *Repo) isCredentials(p string) bool {
	ok, err := path.Match(worktree.CredentialFiles, path.Base(p))
	return ok && err == nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 })
}

// refusedName says that fsck on the receiving side would refuse a push with
// this path: a part that HFS+ or NTFS take for .git, or a .gitmodules that is a
// link (git's verify_path and fsck, CVE-2014-9390, CVE-2018-11235).
func refusedName(ch store.Change) bool {
	for part := range strings.SplitSeq(ch.Path, "/") {
		if gitName(part) {
			return true
		}
	}
	return ch.New.Mode == filemode.Symlink && strings.EqualFold(ch.Path, ".gitmodules")
}

// gitName says that HFS+ or NTFS take a name for .git, or that it is that.
func gitName(part string) bool {
	visible := strings.Map(func(c rune) rune {
		if c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff {
			return -1
		}
		return c
	}, part)
	ntfs, _, _ := strings.Cut(strings.TrimRight(part, " ."), ":")
	ntfs = strings.TrimRight(ntfs, " .")
	return strings.EqualFold(visible, ".git") || strings.EqualFold(ntfs, ".git") || strings.EqualFold(ntfs, "git~1")
}

// oversized finds the changes whose blob the guest left out of its pack for
// its size. A blob that is missing because the base has it somewhere else (a
// file was moved) is none of them.
func (r *Repo) oversized(ctx context.Context, changes []store.Change) ([]store.Change, error) {
	var ask strings.Builder
	for _, ch := range changes {
		if !r.objects.Store.Has(ch.New.Hash) {
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
		case r.objects.Store.Has(ch.New.Hash):
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
	return list, r.objects.Import(ctx, fetch)
}

// unfiltered finds changed files whose attributes name a filter that is not
// configured, and those that stand for a file of Git LFS.
func (r *Repo) unfiltered(ctx context.Context, changes []store.Change) (list []omission, kept []lfs.File, err error) {
	filters, err := r.filters(ctx, changes)
	if err != nil {
		return nil, nil, err
	}
	configured := map[string]bool{}
	add := func(ch store.Change, reason string) {
		i := slices.IndexFunc(list, func(o omission) bool { return o.reason == reason })
		if i < 0 {
			list, i = append(list, omission{reason: reason}), len(list)
		}
		list[i].changes = append(list[i].changes, ch)
	}
	for _, ch := range changes {
		name := filters[ch.Path]
		switch {
		case name == "" || name == "unspecified" || name == "unset" || name == "set", ch.New.Hash == ch.Old.Hash, ch.New.Mode == filemode.Symlink:
			continue
		case lfs.Asked(name):
			p, size, ok := lfs.ReadPointer(r.objects.Store, ch.New.Hash)
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
