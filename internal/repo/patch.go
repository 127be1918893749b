package repo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/store"
)

// patchContext is the number of unchanged lines around a change, as git's.
const patchContext = 3

// Patch writes the work that is not published, from the last commit of the line
// that the server has to the last snapshot and what was left out of it, so that `git apply` can bring it back:
// made by the owner, without a program. Commits made here before the run are in it as
// long as nothing was pushed. Files that are not text (a NUL in the first
// 8,000 bytes), repositories in the tree, and what would make the patch longer than limit
// bytes are named in comments at its top. Nothing to write is no error. Names and contents
// are foreign text, and may hold what nothing was published for.
func (r *Repo) Patch(ctx context.Context, w io.Writer, limit int64) error {
	to, of, err := r.standing(ctx)
	if err != nil || to.IsZero() {
		return err
	}
	if of == "" {
		if to, err = r.objects.Store.Edit(to, r.line.left); err != nil {
			return err
		}
	}
	from, err := r.objects.Store.Commit(r.lastPublished())
	if err != nil {
		return err
	}
	changes, err := r.objects.Store.Diff(from.TreeHash, to, nil)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool { return r.tree.IsRunFile(ch.Path) })
	r.objects.ImportOld(ctx, changes)
	var body, left bytes.Buffer
	if of != "" && len(changes) > 0 {
		fmt.Fprintf(&left, "# %s\n", of)
	}
	for _, ch := range changes {
		text, why := r.patchOf(ctx, ch, limit)
		if why == "" && int64(body.Len()+len(text)) > limit {
			why = "too long"
		}
		if why == "" {
			body.Write(text)
		} else if line := fmt.Sprintf("# not in this patch: %s: %s\n", quotePath(ch.Path), why); int64(left.Len()+len(line)) <= limit {
			left.WriteString(line)
		}
	}
	if _, err := w.Write(left.Bytes()); err != nil {
		return err
	}
	_, err = w.Write(body.Bytes())
	return err
}

// lastPublished is the last commit of the line that the server has, below commits
// that were made here before the run as well.
func (r *Repo) lastPublished() plumbing.Hash {
	at, s := r.server.synced, r.start
	if at != r.line.startHead || s.Resumed || s.Restarted || s.Updated || r.server.aside {
		return at
	}
	for h := at; ; {
		if r.onServerNow(h) {
			return h
		}
		c, err := r.objects.Store.Commit(h)
		if err != nil || len(c.ParentHashes) == 0 {
			return at
		}
		h = c.ParentHashes[0]
	}
}

// patchOf is the patch of one path, or says why there is none.
func (r *Repo) patchOf(ctx context.Context, ch store.Change, limit int64) (text []byte, why string) {
	if ch.Old.IsGitlink() || ch.New.IsGitlink() {
		return nil, "a commit of another repository"
	}
	var content [2][]byte
	for i, e := range []store.Entry{ch.Old, ch.New} {
		if e == (store.Entry{}) {
			continue
		}
		b, err := r.objects.Content(ctx, e)
		switch {
		case err != nil:
			return nil, "its content cannot be had"
		case store.IsBinary(b):
			return nil, fmt.Sprintf("not text, %d bytes", len(b))
		case int64(len(b)) > limit:
			return nil, "too long"
		}
		content[i] = b
	}
	var b bytes.Buffer
	if isLink := func(e store.Entry) bool { return modeOf(e) == ModeLink }; ch.Old != (store.Entry{}) && ch.New != (store.Entry{}) && isLink(ch.Old) != isLink(ch.New) {
		// Another kind of thing: as git has it, one goes and one comes.
		onePatch(&b, ch.Path, ch.Old, store.Entry{}, content[0], nil)
		onePatch(&b, ch.Path, store.Entry{}, ch.New, nil, content[1])
		return b.Bytes(), ""
	}
	onePatch(&b, ch.Path, ch.Old, ch.New, content[0], content[1])
	return b.Bytes(), ""
}

// onePatch writes the patch of a path (git-diff(1), "Generating patch text").
func onePatch(b *bytes.Buffer, path string, from, to store.Entry, was, now []byte) {
	a, z := quotePath("a/"+path), quotePath("b/"+path)
	fmt.Fprintf(b, "diff --git %s %s\n", a, z)
	switch {
	case from == (store.Entry{}):
		fmt.Fprintf(b, "new file mode %06o\n", uint32(to.Mode))
		a = "/dev/null"
	case to == (store.Entry{}):
		fmt.Fprintf(b, "deleted file mode %06o\n", uint32(from.Mode))
		z = "/dev/null"
	case from.Mode != to.Mode:
		fmt.Fprintf(b, "old mode %06o\nnew mode %06o\n", uint32(from.Mode), uint32(to.Mode))
	}
	mode := ""
	if from.Mode == to.Mode {
		mode = fmt.Sprintf(" %06o", uint32(to.Mode))
	}
	if from.Hash != to.Hash {
		fmt.Fprintf(b, "index %s..%s%s\n", from.Hash, to.Hash, mode)
	}
	if bytes.Equal(was, now) {
		return
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", a, z)
	hunks(b, lines.Split(was), lines.Split(now))
}

// hunks writes the changes between two texts.
func hunks(b *bytes.Buffer, old, now [][]byte) {
	to, _ := lines.Matches(old, now) // without an answer, all between start and end is new
	type line struct {
		sign byte
		text []byte
		i, j int // lines of old and now before it
	}
	var all []line
	for i, j := 0, 0; i < len(old) || j < len(now); {
		switch {
		case i < len(old) && to[i] == j:
			all = append(all, line{' ', old[i], i, j})
			i, j = i+1, j+1
		case i < len(old) && to[i] < 0:
			all = append(all, line{'-', old[i], i, j})
			i++
		default:
			all = append(all, line{'+', now[j], i, j})
			j++
		}
	}
	for at := 0; at < len(all); {
		if all[at].sign == ' ' {
			at++
			continue
		}
		start, end := max(at-patchContext, 0), at
		for n := at; n < len(all) && n <= end+2*patchContext; n++ {
			if all[n].sign != ' ' {
				end = n
			}
		}
		stop := min(end+patchContext+1, len(all))
		var minus, plus int
		for _, l := range all[start:stop] {
			if l.sign != '+' {
				minus++
			}
			if l.sign != '-' {
				plus++
			}
		}
		fmt.Fprintf(b, "@@ -%s +%s @@\n", lineRange(all[start].i, minus), lineRange(all[start].j, plus))
		for _, l := range all[start:stop] {
			b.WriteByte(l.sign)
			b.Write(l.text)
			if !bytes.HasSuffix(l.text, []byte("\n")) {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
		at = stop
	}
}

// lineRange is a range of lines in the head of a hunk; one without lines names the
// line before it.
func lineRange(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

const plainBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@,=~"

// quotePath is a path as git quotes it (core.quotePath), always when it holds
// anything unusual.
func quotePath(p string) string {
	plain := true
	for i := range len(p) {
		c := p[i]
		plain = plain && strings.IndexByte(plainBytes, c) >= 0
	}
	if plain {
		return p
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(p) {
		switch c := p[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
