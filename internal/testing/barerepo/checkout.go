package barerepo

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// Clone is what actions/checkout leaves in an empty directory.
type Clone struct {
	Dir    string
	Server string // its address
	URL    string // of the repository
	Branch string
	Header string // with the token, in the repository's configuration
	Depth  int
	Env    []string // of git, where it is needed
}

// Checkout makes a clone as git does, of a branch: shallow, with the token in its
// configuration. It copies the objects, which takes git a dozen processes. Where a
// repository has more in it than plain files, or the clone exists, it is made by git.
func Checkout(r gitserver.Repository, c Clone) error {
	if _, err := os.Lstat(filepath.Join(c.Dir, ".git")); err != nil {
		w := clone{from: r, Clone: c, made: map[string]bool{}}
		if err = w.plan(); err == nil {
			return w.write()
		}
		if !errors.Is(err, errUnusual) {
			return err
		}
	}
	return c.ByGit()
}

// ByGit makes the clone by git, also over an earlier one.
func (c Clone) ByGit() error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	remote := "refs/remotes/origin/" + c.Branch
	for _, args := range [][]string{
		{"init", "-q", "-b", c.Branch}, {"config", "remote.origin.url", c.URL}, {"config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"},
		{"config", "http." + c.Server + "/.extraheader", c.Header},
		{"fetch", "-q", "--no-tags", fmt.Sprintf("--depth=%d", c.Depth), "origin", "+refs/heads/" + c.Branch + ":" + remote},
		{"checkout", "-q", "--force", "-B", c.Branch, remote},
	} {
		cmd := exec.Command("git", args...) //nolint:noctx // as long as the forge lives, which is the test
		cmd.Dir, cmd.Env = c.Dir, c.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// clone is a clone that is made without git.
type clone struct {
	Clone
	from    gitserver.Repository
	tip     string
	shallow []string
	objects []string // to copy
	made    map[string]bool
	files   []file
	trees   bytes.Buffer // of the index
}

type file struct{ mode, path, id string }

// plan finds out what to write; the error wraps errUnusual where git knows better.
func (c *clone) plan() error {
	if c.tip = c.from.Branch(c.Branch); c.tip == "" || !canStat {
		return errUnusual
	}
	level := []string{c.tip}
	for depth := 1; len(level) > 0; depth++ {
		var next []string
		for _, id := range level {
			if c.made[id] {
				continue
			}
			kind, data, err := c.object(id)
			if err != nil || kind != "commit" {
				return errors.Join(err, errUnusual)
			}
			header, _, _ := strings.Cut(string(data), "\n\n")
			tree := ""
			for line := range strings.Lines(header) {
				if word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); word == "tree" {
					tree = rest
				} else if word == "parent" && depth < c.Depth {
					next = append(next, rest)
				}
			}
			if depth == c.Depth {
				c.shallow = append(c.shallow, id)
			}
			if err := c.tree(tree, "", id == c.tip); err != nil {
				return err
			}
		}
		level = next
	}
	return nil
}

// object reads an object that is copied.
func (c *clone) object(id string) (kind string, data []byte, err error) {
	kind, data, err = c.from.Object(id)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, errUnusual // in a pack
	}
	if !c.made[id] {
		c.made[id] = true
		c.objects = append(c.objects, id)
	}
	return kind, data, err
}

// tree adds a tree; files of the tip are checked out.
func (c *clone) tree(id, below string, tip bool) error {
	if c.made[id] && !tip {
		return nil
	}
	_, data, err := c.object(id)
	if err != nil {
		return err
	}
	entries, err := gitserver.ParseTree(data)
	if err != nil {
		return err
	}
	var inner []gitserver.Entry
	at, before := c.trees.Len(), len(c.files)
	for _, e := range entries {
		path := below + e.Name
		switch {
		case e.IsTree():
			inner = append(inner, e)
			continue
		case e.Mode != "100644" && e.Mode != "100755" && e.Mode != "120000", strings.HasPrefix(e.Name, ".git") && e.Name != ".gitignore" && e.Name != ".gitkeep":
			return errUnusual // attributes and submodules
		}
		if !c.made[e.ID] {
			c.made[e.ID] = true
			c.objects = append(c.objects, e.ID)
		}
		if tip {
			c.files = append(c.files, file{e.Mode, path, e.ID})
		}
	}
	// Git orders the trees in an index so.
	slices.SortFunc(inner, func(a, b gitserver.Entry) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range inner {
		if err := c.tree(e.ID, below+e.Name+"/", tip); err != nil {
			return err
		}
	}
	if tip {
		raw, err := hex.DecodeString(id)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(below, "/")
		head := fmt.Appendf(nil, "%s\x00%d %d\n", name[strings.LastIndexByte(name, '/')+1:], len(c.files)-before, len(inner))
		rest := bytes.Clone(c.trees.Bytes()[at:])
		c.trees.Truncate(at)
		c.trees.Write(append(append(head, raw...), rest...))
	}
	return nil
}

// write writes the clone.
func (c *clone) write() error {
	git := filepath.Join(c.Dir, ".git")
	empty, err := template()
	if err != nil {
		return err
	}
	put := func(name, text string) error {
		return writeBelow(filepath.Join(git, filepath.FromSlash(name)), []byte(text), 0o666)
	}
	for _, one := range empty {
		path := filepath.Join(git, one.path)
		if one.mode.IsDir() {
			err = os.MkdirAll(path, 0o777)
		} else {
			err = os.WriteFile(path, one.content, one.mode.Perm()|one.mode.Perm()>>3&0o022) // less the umask, as the others
		}
		if err != nil {
			return err
		}
	}
	for _, id := range c.objects {
		name := filepath.Join("objects", id[:2], id[2:])
		data, err := os.ReadFile(filepath.Join(c.from.Dir, name))
		if err != nil {
			return err
		}
		if err := writeBelow(filepath.Join(git, name), data, 0o444); err != nil {
			return err
		}
	}
	index, err := c.checkOut()
	if err != nil {
		return err
	}
	const nothing = "0000000000000000000000000000000000000000"
	who := fmt.Sprintf(" A Person <person@example.com> %d +0000\t", time.Now().Unix())
	remote := "refs/remotes/origin/" + c.Branch
	created := nothing + " " + c.tip + who + "branch: Created from " + remote + "\n"
	slices.Sort(c.shallow)
	err = errors.Join(
		put("HEAD", "ref: refs/heads/"+c.Branch+"\n"), put("refs/heads/"+c.Branch, c.tip+"\n"), put(remote, c.tip+"\n"),
		put("FETCH_HEAD", c.tip+"\t\tbranch '"+c.Branch+"' of "+strings.TrimSuffix(c.URL, ".git")+"\n"),
		put("config", fmt.Sprintf(config, c.URL, c.Server, c.Header, c.Branch)), put("index", index),
		put("logs/HEAD", created+c.tip+" "+c.tip+who+"checkout: moving from "+c.Branch+" to "+c.Branch+"\n"),
		put("logs/refs/heads/"+c.Branch, created),
		put("logs/"+remote, nothing+" "+c.tip+who+fmt.Sprintf("fetch -q --no-tags --depth=%d origin +refs/heads/%s:%s: storing head\n", c.Depth, c.Branch, remote)),
	)
	if len(c.shallow) > 0 {
		err = errors.Join(err, put("shallow", strings.Join(c.shallow, "\n")+"\n"))
	}
	return err
}

// writeBelow writes a file, and makes the folders above it.
func writeBelow(name string, data []byte, mode fs.FileMode) error {
	err := os.WriteFile(name, data, mode)
	if errors.Is(err, os.ErrNotExist) {
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, data, mode))
	}
	return err
}

const config = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = %s
	fetch = +refs/heads/*:refs/remotes/origin/*
[http "%s/"]
	extraheader = %s
[branch "%[4]s"]
	remote = origin
	merge = refs/heads/%[4]s
`

// checkOut writes the files, and returns the index (gitformat-index(5)).
func (c *clone) checkOut() (string, error) {
	slices.SortFunc(c.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	index := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(c.files)))
	for _, one := range c.files {
		_, data, err := c.from.Object(one.id)
		if err != nil {
			return "", err
		}
		path := filepath.Join(c.Dir, filepath.FromSlash(one.path))
		switch one.mode {
		case "120000":
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.Symlink(string(data), path))
		case "100755":
			err = writeBelow(path, data, 0o777)
		default:
			err = writeBelow(path, data, 0o666)
		}
		if err != nil {
			return "", err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return "", err
		}
		start := len(index)
		index = appendStat(index, info)
		raw, err := hex.DecodeString(one.id)
		if err != nil {
			return "", err
		}
		index = append(index, raw...)
		index = binary.BigEndian.AppendUint16(index, uint16(min(len(one.path), 0xfff)))
		index = append(index, one.path...)
		index = append(index, make([]byte, 8-(len(index)-start)%8)...)
	}
	index = append(index, "TREE"...)
	index = binary.BigEndian.AppendUint32(index, uint32(c.trees.Len()))
	index = append(index, c.trees.Bytes()...)
	sum := sha1.Sum(index) // git's own checksum
	return string(index) + string(sum[:]), nil
}

type templateFile struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// template is what this machine's git puts into a new repository.
var template = sync.OnceValues(func() (list []templateFile, err error) {
	dir, err := os.MkdirTemp("", "barerepo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("git", "init", "-q", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull} //nolint:forbidigo // tests only
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w\n%s", err, out)
	}
	root := os.DirFS(filepath.Join(dir, ".git"))
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "config" || path == "HEAD" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		one := templateFile{path: filepath.FromSlash(path), mode: info.Mode()}
		if !d.IsDir() {
			if one.content, err = fs.ReadFile(root, path); err != nil {
				return err
			}
		}
		list = append(list, one)
		return nil
	})
	return list, err
})
