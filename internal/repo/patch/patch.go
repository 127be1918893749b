// Package patch writes the difference between two trees as a patch for git apply. go-git's
// encoder does not quote names: one with a line end in it could forge a part of the patch.
package patch

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/store"
)

// maxText bounds a text that is compared, in bytes, where the patch may not be longer itself.
const maxText = 1 << 20

// patchContext is the number of unchanged lines around a change, as git's.
const patchContext = 3

// Write writes a patch of changes. Files that are not text, repositories in the tree, and
// what would make the patch longer than limit bytes are named in comments at its top, below
// head, which may be empty. content returns what an entry holds.
func Write(w io.Writer, head string, changes []store.Change, content func(store.Entry) ([]byte, error), limit int64) error {
	var body, left bytes.Buffer
	if head != "" && len(changes) > 0 {
		fmt.Fprintf(&left, "# %s\n", head)
	}
	for _, ch := range changes {
		text, why := []byte(nil), "too long"
		if int64(body.Len()) < limit { // comparing takes longest
			text, why = ofPath(ch, content, limit)
		}
		if why == "" && int64(body.Len()+len(text)) > limit {
			why = "too long"
		}
		if why == "" {
			body.Write(text)
		} else if line := fmt.Sprintf("# not in this patch: %s: %s\n", quotePath(ch.Path), why); int64(left.Len()+len(line)) <= limit {
			left.WriteString(line)
		}
	}
	_, err := io.Copy(w, io.MultiReader(&left, &body))
	return err
}

// ofPath returns the patch of one path, or why there is none.
func ofPath(ch store.Change, read func(store.Entry) ([]byte, error), limit int64) (text []byte, why string) {
	if ch.Old.IsGitlink() || ch.New.IsGitlink() {
		return nil, "a commit of another repository"
	}
	var content [2][]byte
	for i, e := range []store.Entry{ch.Old, ch.New} {
		if e == (store.Entry{}) {
			continue
		}
		b, err := read(e)
		switch {
		case err != nil:
			return nil, "its content cannot be had"
		case store.IsBinary(b):
			return nil, fmt.Sprintf("not text, %d bytes", len(b))
		case int64(len(b)) > max(limit, maxText):
			return nil, "too long"
		}
		content[i] = b
	}
	var b bytes.Buffer
	if isLink := func(e store.Entry) bool { return e.Mode == filemode.Symlink }; ch.Old != (store.Entry{}) && ch.New != (store.Entry{}) && isLink(ch.Old) != isLink(ch.New) {
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
