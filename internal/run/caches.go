package run

import (
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
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// What all copies of caches may have together. More takes longer than most tools need to
// fetch it.
const (
	maxCacheBytes = 1_000_000_000
	maxCacheFiles = 50_000
)

// room is what is left for copies of caches.
type room struct{ bytes, files int64 }

// caches are those of this machine that the run may use.
func (p *plan) caches() []toolchain.Cache {
	names := p.cfg.Sandbox.CacheDirs
	switch {
	case !p.sandboxes() || p.docker != "" || slices.Contains(names, config.CachesNone) || names == nil && p.local():
		return nil // without a sandbox they are there
	case slices.Contains(names, config.CachesAuto):
		names = nil
	}
	look := func(name string) (string, error) { return proc.LookPath(name, p.Environ) }
	return slices.DeleteFunc(toolchain.Caches(names, p.getenv, look), func(c toolchain.Cache) bool {
		name, _, _ := strings.Cut(c.Use(""), "=")
		return slices.Contains(p.cfg.Sandbox.PassEnv, name) || // the user says where it is
			len(toolchain.Outside([]string{c.Dir}, []string{p.Workspace})) == 0 // it is there, and may be a link to what is not
	})
}

// cacheFolders are where those caches lie, without links.
func (p *plan) cacheFolders() (dirs []string) {
	for _, c := range p.caches() {
		parts := c.Parts
		if len(parts) == 0 {
			parts = []string{""}
		}
		for _, part := range parts {
			if real, err := filepath.EvalSymlinks(filepath.Join(c.Dir, part)); err == nil {
				dirs = append(dirs, real)
			}
		}
	}
	return dirs
}

// lendCaches lets children use caches of this machine, and throws away what they write
// there.
func (s *sandboxed) lendCaches(ctx context.Context) {
	left := &room{maxCacheBytes, maxCacheFiles}
	var lent []string
	for _, c := range s.caches() {
		if ctx.Err() != nil {
			return
		}
		variable, how, err := s.lend(c, left)
		if err != nil {
			s.rec.out.Say(fmt.Sprintf("The cache of %s in %s is not used: %v", c.Name, c.Dir, err))
			continue
		}
		s.tools.Env = append(s.tools.Env, variable)
		lent = append(lent, c.Name+" ("+how+")")
	}
	if len(lent) > 0 {
		s.rec.out.Say("Caches that may be used, and stay as they are: " + strings.Join(lent, ", "))
	}
}

// lend makes one cache usable, and returns the variable that says where it is.
func (s *sandboxed) lend(c toolchain.Cache, left *room) (variable, how string, err error) {
	passed := func(name string) string {
		if slices.Contains(s.cfg.Sandbox.PassEnv, name) {
			return s.getenv(name)
		}
		return ""
	}
	if s.overlaid(c.Dir) {
		return c.Use(c.Dir), "where it is", nil
	}
	if variable, ok := c.Read(passed); ok {
		s.tools.Paths = append(s.tools.Paths, c.Dir)
		return variable, "read where it is", nil
	}
	dir, err := os.MkdirTemp(s.temp.home, ".cache-"+c.Name+"-")
	if err != nil {
		return "", "", err
	}
	if len(c.Parts) == 0 {
		place, err := s.usableCache(c.Dir, filepath.Join(dir, "cache"), left)
		return c.Use(place), "a copy", errors.Join(err, s.give(dir))
	}
	how = "a copy"
	for _, part := range c.Parts {
		to := filepath.Join(dir, part)
		place, err := s.usableCache(filepath.Join(c.Dir, part), to, left)
		if err == nil && place != to {
			how, err = "where it is", os.Symlink(place, to)
		}
		if err != nil {
			return "", "", err
		}
	}
	return c.Use(dir), how, s.give(dir)
}

// overlaid reports whether what children write to a folder is thrown away.
func (s *sandboxed) overlaid(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && s.namespaces != nil && slices.Contains(s.namespaces.Caches(), real)
}

// usableCache returns the path at which children may read what the folder dir holds and
// write what they like, without changing it: dir in namespaces, else a copy at to.
func (s *sandboxed) usableCache(dir, to string, left *room) (path string, err error) {
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
var errTooLarge = fmt.Errorf("it has more than what is copied for a run (%d MB and %d files for all caches)", maxCacheBytes/1_000_000, maxCacheFiles)

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
func (s *sandboxed) give(dir string) error {
	if s.identity.IsZero() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, s.identity.UID, s.identity.GID)) // #nosec G122 -- nobody else runs yet
	})
}
