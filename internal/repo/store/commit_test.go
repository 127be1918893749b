package store

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func TestZones(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"+0000", "+0530", "-0130", "-0030", "+1400", "-1200"} {
		text := "A U Thor <a@example.com> 1700000000 " + zone
		if got := parseSignature([]byte(text)).text(); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// FuzzParseCommit: what is read of a commit is what go-git reads, and what is written of
// it is what go-git writes. Left out are zones that git does not write, and -0030, which
// go-git takes for +0030.
func FuzzParseCommit(f *testing.F) {
	tree, parent := "tree "+strings.Repeat("1", 40)+"\n", "parent "+strings.Repeat("2", 40)+"\n"
	by := func(who, zone string) string { return who + " A U Thor <a@example.com> 1700000000 " + zone + "\n" }
	for _, text := range []string{
		tree + parent + parent + by("author", "+0230") + by("committer", "-0130") + "\nsubject\n\nbody\n",
		tree + by("author", "+0000") + by("committer", "+0000") + "encoding latin1\ngpgsig -----BEGIN\n \n line\n -----END\n\nsigned\n",
		tree + by("author", "+0000") + by("committer", "+0000") + "mergetag object 1\n type commit\n\n\n\n",
		tree + "author <> 1 +0000\ncommitter a < b> x +0000\n",
		tree + by("committer", "+00") + by("author", "+0000") + "\nthe wrong way round",
		tree + "\n", tree, "tree 1\n", parent, tree + "parent 1\n", "", "\n\nno tree", strings.Repeat("1", 40), tree + "author A <a> -5\ncommitter B\n\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &plumbing.MemoryObject{}
		o.SetType(plumbing.CommitObject)
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var theirs object.Commit
		theirErr := theirs.Decode(o)
		ours, err := parseCommit([]byte(text))
		if (err == nil) != (theirErr == nil) {
			t.Fatalf("parseCommit: %v; go-git: %v", err, theirErr)
		}
		if err != nil || !commitHead.MatchString(text) || strings.Contains(text, " -00") {
			return
		}
		want := Commit{
			TreeHash: theirs.TreeHash, ParentHashes: theirs.ParentHashes, Message: theirs.Message,
			Author: Signature(theirs.Author), Committer: Signature(theirs.Committer),
		}
		if got := ours.Author.text() + ours.Committer.text(); got != want.Author.text()+want.Committer.text() {
			t.Errorf("signatures = %q, go-git's %q", got, want.Author.text()+want.Committer.text())
		}
		if ours.TreeHash != want.TreeHash || !reflect.DeepEqual(ours.ParentHashes, want.ParentHashes) || ours.Message != want.Message {
			t.Errorf("commit = %+v, go-git's %+v", *ours, want)
		}
		var written plumbing.MemoryObject
		plain := object.Commit{TreeHash: theirs.TreeHash, ParentHashes: theirs.ParentHashes, Message: theirs.Message, Author: theirs.Author, Committer: theirs.Committer}
		if err := plain.Encode(&written); err != nil {
			t.Fatal(err)
		}
		r, err := written.Reader()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != string(ours.encode()) {
			t.Errorf("written: %q, %v; go-git's %q", ours.encode(), err, b)
		}
	})
}
