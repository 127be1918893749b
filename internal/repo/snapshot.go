package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
)

// blobLimit omits blobs over maxBlobBytes from a pack (rev-list --filter omits
// those of at least the given size).
var blobLimit = strconv.Itoa(maxBlobBytes + 1)

// snapshot is the tree as it was staged, and what of it may be published.
type snapshot struct {
	head   plumbing.Hash // of the workspace
	tree   plumbing.Hash // as staged
	parent plumbing.Hash // of our commit: the last checkpoint or the agent's last commit
	public plumbing.Hash // the tree to publish
	own    int           // commits of the agent's own between the last checkpoint and parent
	notes  []string
}

// Snapshot stages and imports the work tree as it is now. *UnfinishedError
// says that the agent left a merge or a conflict: such a tree is never
// committed, and stays where it is.
//
// What may not be published is left out, with a note that names it: new
// repositories inside the work tree, files over 100 MB, files whose attributes
// ask for a filter that is not configured (git would store the raw content in
// silence), names with control characters, and ralph's own state.
func (r *Repo) Snapshot(ctx context.Context) (ralph.Change, error) {
	if err := r.unfinished(ctx); err != nil {
		return ralph.Change{}, err
	}
	tree, notes, err := r.stageCopy(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	head, err := r.head(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	s := &snapshot{head: head, tree: tree, parent: r.line.tip, notes: notes}
	if err := r.importSnapshot(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	if err := r.adopt(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	if err := r.choose(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	changes, err := r.store.diff(r.line.tipTree, s.public, nil)
	if err != nil {
		return ralph.Change{}, err
	}
	r.last = s
	c := ralph.Change{
		Head:       head.String(),
		Tree:       tree.String(),
		Files:      len(changes),
		SinceStart: head != r.line.startHead || tree != r.line.startTree,
		Notes:      s.notes,
	}
	c.Insertions, c.Deletions = r.count(ctx, changes)
	return c, nil
}

// importSnapshot takes over what the store does not have yet: the staged tree
// and the agent's own commits.
func (r *Repo) importSnapshot(ctx context.Context, s *snapshot) error {
	var revs []string
	if s.tree != r.line.seenTree && s.tree != r.line.tipTree {
		revs = append(revs, s.tree.String())
	}
	if s.head != r.line.tip && !s.head.IsZero() && !r.store.has(s.head) {
		revs = append(revs, s.head.String(), "^"+r.line.tip.String())
	}
	if len(revs) == 0 {
		return nil
	}
	filter := "--filter=blob:limit=" + blobLimit
	known := []string{"^" + r.line.tipTree.String(), "^" + r.line.seenTree.String()}
	err := r.importObjects(ctx, append(revs, known...), "--revs", filter)
	if _, ok := exitCode(err); ok {
		// The agent may have thrown away objects we count on: take the tree alone.
		err = r.importObjects(ctx, []string{s.tree.String()}, "--revs", filter)
	}
	if err == nil {
		r.line.seenTree = s.tree
	}
	return err
}

// choose makes the tree to publish: the staged one, with every path that may
// not be published as it is in the parent.
func (r *Repo) choose(ctx context.Context, s *snapshot) error {
	parent, err := r.store.commit(s.parent)
	if err != nil {
		return err
	}
	changes, err := r.store.diff(parent.TreeHash, s.tree, nil)
	if err != nil {
		return err
	}
	out, err := r.leftOut(ctx, changes)
	if err != nil {
		return err
	}
	back := map[string]entry{}
	for _, ch := range changes {
		if held, ok := r.line.held[ch.path]; r.line.made[ch.path] || ok && held == ch.new {
			back[ch.path] = ch.old
		}
	}
	for _, o := range out {
		s.notes = append(s.notes, o.String())
		for _, ch := range o.changes {
			back[ch.path] = ch.old
		}
	}
	s.public, err = r.store.edit(s.tree, back)
	return err
}

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
	var links, names, special, large, state omission
	links.reason = "a repository inside the work tree, which a commit would only point to; remove its .git folder to publish its files"
	names.reason = "the name holds control characters"
	special.reason = "git hosts refuse the name, which another system reads as git's own"
	state.reason = "ralph's own state"
	large.reason = fmt.Sprintf("larger than %d MB, which the forge does not take; use Git LFS or ignore it", maxBlobBytes>>20)
	var rest []change
	for _, ch := range changes {
		switch {
		case r.isRunFile(ch.path):
			state.changes = append(state.changes, ch)
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
	all := []omission{links, names, special, large, state}
	filtered, err := r.unfiltered(ctx, rest)
	if err != nil {
		return nil, err
	}
	all = append(all, filtered...)
	return slices.DeleteFunc(all, func(o omission) bool { return len(o.changes) == 0 }), nil
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

// adopt decides whether the agent's own commits are published as they are: they
// stand on the last checkpoint, and hold nothing that may not be published.
// If not, the parent stays the last checkpoint, and their content becomes part
// of our commit.
func (r *Repo) adopt(ctx context.Context, s *snapshot) error {
	if s.head == r.line.tip {
		return nil
	}
	commits, reason := r.ownCommits(s.head)
	if reason == "" {
		var err error
		if reason, err = r.faults(ctx, commits); err != nil {
			return err
		}
	}
	if reason != "" {
		s.notes = append(s.notes, "the agent's own commits are published as one: "+reason)
		return nil
	}
	s.parent, s.own = s.head, len(commits)
	return nil
}

const maxOwnCommits = 1000

// ownCommits walks from head down to the last checkpoint. reason says why that
// cannot be published as it is.
func (r *Repo) ownCommits(head plumbing.Hash) (list []plumbing.Hash, reason string) {
	const rewritten = "the history was rewritten, or left the work branch"
	if head.IsZero() {
		return nil, rewritten
	}
	seen := map[plumbing.Hash]bool{}
	met := false
	queue := []plumbing.Hash{head}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		switch {
		case h == r.line.tip:
			met = true
			continue
		case seen[h] || r.line.ours[h] || r.server.known[h]:
			continue
		case !r.store.has(h):
			return nil, "they are based on a commit that is not known here"
		case len(list) == maxOwnCommits:
			return nil, fmt.Sprintf("they are more than %d", maxOwnCommits)
		}
		seen[h] = true
		c, err := r.store.commit(h)
		if err != nil || !r.store.sound(h) {
			return nil, "one of them is damaged"
		}
		list = append(list, h)
		queue = append(queue, c.ParentHashes...)
	}
	if !met {
		return nil, rewritten
	}
	return list, ""
}

// faults says what in the agent's own commits may not be published.
func (r *Repo) faults(ctx context.Context, commits []plumbing.Hash) (string, error) {
	var all []change
	for _, h := range commits {
		c, err := r.store.commit(h)
		if err != nil {
			return "", err
		}
		var parent plumbing.Hash
		if len(c.ParentHashes) > 0 {
			p, err := r.store.commit(c.ParentHashes[0])
			if err != nil {
				return "one of them is damaged", nil
			}
			parent = p.TreeHash
		}
		changes, err := r.store.diff(parent, c.TreeHash, nil)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return "one of them is not whole", nil
		}
		if err != nil {
			return clean(err.Error(), 200), nil
		}
		for _, ch := range changes {
			if held, ok := r.line.held[ch.path]; ok && held == ch.new && ch.new != ch.old {
				return fmt.Sprintf("they hold %q, which was changed before the run", clean(ch.path, 200)), nil
			}
		}
		all = append(all, changes...)
		if len(all) > maxChanges {
			return fmt.Sprintf("they change more than %d files", maxChanges), nil
		}
	}
	out, err := r.leftOut(ctx, all)
	if err != nil {
		return "", err
	}
	if len(out) > 0 {
		return out[0].String(), nil
	}
	return "", nil
}
