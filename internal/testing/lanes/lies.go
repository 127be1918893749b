package lanes

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // as git's packs have it
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/store"
)

// lie is what a lane does that it may not.
type lie struct {
	name string
	work func(*lane) error // before its commit is made
	hand func(*lane) error // to what it hands over
	fate ralph.Fate        // of its story; empty: refused
}

func adds(path, text string) func(*lane) error {
	return func(l *lane) error { return put(l.s, l.files, path, text) }
}

func mode(path, text string, m filemode.FileMode) func(*lane) error {
	return func(l *lane) error {
		err := put(l.s, l.files, path, text)
		l.files[path] = store.Entry{Mode: m, Hash: l.files[path].Hash}
		return err
	}
}

// listed replaces a text in the story's own tasks.json.
func listed(change func(l *lane, text string) string) func(*lane) error {
	return func(l *lane) error {
		path := l.listDir + "/tasks.json"
		text, err := l.s.ReadBlob(l.files[path].Hash, 8<<20)
		if err != nil {
			return err
		}
		return put(l.s, l.files, path, change(l, string(text)))
	}
}

// named puts a name into the top tree that git would not write there.
func named(name string) func(*lane) error {
	return func(l *lane) error {
		blob, err := l.s.Write(plumbing.BlobObject, []byte("x"))
		if err != nil {
			return err
		}
		tree, err := l.s.Edit(l.tree, l.files)
		if err != nil {
			return err
		}
		o, err := l.s.Object(tree)
		if err != nil {
			return err
		}
		old, err := store.ReadObject(o, 1<<20)
		if err != nil {
			return err
		}
		l.raw, err = l.s.Write(plumbing.TreeObject, append(append([]byte("100644 "+name+"\x00"), blob[:]...), old...))
		return err
	}
}

// packed replaces the pack of the bundle.
func packed(objects uint32, body []byte) func(*lane) error {
	return func(l *lane) error {
		head, _, _ := bytes.Cut(l.bundle, []byte("\n\n"))
		pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), objects)
		pack = append(pack, body...)
		sum := sha1.Sum(pack) //nolint:gosec // as git's packs have it
		l.bundle = append(append(append(bytes.Clone(head), "\n\n"...), pack...), sum[:]...)
		return nil
	}
}

// object is an object of a pack that claims a type and a size.
func object(kind byte, size uint64, between, content []byte) []byte {
	b := kind<<4 | byte(size&15)
	var out []byte
	for size >>= 4; size > 0; size >>= 7 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
	}
	out = append(append(out, b), between...)
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(content) // into memory
	_ = w.Close()
	return append(out, z.Bytes()...)
}

// headed changes what stands before the pack.
func headed(change func(l *lane, head string) string) func(*lane) error {
	return func(l *lane) error {
		head, pack, _ := bytes.Cut(l.bundle, []byte("\n\n"))
		l.bundle = append([]byte(change(l, string(head)+"\n")+"\n"), pack...)
		return nil
	}
}

func resulted(change func(l *lane)) func(*lane) error {
	return func(l *lane) error { change(l); return nil }
}

// liesOf are all lies.
func liesOf() []lie {
	aws := "AKIA" + "Z7QX4MN2RTPL6WVB" // no key of anybody's
	other := "0123456789012345678901234567890123456789"
	neighbour := func(l *lane) string { return id(l.wave, l.i-1) }
	return []lie{
		{name: "another lane's story", hand: resulted(func(l *lane) { l.result.Stories[0].ID = neighbour(l) })},
		{name: "another lane's story beside its own", hand: resulted(func(l *lane) {
			l.result.Stories = append(l.result.Stories, fanout.Done{ID: neighbour(l), State: "approved", Commit: other})
		})},
		{name: "approves another lane's story", work: listed(func(l *lane, text string) string {
			return strings.Replace(text, story(l.wave, l.i-1, false), story(l.wave, l.i-1, true), 1)
		})},
		{name: "is not approved", work: listed(func(l *lane, text string) string {
			return strings.Replace(text, story(l.wave, l.i, true), story(l.wave, l.i, false), 1)
		})},
		{name: "adds a story that is done", work: listed(func(l *lane, text string) string {
			return strings.Replace(text, "\n  ]\n}\n", ",\n"+strings.ReplaceAll(story(l.wave, l.i, true), l.id, "liar-"+l.id)+"\n  ]\n}\n", 1)
		})},
		{name: "a command of its own", work: listed(func(_ *lane, text string) string {
			return strings.Replace(text, `"verifyCommands": []`, `"verifyCommands": ["true"]`, 1)
		})},
		{name: "no list", work: listed(func(_ *lane, _ string) string { return "liar" })},
		{name: "another story's trailer", work: resulted(func(l *lane) { l.message = strings.ReplaceAll(l.message, l.id, neighbour(l)) })},
		{name: "no trailer", work: resulted(func(l *lane) { l.message = "liar\n" })},
		{name: "a workflow", work: adds(".github/workflows/liar.yml", "on: push\n")},
		{name: "a workflow, spelled otherwise", work: adds(".GitHub/Workflows/liar.yml", "on: push\n")},
		{name: "an agent's settings", work: adds(".claude/settings.json", `{"liar": true}`)},
		{name: "a secret", work: adds("liar.env", "aws_access_key_id = "+aws+"\n")},
		{name: "a secret in its list", work: listed(func(l *lane, text string) string {
			return strings.Replace(text, `"notes": "done"`, `"notes": "`+aws+`"`, 1+l.i)
		})},
		{name: "a secret in its notes", work: func(l *lane) error { return put(l.s, l.files, l.listDir+"/progress.txt", "# Log\n"+aws+"\n") }},
		{name: "a cache", work: adds("node_modules/liar/index.js", "1\n")},
		{name: "a link out of the tree", work: mode("liar-link", "../../etc/passwd", filemode.Symlink)},
		{name: "a link to the machine", work: mode("liar-link", "/etc/passwd", filemode.Symlink)},
		{name: "a repository", work: mode("liar-module", "x", filemode.Submodule)},
		{name: "a control character", work: adds("liar\x07", "x\n")},
		{name: "git's own name on a Mac", work: adds("liar/.g\u200cit/config", "x\n")},
		{name: "git's own name on Windows", work: adds("liar/git~1/config", "x\n")},
		{name: "git's own name", work: named(".git")},
		{name: "the folder above", work: named("..")},
		{name: "a name with a slash", work: named("a/liar")},
		{name: "a pointer of Git LFS", work: adds("liar.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("ab", 32)+"\nsize 12\n")},
		{name: "a file that is not there", work: func(l *lane) error {
			l.files["liar-missing"] = store.Entry{Mode: filemode.Regular, Hash: plumbing.NewHash(other)}
			return nil
		}},
		{name: "a folder that is not there", work: func(l *lane) error {
			l.files["liar-missing"] = store.Entry{Mode: filemode.Dir, Hash: plumbing.NewHash(other)}
			return nil
		}},
		{name: "a file that is a commit", work: func(l *lane) error {
			l.files["liar-commit"] = store.Entry{Mode: filemode.Regular, Hash: l.parents[0]}
			return nil
		}},
		{name: "a merge", work: func(l *lane) error {
			c, err := l.s.NewCommit(by, at, "liar\n", l.tree)
			l.parents = append(l.parents, c)
			return err
		}},
		{name: "on no base", work: resulted(func(l *lane) { l.parents = nil })},
		{name: "a commit below", work: func(l *lane) error {
			tree, err := l.s.Edit(l.tree, map[string]store.Entry{"liar": l.files["liar/"+l.id+".txt"]})
			if err != nil {
				return err
			}
			l.parents[0], err = l.s.NewCommit(by, at, "liar\n", tree, l.parents[0])
			return err
		}},
		{name: "another base in lane.json", hand: resulted(func(l *lane) { l.result.Base = other })},
		{name: "another list", hand: resulted(func(l *lane) { l.result.Digest = strings.Repeat("0", 64) })},
		{name: "another base in its head", hand: headed(func(l *lane, head string) string { return strings.Replace(head, l.result.Base, other, 1) })},
		{name: "two bases", hand: headed(func(l *lane, head string) string { return strings.Replace(head, "-", "-"+other+" \n-", 1) })},
		{name: "two references", hand: headed(func(l *lane, head string) string { return head + l.result.Stories[0].Commit + " refs/heads/main\n" })},
		{name: "another reference", hand: headed(func(l *lane, head string) string { return strings.Replace(head, "refs/heads/", "refs/tags/", 1) })},
		{name: "a filter", hand: headed(func(_ *lane, head string) string {
			return strings.Replace(head, "# v2 git bundle\n", "# v3 git bundle\n@filter=blob:none\n", 1)
		})},
		{name: "a head without an end", hand: resulted(func(l *lane) { l.bundle = bytes.Repeat([]byte("-"+other+" \n"), 1000) })},
		{name: "no bundle at all", hand: resulted(func(l *lane) { l.bundle = []byte("liar") })},
		{name: "an empty bundle", hand: resulted(func(l *lane) { l.bundle = nil })},
		{name: "cut short", hand: resulted(func(l *lane) { l.bundle = l.bundle[:len(l.bundle)-30] })},
		{name: "a changed byte", hand: resulted(func(l *lane) { l.bundle[len(l.bundle)-40] ^= 1 })},
		{name: "2 GB", hand: packed(1, object(3, 2<<30, nil, []byte("x")))},
		{name: "four billion objects", hand: packed(1<<32-1, nil)},
		{name: "a bomb", hand: func(l *lane) error { return packed(1, object(3, 10, nil, make([]byte, 16<<20)))(l) }},
		{name: "a delta bomb", hand: packed(1, object(7, 20, bytes.Repeat([]byte{1}, 20), append([]byte{10, 0x80, 0x80, 0x80, 0x80, 0x10}, bytes.Repeat([]byte{0xb0, 0, 0, 1}, 3)...)))},
		{name: "a delta", hand: packed(1, object(6, 5, []byte{12}, []byte("\x01\x01\x90\x01x")))},
		{name: "another digest", hand: resulted(func(l *lane) {
			sum := sha256.Sum256([]byte("liar"))
			l.result.Bundle = hex.EncodeToString(sum[:])
		})},
		{name: "the base as its commit", hand: resulted(func(l *lane) { l.result.Stories[0].Commit = l.result.Base })},
		{name: "a story twice", fate: ralph.FateMissing, hand: resulted(func(l *lane) { l.result.Stories = append(l.result.Stories, l.result.Stories[0]) })},
		{name: "another plan", fate: ralph.FateMissing, hand: resulted(func(l *lane) {
			l.result.Key = strings.Replace(l.result.Key, "-L", "-L", 1)[:len(l.result.Key)-12] + "000000000000"
		})},
		{name: "another wave", fate: ralph.FateMissing, hand: resulted(func(l *lane) { l.result.Key = "w99" + l.result.Key[strings.Index(l.result.Key, "-"):] })},
		{name: "no JSON", fate: ralph.FateMissing, hand: resulted(func(l *lane) {
			l.after = func(folder string) error {
				return os.WriteFile(filepath.Join(folder, fanout.ResultName), []byte("liar"), 0o644)
			}
		})},
		{name: "a missing bundle", fate: ralph.FateMissing, hand: resulted(func(l *lane) {
			l.after = func(folder string) error { return os.Remove(filepath.Join(folder, fanout.BundleName)) }
		})},
		{name: "a link to a bundle", fate: ralph.FateMissing, hand: resulted(func(l *lane) {
			l.after = func(folder string) error {
				name := filepath.Join(folder, fanout.BundleName)
				return firstOf(os.Rename(name, name+".real"), os.Symlink(filepath.Base(name)+".real", name))
			}
		})},
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("change the artifact: %w", err)
		}
	}
	return nil
}

// Lies is how many ways to lie there are.
func Lies() int { return len(liesOf()) }
