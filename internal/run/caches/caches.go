// Package caches lends caches of this machine to the sandbox of a run: where they are, where what
// is written is thrown away or the tool only reads them, else as copies within bounds.
package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// What all copies of caches may have together. More takes longer than most tools need to
// fetch it.
const (
	maxBytes = 1_000_000_000
	maxFiles = 50_000
)

// room is what is left for copies of caches.
type room struct{ bytes, files int64 }

// Of are the caches of this machine that a run may use, by the configuration of its sandbox.
func Of(sandbox config.Sandbox, local bool, workspace string, getenv func(string) string) []toolchain.Cache {
	names := sandbox.CacheDirs
	switch {
	case slices.Contains(names, config.CachesNone) || names == nil && local:
		return nil
	case slices.Contains(names, config.CachesAuto):
		names = nil
	}
	look := func(name string) (string, error) { return proc.LookPath(name, []string{"PATH=" + getenv("PATH")}) }
	return slices.DeleteFunc(toolchain.Caches(names, getenv, look), func(c toolchain.Cache) bool {
		name, _, _ := strings.Cut(c.Use(""), "=")
		return slices.Contains(sandbox.PassEnv, name) || // the user says where it is
			len(toolchain.Outside([]string{c.Dir}, []string{workspace})) == 0 // it is there, and may be a link to what is not
	})
}

// Folders are where caches lie, without links.
func Folders(list []toolchain.Cache) (dirs []string) {
	for _, c := range list {
		for _, dir := range c.Folders() {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dirs = append(dirs, real)
			}
		}
	}
	return dirs
}

// Size is what a cache holds, in bytes, or why it would not be copied.
func Size(c toolchain.Cache) (bytes int64, err error) {
	for _, dir := range c.Folders() {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		s, wrong := measure(dir, room{maxBytes, maxFiles})
		bytes, err = bytes+s.bytes, cmp.Or(err, wrong)
	}
	return bytes, err
}

// Sandbox is where caches are lent to.
type Sandbox struct {
	Home     string // of the children
	Identity confine.Identity
	Overlaid []string                 // folders in which what children write is thrown away
	Passed   func(name string) string // variables that children get
}

// Lent are caches as children find them.
type Lent struct {
	Env   []string // NAME=value, which say where they are
	Paths []string // that have to be opened for reading
}

// Lend makes caches usable, and throws away what children write there.
func (s Sandbox) Lend(ctx context.Context, list []toolchain.Cache, say func(string)) (lent Lent) {
	left := &room{maxBytes, maxFiles}
	var names []string
	for _, c := range list {
		if ctx.Err() != nil {
			return lent
		}
		variable, how, err := s.lend(c, left)
		if err != nil {
			say(fmt.Sprintf("The cache of %s in %s is not used: %v", c.Name, c.Dir, err))
			continue
		}
		if how == readThere {
			lent.Paths = append(lent.Paths, c.Dir)
		}
		lent.Env = append(lent.Env, variable)
		names = append(names, c.Name+" ("+how+")")
	}
	if len(names) > 0 {
		say("Caches that may be used, and stay as they are: " + strings.Join(names, ", "))
	}
	return lent
}

// How a cache is used.
const (
	readThere = "read where it is"
	there     = "where it is"
	copied    = "a copy"
)

// lend makes one cache usable, and returns the variable that says where it is.
func (s Sandbox) lend(c toolchain.Cache, left *room) (variable, how string, err error) {
	if s.overlaid(c.Dir) {
		return c.Use(c.Dir), there, nil
	}
	if variable, ok := c.Read(s.Passed); ok {
		return variable, readThere, nil
	}
	dir, err := os.MkdirTemp(s.Home, ".cache-"+c.Name+"-")
	if err != nil {
		return "", "", err
	}
	if len(c.Parts) == 0 {
		place, err := s.usableCache(c.Dir, filepath.Join(dir, "cache"), left)
		return c.Use(place), copied, errors.Join(err, s.give(dir))
	}
	how = copied
	for _, part := range c.Parts {
		to := filepath.Join(dir, part)
		place, err := s.usableCache(filepath.Join(c.Dir, part), to, left)
		if err == nil && place != to {
			how, err = there, os.Symlink(place, to)
		}
		if err != nil {
			return "", "", err
		}
	}
	return c.Use(dir), how, s.give(dir)
}

// overlaid reports whether what children write to a folder is thrown away.
func (s Sandbox) overlaid(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && slices.Contains(s.Overlaid, real)
}

// usableCache returns the path at which children may read what the folder dir holds and
// write what they like, without changing it: dir in namespaces, else a copy at to.
func (s Sandbox) usableCache(dir, to string, left *room) (path string, err error) {
	if s.overlaid(dir) {
		return dir, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	most := *left
	if clones(real, filepath.Dir(to)) {
		most.bytes = math.MaxInt64
	}
	size, err := measure(real, most)
	if err != nil {
		return "", err
	}
	left.files -= size.files
	if most.bytes == left.bytes {
		left.bytes -= size.bytes
	}
	if err := os.CopyFS(to, os.DirFS(real)); err != nil {
		_ = os.RemoveAll(to)
		return "", err
	}
	return to, nil
}

// errTooLarge ends with what to do about it.
var errTooLarge = fmt.Errorf("it has more than what is copied for a run (%d MB and %d files for all caches)", maxBytes/1_000_000, maxFiles)

// measure counts what a folder holds. It ends with errTooLarge as soon as that is more than
// the most.
func measure(dir string, most room) (size room, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if size.files++; d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size.bytes += info.Size()
			}
		}
		if size.bytes > most.bytes || size.files > most.files {
			return errTooLarge
		}
		return nil
	})
	return size, err
}

// give hands a folder to the user of the sandbox.
func (s Sandbox) give(dir string) error {
	if s.Identity.IsZero() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, s.Identity.UID, s.Identity.GID)) // #nosec G122 -- nobody else runs yet
	})
}
