package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// omission is a group of paths that may not be published, for one reason.
type omission struct {
	reason  string
	changes []change
}

func (o omission) String() string {
	var names []string
	for i, ch := range o.changes {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(o.changes)-i))
			break
		}
		names = append(names, strconv.QuoteToGraphic(ch.path))
	}
	return "not published: " + clean(strings.Join(names, ", "), 1000) + ": " + o.reason
}

// leftOut finds the changes that may not be published.
func (r *Repo) leftOut(ctx context.Context, changes []change) ([]omission, error) {
	var links, names, special, large, state, keys, workflows omission
	links.reason = "a repository inside the work tree, which a commit would only point to; remove its .git folder to publish its files"
	names.reason = "the name holds control characters"
	special.reason = "git hosts refuse the name, which another system reads as git's own"
	state.reason = "ralph's own state"
	keys.reason = credentialsReason
	workflows.reason = workflowsReason
	large.reason = fmt.Sprintf("larger than %d MB, which the forge does not take; use Git LFS or ignore it", maxBlobBytes>>20)
	var rest []change
	for _, ch := range changes {
		switch {
		case r.isRunFile(ch.path):
			state.changes = append(state.changes, ch)
		case r.isCredentials(ch.path) && ch.new != (entry{}):
			keys.changes = append(keys.changes, ch)
		case r.opt.NoWorkflows && isWorkflow(ch.path):
			workflows.changes = append(workflows.changes, ch)
		case ch.new.isGitlink() && !ch.old.isGitlink():
			links.changes = append(links.changes, ch)
		case ch.new != (entry{}) && hasControl(ch.path):
			names.changes = append(names.changes, ch)
		case ch.new != (entry{}) && refusedName(ch):
			special.changes = append(special.changes, ch)
		case ch.new.isBlob():
			rest = append(rest, ch)
		}
	}
	var err error
	if large.changes, err = r.oversized(ctx, rest); err != nil {
		return nil, err
	}
	all := []omission{links, names, special, large, state, keys, workflows}
	filtered, err := r.unfiltered(ctx, rest)
	if err != nil {
		return nil, err
	}
	all = append(all, filtered...)
	return slices.DeleteFunc(all, func(o omission) bool { return len(o.changes) == 0 }), nil
}

// credentialFiles is what google-github-actions/auth calls the files it writes
// into the workspace (its README asks to ignore them).
const credentialFiles = "gha-creds-*.json"

const credentialsReason = "credentials that an earlier step left here (google-github-actions/auth)"

// noteCredentials names such files at the top of the work tree, once. They are
// never staged.
func (r *Repo) noteCredentials(s *snapshot) {
	if r.line.keys {
		return
	}
	var found omission
	found.reason = credentialsReason
	list, _ := os.ReadDir(r.top)
	for _, e := range list {
		if r.isCredentials(e.Name()) {
			found.changes = append(found.changes, change{path: e.Name()})
		}
	}
	if len(found.changes) > 0 {
		r.line.keys = true
		s.notes = append(s.notes, found.String())
	}
}

// isCredentials says that a path holds what an earlier step signed in with.
func (r *Repo) isCredentials(p string) bool {
	ok, err := path.Match(credentialFiles, path.Base(p))
	return ok && err == nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 })
}

// refusedName says that fsck on the receiving side would refuse a push with
// this path: a part that HFS+ or NTFS take for .git, or a .gitmodules that is a
// link (git's verify_path and fsck, CVE-2014-9390, CVE-2018-11235).
func refusedName(ch change) bool {
	for part := range strings.SplitSeq(ch.path, "/") {
		visible := strings.Map(func(c rune) rune {
			if c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff {
				return -1
			}
			return c
		}, part)
		ntfs, _, _ := strings.Cut(strings.TrimRight(part, " ."), ":")
		ntfs = strings.TrimRight(ntfs, " .")
		if strings.EqualFold(visible, ".git") || strings.EqualFold(ntfs, ".git") || strings.EqualFold(ntfs, "git~1") {
			return true
		}
	}
	return ch.new.mode == filemode.Symlink && strings.EqualFold(ch.path, ".gitmodules")
}

// oversized finds the changes whose blob the guest left out of its pack for
// its size. A blob that is missing because the base has it somewhere else (a
// file was moved) is none of them.
func (r *Repo) oversized(ctx context.Context, changes []change) ([]change, error) {
	var ask strings.Builder
	for _, ch := range changes {
		if !r.store.has(ch.new.hash) {
			fmt.Fprintln(&ask, ch.new.hash)
		}
	}
	if ask.Len() == 0 {
		return nil, nil
	}
	s, err := r.out(ctx, strings.NewReader(ask.String()), "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	large := map[string]bool{}
	for l := range strings.Lines(s) {
		f := strings.Fields(l)
		if len(f) != 3 || f[1] != "blob" {
			return nil, fmt.Errorf("the workspace has lost an object of the work tree: %s", clean(l, 100))
		}
		if n, err := strconv.ParseInt(f[2], 10, 64); err != nil || n > maxBlobBytes {
			large[f[0]] = true
		}
	}
	var list []change
	var fetch []string
	for _, ch := range changes {
		h := ch.new.hash.String()
		switch {
		case r.store.has(ch.new.hash):
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
	return list, r.importObjects(ctx, fetch)
}

// unfiltered finds changed files whose attributes name a filter that is not
// configured. An LFS pointer is what the filter would have made.
func (r *Repo) unfiltered(ctx context.Context, changes []change) ([]omission, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, ch := range changes {
		in.WriteString(ch.path + "\x00")
	}
	b := &bounded{left: guestOutputBytes}
	if err := r.gitEnv(ctx, r.indexEnv(), strings.NewReader(in.String()), b, "check-attr", "-z", "--stdin", "filter"); err != nil {
		return nil, err
	}
	f := strings.Split(b.String(), "\x00")
	byPath := make(map[string]string, len(f)/3)
	for i := 0; i+2 < len(f); i += 3 {
		byPath[f[i]] = f[i+2]
	}
	configured := map[string]bool{}
	var list []omission
	for _, ch := range changes {
		name := byPath[ch.path]
		if name == "" || name == "unspecified" || name == "unset" || name == "set" || ch.new.mode.IsFile() && name == "lfs" && r.isPointer(ch.new.hash) {
			continue
		}
		ok, asked := configured[name]
		if !asked {
			var err error
			if ok, err = r.filterConfigured(ctx, name); err != nil {
				return nil, err
			}
			configured[name] = ok
		}
		if ok {
			continue
		}
		reason := fmt.Sprintf("its attributes ask for the filter %q, which is not configured here, so the raw content would be committed; set the filter up (for LFS: git lfs install) before the run", clean(name, 60))
		i := slices.IndexFunc(list, func(o omission) bool { return o.reason == reason })
		if i < 0 {
			list, i = append(list, omission{reason: reason}), len(list)
		}
		list[i].changes = append(list[i].changes, ch)
	}
	return list, nil
}

func (r *Repo) filterConfigured(ctx context.Context, name string) (bool, error) {
	for _, key := range []string{"process", "clean"} {
		s, err := r.answer(ctx, "config", "--get", "filter."+name+"."+key)
		if err == nil && s != "" {
			return true, nil
		}
		if _, ok := exitCode(err); err != nil && !ok {
			return false, err
		}
	}
	return false, nil
}

// isPointer says that a blob is a Git LFS pointer (git-lfs spec: at most 1024
// bytes, version first).
func (r *Repo) isPointer(h plumbing.Hash) bool {
	o, err := r.store.fs.EncodedObject(plumbing.BlobObject, h)
	if err != nil || o.Size() > 1024 {
		return false
	}
	b, err := readObject(o, 1024)
	return err == nil && bytes.HasPrefix(b, []byte("version https://git-lfs.github.com/spec/"))
}
