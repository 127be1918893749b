package repo_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gitfiles "github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/repotest"
)

// git runs git in dir, and returns its output without the last line end. The simple
// commands by which these tests prepare repositories and look into them, thousands of
// times, are carried out here, without a process: what they meet that is not plain is left
// to git, as everything is in a long run.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if out, ok := quick(dir, args); ok {
		return out
	}
	return repotest.Git(t, dir, args...)
}

// tryGit is git for a command that may fail.
func tryGit(dir string, args ...string) (string, error) {
	if out, ok := quick(dir, args); ok {
		return out, nil
	}
	return repotest.TryGit(dir, args...)
}

// quick does what git would do; ok is false when git has to be asked.
func quick(dir string, args []string) (out string, ok bool) {
	if long {
		return "", false
	}
	if len(args) > 2 && args[0] == "-c" && args[1] == "core.quotePath=false" {
		args = args[2:]
	}
	command, args := args[0], args[1:]
	switch {
	case command == "clone":
		return "", quickClone(dir, args)
	case !slices.Contains([]string{"rev-parse", "show", "ls-tree", "merge-base", "cat-file", "push", "fetch"}, command):
		return "", false
	}
	p, ok := plainAt(dir)
	if !ok {
		return "", false
	}
	switch {
	case command == "rev-parse":
		return p.revParse(args)
	case command == "show" && len(args) == 1:
		return p.show(args[0])
	case command == "ls-tree" && len(args) == 2 && args[0] == "-r":
		return p.listTree(args[1])
	case command == "merge-base" && len(args) == 3 && args[0] == "--is-ancestor":
		old, found := p.resolve(args[1])
		tip, ok := p.resolve(args[2])
		return "", found && ok && p.isAncestor(old, tip)
	case command == "cat-file" && len(args) == 2 && args[0] == "-t":
		id, ok := p.resolve(args[1])
		if !ok {
			return "", false
		}
		kind, _, ok := p.object(id)
		return kind, ok
	case command == "push":
		return "", p.push(args)
	case command == "fetch" && slices.Equal(args, []string{"-q", "origin"}):
		return "", p.fetch()
	}
	return "", false
}

// plain is the directory of a repository whose references are all files, and whose objects
// are its own.
type plain string

// plainAt is the repository of a work tree, or a bare one, that is plain.
func plainAt(dir string) (plain, bool) {
	at := filepath.Join(dir, ".git")
	if info, err := os.Lstat(at); err != nil {
		at = dir
	} else if !info.IsDir() {
		return "", false
	}
	for _, needed := range []string{"HEAD", "config", "objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(at, needed)); err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeNamedPipe) != 0 {
			return "", false
		}
	}
	for _, other := range []string{"packed-refs", "commondir", "objects/info/alternates"} {
		if _, err := os.Lstat(filepath.Join(at, other)); err == nil {
			return "", false
		}
	}
	return plain(at), true
}

func (p plain) path(name string) string { return filepath.Join(string(p), filepath.FromSlash(name)) }

var (
	isID   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	isName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*([./-][A-Za-z0-9_]+)*$`)
	steps  = regexp.MustCompile(`\^\{(tree|commit)\}|\^|~[0-9]+`)
)

// ref reads a reference.
func (p plain) ref(name string) (id string, ok bool) {
	info, err := os.Lstat(p.path(name))
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	b, err := os.ReadFile(p.path(name))
	id = strings.TrimSpace(string(b))
	if to, symbolic := strings.CutPrefix(id, "ref: "); symbolic && err == nil && isName.MatchString(to) {
		return p.ref(to)
	}
	return id, err == nil && isID.MatchString(id)
}

// resolve is the object of a revision: a name or an id, and steps from there.
func (p plain) resolve(rev string) (id string, ok bool) {
	rev, file, isPath := strings.Cut(rev, ":")
	name := rev
	var walk []string
	if at := strings.IndexAny(rev, "^~"); at >= 0 {
		name = rev[:at]
		if walk = steps.FindAllString(rev[at:], -1); strings.Join(walk, "") != rev[at:] {
			return "", false
		}
	}
	if !isID.MatchString(name) {
		if !isName.MatchString(name) || strings.HasPrefix(name, "refs/tags/") {
			return "", false
		}
		var found []string
		for _, above := range []string{"", "refs/", "refs/heads/", "refs/remotes/", "refs/tags/"} {
			if above == "" && name != "HEAD" && !strings.HasPrefix(name, "refs/") {
				continue
			}
			if h, ok := p.ref(above + name); ok {
				found = append(found, h)
			}
		}
		if len(found) != 1 {
			return "", false
		}
		name = found[0]
	}
	for _, step := range walk {
		kind, b, ok := p.object(name)
		if !ok || kind != "commit" {
			return "", false
		}
		tree, parents := parse(b)
		switch n, _ := strconv.Atoi(strings.TrimPrefix(step, "~")); {
		case step == "^{commit}":
		case step == "^{tree}":
			name = tree
		case step != "^" && n != 1 || len(parents) == 0:
			return "", false
		default:
			name = parents[0]
		}
	}
	if !isPath {
		return name, true
	}
	for part := range strings.SplitSeq(file, "/") {
		items, ok := p.tree(name)
		i := slices.IndexFunc(items, func(it treeItem) bool { return it.name == part })
		if !ok || i < 0 {
			return "", false
		}
		name = items[i].id
	}
	return name, true
}

var inflaters sync.Pool

// object reads a loose object.
func (p plain) object(id string) (kind string, content []byte, ok bool) {
	b, err := os.ReadFile(p.path("objects/" + id[:2] + "/" + id[2:]))
	if err != nil {
		return "", nil, false
	}
	z, _ := inflaters.Get().(io.ReadCloser)
	if z == nil {
		z, err = zlib.NewReader(bytes.NewReader(b))
	} else {
		err = z.(zlib.Resetter).Reset(bytes.NewReader(b), nil)
	}
	if err != nil {
		return "", nil, false
	}
	defer inflaters.Put(z)
	b, err = io.ReadAll(z)
	if err != nil {
		return "", nil, false
	}
	if sum := sha1.Sum(b); hex.EncodeToString(sum[:]) != id {
		return "", nil, false
	}
	head, content, ok := bytes.Cut(b, []byte{0})
	kind, _, _ = strings.Cut(string(head), " ")
	return kind, content, ok
}

// parse reads the first lines of a commit.
func parse(commit []byte) (tree string, parents []string) {
	for line := range strings.Lines(string(commit)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "tree":
			tree = value
		case "parent":
			parents = append(parents, value)
		default:
			return tree, parents
		}
	}
	return tree, parents
}

type treeItem struct{ mode, name, id string }

// tree reads a tree, or that of a commit.
func (p plain) tree(id string) (items []treeItem, ok bool) {
	kind, b, ok := p.object(id)
	if ok && kind == "commit" {
		tree, _ := parse(b)
		kind, b, ok = p.object(tree)
	}
	if !ok || kind != "tree" {
		return nil, false
	}
	for len(b) > 0 {
		head, rest, _ := bytes.Cut(b, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if len(rest) < 20 {
			return nil, false
		}
		items = append(items, treeItem{fmt.Sprintf("%06s", mode), name, hex.EncodeToString(rest[:20])})
		b = rest[20:]
	}
	return items, true
}

const modeFolder, modeLink, modeModule = "040000", "120000", "160000"

// files lists what is below a tree, in the order of git's index.
func (p plain) files(tree, above string) (list []treeItem, ok bool) {
	items, ok := p.tree(tree)
	if !ok {
		return nil, false
	}
	for _, it := range items {
		if name := above + it.name; it.mode != modeFolder {
			list = append(list, treeItem{it.mode, name, it.id})
		} else if below, ok := p.files(it.id, name+"/"); ok {
			list = append(list, below...)
		} else {
			return nil, false
		}
	}
	return list, true
}

func (p plain) revParse(revs []string) (out string, ok bool) {
	var ids []string
	for _, rev := range revs {
		id, ok := p.resolve(rev)
		if !ok {
			return "", false
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, "\n"), len(ids) > 0
}

func (p plain) show(rev string) (out string, ok bool) {
	id, ok := p.resolve(rev)
	if !ok || !strings.Contains(rev, ":") {
		return "", false
	}
	kind, b, ok := p.object(id)
	return strings.TrimSuffix(string(b), "\n"), ok && kind == "blob"
}

func (p plain) listTree(rev string) (out string, ok bool) {
	id, ok := p.resolve(rev)
	if !ok {
		return "", false
	}
	list, ok := p.files(id, "")
	lines := make([]string, len(list))
	for i, it := range list {
		kind := map[bool]string{true: "commit", false: "blob"}[it.mode == modeModule]
		if strconv.Quote(it.name) != `"`+it.name+`"` {
			return "", false
		}
		lines[i] = fmt.Sprintf("%s %s %s\t%s", it.mode, kind, it.id, it.name)
	}
	return strings.Join(lines, "\n"), ok
}

// isAncestor reports whether it is sure that old is tip or an ancestor of it.
func (p plain) isAncestor(old, tip string) bool {
	if _, err := os.Lstat(p.path("shallow")); err == nil {
		return false
	}
	seen := map[string]bool{tip: true}
	for queue := []string{tip}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == old {
			return true
		}
		kind, b, ok := p.object(queue[0])
		if !ok || kind != "commit" {
			return false
		}
		_, parents := parse(b)
		for _, parent := range parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false
}

// remote is the repository that origin, or a path, stands for.
func (p plain) remote(name string) (plain, bool) {
	if name == "origin" {
		b, err := os.ReadFile(p.path("config"))
		_, after, _ := strings.Cut(string(b), "url = ")
		if name, _, _ = strings.Cut(after, "\n"); err != nil || strings.Count(string(b), "[remote ") != 1 {
			return "", false
		}
	}
	if !filepath.IsAbs(name) {
		return "", false
	}
	if hooks, err := os.ReadDir(filepath.Join(name, "hooks")); err == nil && len(hooks) > 0 {
		return "", false
	}
	return plainAt(name)
}

// share gives another repository the objects of this one.
func (p plain) share(to plain) bool {
	return filepath.WalkDir(p.path("objects"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(string(p), path)
		if d.IsDir() {
			if err := os.Mkdir(to.path(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return nil
		}
		if filepath.Base(filepath.Dir(path)) == "info" {
			return nil
		}
		if err := os.Link(path, to.path(name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}) == nil
}

// set moves a reference.
func (p plain) set(name, id string) bool {
	at := p.path(name)
	lock, err := os.OpenFile(at+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(filepath.Dir(at), 0o755) == nil {
		lock, err = os.OpenFile(at+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return false
	}
	_, err = lock.WriteString(id + "\n")
	if err = errors.Join(err, lock.Close()); err == nil {
		err = os.Rename(lock.Name(), at)
	}
	if err != nil {
		_ = os.Remove(lock.Name())
	}
	return err == nil
}

func (p plain) push(args []string) bool {
	force := len(args) > 1 && args[1] == "-f"
	if force {
		args = slices.Delete(slices.Clone(args), 1, 2)
	}
	if len(args) != 3 || args[0] != "-q" {
		return false
	}
	to, ok := p.remote(args[1])
	from, name, _ := strings.Cut(args[2], ":")
	if name == "" {
		name = from
	}
	id, found := p.resolve(from)
	if !ok || !found || name == "HEAD" {
		return false
	}
	if !strings.HasPrefix(name, "refs/") {
		name = "refs/heads/" + name
	}
	if _, err := os.Lstat(to.path(name)); err == nil {
		if was, ok := to.ref(name); !ok || !force && !p.isAncestor(was, id) {
			return false
		}
	} else if _, own := p.ref(name); !own && name != "refs/heads/main" {
		return false // it may be a name that git has to make sense of
	}
	if !p.share(to) || !to.set(name, id) {
		return false
	}
	if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok && args[1] == "origin" {
		return p.set("refs/remotes/origin/"+branch, id)
	}
	return true
}

// fetch is git fetch origin.
func (p plain) fetch() bool {
	from, ok := p.remote("origin")
	if !ok {
		return false
	}
	heads, ok := from.refs("refs/heads")
	if tags, err := os.ReadDir(from.path("refs/tags")); !ok || err != nil || len(tags) > 0 || !from.share(p) {
		return false
	}
	for name, id := range heads {
		if !p.set("refs/remotes/origin/"+strings.TrimPrefix(name, "refs/heads/"), id) {
			return false
		}
	}
	return true
}

// refs lists the references below a directory; ok is false when there are some of which
// only git knows what to do with them.
func (p plain) refs(below string) (list map[string]string, ok bool) {
	list = map[string]string{}
	err := filepath.WalkDir(p.path(below), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		name, _ := filepath.Rel(string(p), path)
		b, err := os.ReadFile(path)
		id := strings.TrimSpace(string(b))
		if err != nil || !d.Type().IsRegular() || !isID.MatchString(id) || !isName.MatchString(name) {
			return errors.Join(err, fs.ErrInvalid)
		}
		if _, err := os.Lstat(p.path("objects/" + id[:2] + "/" + id[2:])); err != nil {
			return err
		}
		list[name] = id
		return nil
	})
	return list, err == nil
}

// quickClone is git clone of a repository that lies here.
func quickClone(dir string, args []string) bool {
	branch := ""
	if len(args) == 5 && args[1] == "-b" {
		branch, args = args[2], slices.Delete(slices.Clone(args), 1, 3)
	}
	if len(args) != 3 || args[0] != "-q" || !filepath.IsAbs(args[1]) {
		return false
	}
	to := args[2]
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	from, ok := plainAt(args[1])
	if !ok || from != plain(args[1]) {
		return false
	}
	if there, err := os.ReadDir(to); err == nil && len(there) > 0 {
		return false
	}
	if branch == "" {
		head, err := os.ReadFile(from.path("HEAD"))
		if branch, ok = strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/"); !ok || err != nil {
			return false
		}
	}
	tip, ok := from.ref("refs/heads/" + branch)
	if _, err := os.Lstat(from.path("shallow")); !ok || err == nil {
		return false
	}
	if list, ok := from.files(tip, ""); !ok || !quickFiles(list) {
		return false
	}
	config := workConfig(string(from)) + "[branch \"" + branch + "\"]\n\tremote = origin\n\tmerge = refs/heads/" + branch + "\n"
	if err := makeRepository(filepath.Join(to, ".git"), config); err != nil {
		return false
	}
	p := plain(filepath.Join(to, ".git"))
	if !p.fetch() || !p.set("refs/heads/"+branch, tip) || p.checkOut(tip) != nil ||
		os.WriteFile(p.path("HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o644) != nil {
		_ = os.RemoveAll(to)
		return false
	}
	return true
}

// quickFiles reports whether a tree is checked out without a thought: no attributes, no
// submodules.
func quickFiles(list []treeItem) bool {
	return !slices.ContainsFunc(list, func(it treeItem) bool {
		return it.mode == modeModule || strings.HasPrefix(filepath.Base(it.name), ".git")
	})
}

// checkOut writes the files of a commit into an empty work tree, and an index of them
// (gitformat-index).
func (p plain) checkOut(commit string) error {
	list, ok := p.files(commit, "")
	if !ok || !quickFiles(list) {
		return errors.New("git has to check this out")
	}
	top := filepath.Dir(string(p))
	index := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(list)))
	for _, it := range list {
		kind, content, ok := p.object(it.id)
		if !ok || kind != "blob" {
			return fmt.Errorf("%s of %s: no blob", it.id, it.name)
		}
		at := filepath.Join(top, it.name)
		mode, _ := strconv.ParseUint(it.mode, 8, 32)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if it.mode == modeLink {
			err = errors.Join(err, os.Symlink(string(content), at))
		} else {
			err = errors.Join(err, os.WriteFile(at, content, fs.FileMode(mode&0o777)))
		}
		if err != nil {
			return err
		}
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		start, changed, written := len(index), gitfiles.ChangeTime(info), info.ModTime()
		for _, n := range []int64{
			changed.Unix(), int64(changed.Nanosecond()), written.Unix(), int64(written.Nanosecond()),
			int64(st.Dev), int64(st.Ino), int64(mode), int64(st.Uid), int64(st.Gid), info.Size(),
		} {
			index = binary.BigEndian.AppendUint32(index, uint32(n))
		}
		id, _ := hex.DecodeString(it.id)
		index = append(index, id...)
		index = binary.BigEndian.AppendUint16(index, uint16(min(len(it.name), 0xfff)))
		index = append(index, it.name...)
		index = append(index, make([]byte, 8-(len(index)-start)%8)...)
	}
	sum := sha1.Sum(index)
	return os.WriteFile(p.path("index"), append(index, sum[:]...), 0o644)
}

// checkOutDetached is git checkout --detach of a commit in an empty work tree.
func (p plain) checkOutDetached(commit string) error {
	if err := p.checkOut(commit); err != nil {
		return err
	}
	entry := fmt.Sprintf("%040d %s Agent <agent@example.com> %d +0000\tcheckout: moving from main to %s\n", 0, commit, time.Now().Unix(), commit)
	return errors.Join(
		os.MkdirAll(p.path("logs"), 0o755),
		os.WriteFile(p.path("logs/HEAD"), []byte(entry), 0o644),
		os.WriteFile(p.path("HEAD"), []byte(commit+"\n"), 0o644),
	)
}
